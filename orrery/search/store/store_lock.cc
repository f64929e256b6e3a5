#include "orrery/search/store/store_lock.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "orrery/base/error.h"

namespace orrery::search {
namespace {

Error SystemError(const std::string& path, const char* what) {
  return {Error::Kind::kSystem, fmt::format("{}: {}: {}", path, what, std::strerror(errno))};
}

}  // namespace

Result<StoreLock> StoreLock::Take(const std::string& store) {
  StoreLock lock;
  lock.path_ = store + ".lock";
  while (lock.file_ < 0) {
    const int file = open(lock.path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (file < 0) {
      return tl::unexpected(SystemError(store, "the store cannot be locked"));
    }
    if (flock(file, LOCK_EX | LOCK_NB) != 0) {
      std::array<char, 256> holder{};
      const auto size = pread(file, holder.data(), holder.size(), 0);
      close(file);
      return Fail(
          Error::Kind::kSystem,
          fmt::format("{}: another search holds the store ({}): wait until it ends, or name "
                      "another file",
                      store,
                      std::string_view(holder.data(), static_cast<std::size_t>(
                                                          std::max<decltype(size)>(size, 0)))));
    }
    // Its last holder may have removed it in between.
    struct stat own{};
    struct stat there{};
    if (fstat(file, &own) == 0 && stat(lock.path_.c_str(), &there) == 0 &&
        own.st_ino == there.st_ino) {
      lock.file_ = file;
    } else {
      close(file);
    }
  }
  std::array<char, 128> host{};
  gethostname(host.data(), host.size() - 1);
  const std::string holder = fmt::format("process {} on {}", getpid(), host.data());
  if (ftruncate(lock.file_, 0) != 0 ||
      pwrite(lock.file_, holder.data(), holder.size(), 0) != std::ssize(holder)) {
    return tl::unexpected(SystemError(store, "the store cannot be locked"));
  }
  return lock;
}

StoreLock::StoreLock(StoreLock&& other) noexcept
    : path_(std::move(other.path_)), file_(std::exchange(other.file_, -1)) {}

StoreLock& StoreLock::operator=(StoreLock&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  return *this;
}

StoreLock::~StoreLock() {
  if (file_ >= 0) {
    unlink(path_.c_str());
    close(file_);
  }
}

}  // namespace orrery::search
