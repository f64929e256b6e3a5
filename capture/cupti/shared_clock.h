#pragma once

#include <cstdint>

namespace orrery::capture {

/// Turns times of the recording into those of another profiler's clock, which counts in other units
/// (cycles, with PyTorch's): on the line through two moments at which both were read.
class SharedClock {
 public:
  void Begin(std::int64_t our_ns, std::uint64_t theirs) noexcept {
    ours_ = our_ns;
    theirs_ = theirs;
    ticks_per_ns_ = 1.0;
  }

  void Update(std::int64_t our_ns, std::uint64_t theirs) noexcept {
    if (our_ns > ours_ && theirs > theirs_) {
      ticks_per_ns_ = static_cast<double>(theirs - theirs_) / static_cast<double>(our_ns - ours_);
    }
  }

  /// 0 stays 0: not known.
  [[nodiscard]] std::uint64_t TheirTime(std::uint64_t our_ns) const noexcept {
    if (our_ns == 0) {
      return 0;
    }
    const auto since = static_cast<double>(static_cast<std::int64_t>(our_ns) - ours_);
    return theirs_ + static_cast<std::uint64_t>(static_cast<std::int64_t>(since * ticks_per_ns_));
  }

 private:
  std::int64_t ours_ = 0;
  std::uint64_t theirs_ = 0;
  double ticks_per_ns_ = 1.0;
};

}  // namespace orrery::capture
