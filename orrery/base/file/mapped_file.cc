#include "orrery/base/file/mapped_file.h"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orrery/base/error.h"

namespace orrery {
namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (number_ >= 0) {
      close(number_);
    }
  }

  int number() const { return number_; }

 private:
  int number_;
};

tl::unexpected<Error> FailBySystem(const std::string& path, std::string_view what) {
  const auto kind = errno == ENOENT ? Error::Kind::kNotFound : Error::Kind::kSystem;
  return Fail(kind, fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status{};
  if (file.number() < 0 || fstat(file.number(), &status) != 0) {
    return FailBySystem(path, "open");
  }
  if (!S_ISREG(status.st_mode)) {
    return Invalid("{}: is not a regular file", path);
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    return MappedFile(nullptr, 0);
  }
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.number(), 0);
  if (data == MAP_FAILED) {
    return FailBySystem(path, "map");
  }
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<char*>(data_), size_);
  }
}

void ReturnFreedMemoryEarly() {
  constexpr int kLargestKeptBytes = 1 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargestKeptBytes);
}

void ReturnFreedMemoryNow() {
  malloc_trim(0);
}

}  // namespace orrery
