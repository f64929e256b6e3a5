#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/base/error.h"

namespace orrery {

/// A file's bytes in memory, read by the operating system as they are looked at. The file must not
/// shrink while it is mapped; files that are replaced by renaming are safe.
class MappedFile {
 public:
  /// Maps all of `path`; fails for folders, pipes and files that cannot be read.
  [[nodiscard]] static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

  MappedFile& operator=(MappedFile&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }

  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_;
  std::size_t size_;
};

}  // namespace orrery
