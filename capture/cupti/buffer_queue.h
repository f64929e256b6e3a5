#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "capture/cupti/activity_source.h"

namespace orrery::capture {

/// Buffers on their way: empty ones for the source, full ones for the thread that writes. Neither
/// side waits for the other; when `max_buffers` are out, the source gets none and drops records,
/// which it counts.
class BufferQueue : public BufferOwner {
 public:
  explicit BufferQueue(std::size_t buffer_bytes = 4 << 20, std::size_t max_buffers = 64)
      : buffer_bytes_(buffer_bytes), max_buffers_(max_buffers) {}

  struct Full {
    std::uint8_t* buffer = nullptr;
    std::size_t valid_bytes = 0;
  };

  std::uint8_t* Request(std::size_t& bytes) override;
  void Complete(std::uint8_t* buffer, std::size_t valid_bytes, std::uint64_t num_dropped) override;

  /// The oldest full buffer; waits for one at most so long, or until Stop.
  [[nodiscard]] std::optional<Full> Next(std::chrono::milliseconds longest);

  /// The buffer may be handed out again.
  void Return(std::uint8_t* buffer);

  /// Wakes the waiting thread for good.
  void Stop();

  [[nodiscard]] bool is_stopped();

  [[nodiscard]] std::uint64_t num_dropped() const noexcept { return num_dropped_; }

 private:
  // 8 bytes, as CUPTI wants its buffers.
  struct alignas(8) Word {
    std::uint8_t bytes[8];
  };

  const std::size_t buffer_bytes_;
  const std::size_t max_buffers_;
  std::atomic<std::uint64_t> num_dropped_{0};
  std::mutex mutex_;  // guards what follows
  std::condition_variable is_filled_;
  std::vector<std::unique_ptr<Word[]>> all_;
  std::vector<std::uint8_t*> empty_;
  std::deque<Full> full_;
  bool is_stopped_ = false;
};

}  // namespace orrery::capture
