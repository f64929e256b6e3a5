#include "capture/recorder/chunk_sink.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace orrery::capture {
namespace {

constexpr std::string_view kExtension = ".orrs";

bool Claim(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (descriptor >= 0) {
    ::close(descriptor);
  }
  return descriptor >= 0;
}

std::string NameOfProcess(const std::string& path) {
  const bool has_extension = path.size() > kExtension.size() && path.ends_with(kExtension);
  const std::string stem = has_extension ? path.substr(0, path.size() - kExtension.size()) : path;
  return stem + "." + std::to_string(::getpid()) + std::string(kExtension);
}

}  // namespace

bool ChunkSink::Open(const std::string& path, std::uint64_t limit_bytes) {
  const std::lock_guard lock(mutex_);
  limit_bytes_ = limit_bytes;
  path_ = path;
  if (!Claim(path) && errno == EEXIST) {
    path_ = NameOfProcess(path);
  }
  if (!file_.Create(path_.c_str())) {
    StopBecause(std::strerror(file_.error()));
    return false;
  }
  num_bytes_ = stream::kFileHeaderBytes;
  is_open_ = true;
  return true;
}

void ChunkSink::Write(std::string_view chunk, std::uint64_t num_records) {
  const std::lock_guard lock(mutex_);
  if (is_abandoned_) {
    return;
  }
  if (!file_.Write(chunk)) {
    num_dropped_ += num_records;
    StopBecause(std::strerror(file_.error()));
    return;
  }
  num_bytes_ += chunk.size();
  if (limit_bytes_ != 0 && num_bytes_ >= limit_bytes_) {
    StopBecause("limit on size");
  }
}

void ChunkSink::StopBecause(std::string reason) {
  Stop();
  if (why_stopped_.empty()) {
    why_stopped_ = std::move(reason);
  }
}

void ChunkSink::Close() {
  Stop();
  const std::lock_guard lock(mutex_);
  file_.Close();
}

// Other threads of the parent may have held the lock, and in the child nobody will release it.
void ChunkSink::Abandon() noexcept {
  Stop();
  is_abandoned_ = true;
}

std::string ChunkSink::why_stopped() {
  const std::lock_guard lock(mutex_);
  return why_stopped_;
}

}  // namespace orrery::capture
