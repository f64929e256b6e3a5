#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "orrery/simulate/engine/random_draw.h"

namespace orrery::simulate {

inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

/// Times within a window at which something happens by chance, at a rate (a Poisson process). Even
/// draws are gaps, odd ones choices.
class Arrivals {
 public:
  Arrivals(double per_s, std::uint64_t seed, std::uint64_t run, std::int64_t window_ps)
      : per_s_(per_s), seed_(seed), run_(run), window_ps_(window_ps) {
    Advance();
  }

  [[nodiscard]] std::int64_t next_ps() const { return next_ps_; }

  /// Chooses among causes of what arrives next.
  [[nodiscard]] double Choice() const { return Uniform(DrawBits(seed_, run_, 2 * number_ - 1)); }

  void Advance() {
    if (per_s_ <= 0 || next_ps_ == kNever) {
      next_ps_ = kNever;
      return;
    }
    const double gap = -std::log(Uniform(DrawBits(seed_, run_, 2 * number_))) / per_s_;
    ++number_;
    const bool is_within = gap * 1e12 < static_cast<double>(window_ps_ - next_ps_);
    next_ps_ = is_within ? next_ps_ + std::llround(gap * 1e12) : kNever;
  }

 private:
  double per_s_;
  std::uint64_t seed_;
  std::uint64_t run_;
  std::int64_t window_ps_;
  std::uint64_t number_ = 0;
  std::int64_t next_ps_ = 0;
};

}  // namespace orrery::simulate
