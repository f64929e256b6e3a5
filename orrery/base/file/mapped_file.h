#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

/// A file's content as memory, read-only, paged in as it is touched. The file must not shrink
/// while it is mapped: the operating system answers a read behind its end with a signal.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> Open(const std::string& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  ~MappedFile();

  [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }

 private:
  MappedFile(const char* data, std::size_t size) : data_(data), size_(size) {}

  const char* data_ = nullptr;  // null for an empty file, which cannot be mapped
  std::size_t size_ = 0;
};

/// Makes freed columns go back to the operating system at once, for programs that hold one large
/// trace: by default the allocator keeps blocks of up to 32 MiB once it has seen one freed, and a
/// growing trace leaves a trail of them (a 1 GB trace: 300 MiB at the peak instead of 230).
/// Call once, at the start of main.
void ReturnFreedMemoryEarly();

/// Gives back what small blocks leave behind, for a server after work that needed very many; takes
/// some milliseconds.
void ReturnFreedMemoryNow();

}  // namespace orrery
