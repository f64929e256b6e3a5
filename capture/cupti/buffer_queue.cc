#include "capture/cupti/buffer_queue.h"

namespace orrery::capture {

std::uint8_t* BufferQueue::Request(std::size_t& bytes) {
  const std::lock_guard lock(mutex_);
  bytes = 0;
  if (empty_.empty()) {
    if (all_.size() >= max_buffers_) {
      return nullptr;
    }
    all_.push_back(std::make_unique<Word[]>(buffer_bytes_ / sizeof(Word)));
    empty_.push_back(all_.back()[0].bytes);
  }
  std::uint8_t* const buffer = empty_.back();
  empty_.pop_back();
  bytes = buffer_bytes_;
  return buffer;
}

void BufferQueue::Complete(std::uint8_t* buffer, std::size_t valid_bytes,
                           std::uint64_t num_dropped) {
  num_dropped_ += num_dropped;
  if (buffer == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  if (valid_bytes == 0) {
    empty_.push_back(buffer);
    return;
  }
  full_.push_back({.buffer = buffer, .valid_bytes = valid_bytes});
  is_filled_.notify_one();
}

std::optional<BufferQueue::Full> BufferQueue::Next(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  is_filled_.wait_for(lock, longest, [this] { return is_stopped_ || !full_.empty(); });
  if (full_.empty()) {
    return std::nullopt;
  }
  const Full full = full_.front();
  full_.pop_front();
  return full;
}

void BufferQueue::Return(std::uint8_t* buffer) {
  const std::lock_guard lock(mutex_);
  empty_.push_back(buffer);
}

void BufferQueue::Stop() {
  const std::lock_guard lock(mutex_);
  is_stopped_ = true;
  is_filled_.notify_all();
}

bool BufferQueue::is_stopped() {
  const std::lock_guard lock(mutex_);
  return is_stopped_;
}

}  // namespace orrery::capture
