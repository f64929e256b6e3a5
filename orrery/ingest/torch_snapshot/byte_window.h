#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"

namespace orrery::ingest::torch_snapshot {

/// Bytes of a source one after the other, with a window of them in memory.
class ByteWindow {
 public:
  explicit ByteWindow(ByteSource& source) : source_(&source) {}

  /// Takes the next `count` bytes; valid until the next call. Fails where the source ends.
  [[nodiscard]] Result<std::string_view> Take(std::size_t count);

  /// Bytes taken so far.
  [[nodiscard]] std::int64_t offset() const { return offset_; }

 private:
  Status Fill(std::size_t count);

  ByteSource* source_;
  std::string window_;
  std::size_t begin_ = 0;
  std::int64_t offset_ = 0;
};

}  // namespace orrery::ingest::torch_snapshot
