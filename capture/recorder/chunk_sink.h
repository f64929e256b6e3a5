#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

#include "orrery/stream/writer.h"

namespace orrery::capture {

/// The file of a recording. Several threads hand it sealed chunks; it is locked only while one is
/// written. When the limit is reached, or the disk refuses, recording stops, and what comes later
/// is counted: the target never notices.
class ChunkSink {
 public:
  /// Claims `path`, or a name beside it where another process has that one: "run.orrs", then
  /// "run.PID.orrs".
  bool Open(const std::string& path, std::uint64_t limit_bytes);

  /// Writes one sealed chunk of `num_records`, also beyond the limit: what was collected until then
  /// is whole.
  void Write(std::string_view chunk, std::uint64_t num_records);

  /// Whether new records are still wanted; counts those that are not.
  [[nodiscard]] bool Wants(std::uint64_t num_records = 1) noexcept {
    if (is_open_.load(std::memory_order_acquire)) [[likely]] {
      return true;
    }
    num_dropped_.fetch_add(num_records, std::memory_order_relaxed);
    return false;
  }

  /// No record is wanted from now on.
  void Stop() noexcept { is_open_.store(false, std::memory_order_release); }

  void Close();

  /// The child of a fork leaves the file to its parent.
  void Abandon() noexcept;

  [[nodiscard]] std::uint64_t num_dropped() const noexcept { return num_dropped_; }

  [[nodiscard]] std::uint64_t num_bytes() const noexcept { return num_bytes_; }

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// Why recording stopped; empty: it did not.
  [[nodiscard]] std::string why_stopped();

 private:
  void StopBecause(std::string reason);

  std::mutex mutex_;  // guards file_ and why_stopped_
  stream::StreamFile file_;
  std::string path_;
  std::string why_stopped_;
  std::uint64_t limit_bytes_ = 0;
  bool is_abandoned_ = false;
  std::atomic<bool> is_open_{false};
  std::atomic<std::uint64_t> num_bytes_{0};
  std::atomic<std::uint64_t> num_dropped_{0};
};

}  // namespace orrery::capture
