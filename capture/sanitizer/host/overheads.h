#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "capture/recorder/clock.h"
#include "capture/recorder/recorder.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {

/// A clock that never goes back, for durations.
class SteadyClock : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override;
};

/// Adds up what the capture costs, phase by phase. Scopes nest on each thread, and an inner one
/// takes its time out of the outer one's, so that no part is counted twice. The total is the time
/// of outermost scopes, read from the clock on its own.
class Overheads {
 public:
  using Phase = stream::codes::Phase;

  explicit Overheads(const Clock& clock) : clock_(clock) {}

  class Scope {
   public:
    Scope(Overheads& overheads, Phase phase, std::uint64_t bytes = 0) noexcept;
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    void Charge(std::int64_t now_ns) noexcept;

    Overheads& overheads_;
    Phase phase_;
    Scope* outer_;
    std::int64_t begin_ns_ = 0;  // of outermost scopes
    std::int64_t since_ns_;
    static thread_local Scope* current_;
  };

  /// Writes the sums, once, at the end.
  void WriteTo(Recorder& recorder) const;

  [[nodiscard]] std::uint64_t total_ns(Phase phase) const { return costs_[phase].total_ns; }

  [[nodiscard]] std::uint64_t count(Phase phase) const { return costs_[phase].count; }

  [[nodiscard]] std::uint64_t bytes(Phase phase) const { return costs_[phase].bytes; }

 private:
  struct Cost {
    std::atomic<std::uint64_t> total_ns{0};
    std::atomic<std::uint64_t> count{0};
    std::atomic<std::uint64_t> bytes{0};
  };

  static constexpr std::size_t kNumPhases = stream::codes::kTotal + 1;

  const Clock& clock_;
  std::array<Cost, kNumPhases> costs_;
};

}  // namespace orrery::capture::sanitizer
