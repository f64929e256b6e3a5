#include "orrery/trace/orr/new_file.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

namespace orrery::trace::orr {
namespace {

constexpr int kMaxAttempts = 100;
constexpr int kNoDescriptor = -1;

auto FailWriting(const std::string& path, int error) {
  return Fail(Error::Kind::kSystem,
              fmt::format("{}: cannot write: {}", path, std::strerror(error)));
}

}  // namespace

Result<NewFile> NewFile::Create(const std::string& path) {
  for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
    std::string temporary = fmt::format("{}.{}.{}.part", path, getpid(), attempt);
    const int descriptor = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor >= 0) {
      return NewFile(path, std::move(temporary), descriptor);
    }
    if (errno != EEXIST) {
      break;
    }
  }
  return FailWriting(path, errno);
}

NewFile::NewFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, kNoDescriptor)),
      size_(other.size_) {}

NewFile::~NewFile() {
  if (descriptor_ != kNoDescriptor) {
    close(descriptor_);
    unlink(temporary_.c_str());
  }
}

Status NewFile::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      return FailWriting(path_, errno);
    }
    const auto written = static_cast<std::size_t>(count < 0 ? 0 : count);
    bytes.remove_prefix(written);
    size_ += written;
  }
  return {};
}

Status NewFile::Finish() {
  const bool closed = close(std::exchange(descriptor_, kNoDescriptor)) == 0;
  if (closed && std::rename(temporary_.c_str(), path_.c_str()) == 0) {
    return {};
  }
  const int error = errno;
  unlink(temporary_.c_str());
  return FailWriting(path_, error);
}

}  // namespace orrery::trace::orr
