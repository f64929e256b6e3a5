#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "capture/recorder/thread_buffers.h"

namespace orrery::capture {

/// The kernel's number of the calling thread.
[[nodiscard]] std::uint64_t ThreadNumber() noexcept;

/// Gives each thread its buffers. Those of a thread that ended go to the next one that begins.
class BufferPool {
 public:
  BufferPool(std::size_t chunk_bytes, ChunkSink& sink);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  [[nodiscard]] ThreadBuffers& Mine();

  void FlushAll();

  /// Records that were too large for any chunk.
  [[nodiscard]] std::uint64_t num_too_large();

  /// Buffers and whether a thread has them.
  struct Slot {
    Slot(std::uint32_t number, std::size_t chunk_bytes, ChunkSink& sink)
        : buffers(number, chunk_bytes, sink) {}

    ThreadBuffers buffers;
    std::atomic<bool> is_taken{true};
  };

 private:
  [[nodiscard]] std::shared_ptr<Slot> Take();

  std::uint64_t id_;
  std::size_t chunk_bytes_;
  ChunkSink& sink_;
  std::mutex mutex_;  // guards slots_
  std::vector<std::shared_ptr<Slot>> slots_;
};

}  // namespace orrery::capture
