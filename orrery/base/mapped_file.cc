#include "orrery/base/mapped_file.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace orrery {
namespace {

class Descriptor {
 public:
  explicit Descriptor(const std::string& path) : value_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  ~Descriptor() {
    if (value_ >= 0) {
      close(value_);
    }
  }

  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

auto FailOpening(const std::string& path, int error) {
  const auto kind = error == ENOENT ? Error::Kind::kNotFound : Error::Kind::kSystem;
  return Fail(kind, fmt::format("{}: cannot open: {}", path, std::strerror(error)));
}

}  // namespace

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const Descriptor file(path);
  struct stat status{};
  if (file.value() < 0 || fstat(file.value(), &status) != 0) {
    return FailOpening(path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    return Fail(Error::Kind::kUnsupported, fmt::format("{}: not a regular file", path));
  }
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size == 0) {
    return MappedFile(nullptr, 0);
  }
  void* const data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.value(), 0);
  if (data == MAP_FAILED) {
    return FailOpening(path, errno);
  }
  return MappedFile(static_cast<const char*>(data), size);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    munmap(const_cast<char*>(data_), size_);
  }
}

}  // namespace orrery
