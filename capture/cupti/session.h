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
#include <string>
#include <thread>
#include <vector>

#include "capture/cupti/activity_source.h"
#include "capture/cupti/activity_writer.h"
#include "capture/recorder/recorder.h"

namespace orrery::capture {

/// Buffers on their way: empty ones for the source, full ones for the thread that writes. Neither
/// side waits for the other; when `max_buffers` are out, the source gets none and drops records,
/// which it counts. Buffers are small: one that holds work which still runs stays with CUPTI, and
/// on a GPU that is never idle that means until it is full.
class BufferQueue : public BufferOwner {
 public:
  explicit BufferQueue(std::size_t buffer_bytes = 256 << 10, std::size_t max_buffers = 1024)
      : buffer_bytes_(buffer_bytes), max_buffers_(max_buffers) {}

  /// Makes so many empty buffers; by one thread at a time. The first touch of memory takes longer
  /// than anything else here, and who requests is in the middle of a launch.
  void MakeReady(std::size_t num_buffers);

  struct Full {
    std::uint8_t* buffer = nullptr;
    std::size_t valid_bytes = 0;
  };

  std::uint8_t* Request(std::size_t& bytes) override;
  void Complete(std::uint8_t* buffer, std::size_t valid_bytes, std::uint64_t num_dropped) override;

  /// The oldest full buffer; waits for one at most so long, or until Stop.
  [[nodiscard]] std::optional<Full> Next(std::chrono::milliseconds longest);

  /// The buffer may be handed out again. Empty buffers hold zeros.
  void Return(const Full& full);

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

/// Coarse capture of one process: starts the source, and lets a thread of its own write what comes,
/// so that neither the target nor the source ever waits for it.
class CoarseSession : public RecorderListener {
 public:
  CoarseSession(Recorder& recorder, ActivitySource& source, const CollectionOptions& options);
  ~CoarseSession() override;
  CoarseSession(const CoarseSession&) = delete;
  CoarseSession& operator=(const CoarseSession&) = delete;

  /// Begins; returns why nothing is collected, or nothing. What frameworks tell is recorded either
  /// way.
  std::string Start();

  /// Brings everything home and writes it; once.
  void Finish();

  void OnFlush() override;
  void OnCollect(std::uint64_t parts) override;

 private:
  void WriteUntilStopped();
  void WriteFull(const BufferQueue::Full& full);
  void WriteAllFull();
  void NoteClocks();

  Recorder& recorder_;
  ActivitySource& source_;
  CollectionOptions options_;
  BufferQueue queue_;
  std::mutex writing_;  // guards writer_
  ActivityWriter writer_;
  std::thread thread_;
};

}  // namespace orrery::capture
