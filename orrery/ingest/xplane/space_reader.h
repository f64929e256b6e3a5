#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"

namespace orrery::ingest::xplane {

/// A field of the outermost message (XSpace): a plane or a text.
struct SpaceField {
  std::uint64_t number = 0;
  std::int64_t offset = 0;  // of its content in the file
  std::string content;
  bool is_cut = false;  // the file ends before the content does
};

/// Reads the outermost message field by field, so that one plane is in memory at a time. Stated
/// lengths are not trusted: memory grows with what is really there.
class SpaceReader {
 public:
  /// `source` must outlive the reader.
  explicit SpaceReader(ByteSource& source) : source_(source) {}

  /// Returns the next field; nothing at the end of the file and at damage.
  [[nodiscard]] Result<std::optional<SpaceField>> Next();

  /// Where the file stopped being a message; nothing if it did not.
  [[nodiscard]] std::optional<std::int64_t> damage_offset() const { return damage_offset_; }

 private:
  Result<bool> Refill();
  Result<std::optional<std::uint64_t>> TakeVarint();
  Result<std::string> TakeBytes(std::uint64_t length);

  ByteSource& source_;
  std::string window_;
  std::size_t position_ = 0;
  std::int64_t offset_ = 0;
  std::optional<std::int64_t> damage_offset_;
};

}  // namespace orrery::ingest::xplane
