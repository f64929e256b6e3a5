#include "orrery/search/progress_estimate.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/core.h>

#include "orrery/base/text/duration_text.h"
#include "orrery/search/search.h"

namespace orrery::search {
namespace {

// Rates over a shorter time, share or number say little.
constexpr double kLeastSeconds = 1;
constexpr double kLeastShare = 0.02;
constexpr std::uint64_t kLeastSimulated = 32;

// After so long a wait a loose upper bound of the time is better than none.
constexpr double kLongSeconds = 10;
constexpr double kLeastSlow = 3;

std::string RateText(double plans_per_s) {
  return plans_per_s < 10 ? fmt::format("{:.1f}", plans_per_s) : fmt::format("{:.0f}", plans_per_s);
}

// Never "100.0 %" of what has not ended.
std::string ShareText(double share) {
  return fmt::format("{:.1f} %", 100 * std::min(share, 0.999));
}

// Whole seconds, minutes or tenths of hours: more digits would pretend to know.
std::string LeftText(double seconds) {
  constexpr double kMinute = 60;
  const double unit = seconds < 2 * kMinute ? 1 : kMinute;
  return SecondsText(std::max(1.0, std::ceil(seconds / unit)) * unit);
}

}  // namespace

ProgressEstimate::Figures ProgressEstimate::Update(const SearchProgress& progress, double seconds) {
  if (progress.simulated == 0) {
    simulating_since_s_ = seconds;
    return PlanBounds(progress, seconds);
  }
  if (!simulating_since_s_) {  // all plans had bounds before
    simulating_since_s_ = seconds;
    simulated_before_ = progress.simulated;
  }
  return Simulating(progress, seconds);
}

ProgressEstimate::Figures ProgressEstimate::PlanBounds(const SearchProgress& progress,
                                                       double seconds) {
  Figures figures{.plans = progress.considered};
  if (progress.num_ids == 0 || seconds < kLeastSeconds) {
    return figures;
  }
  const double share =
      static_cast<double>(progress.ids_bounded) / static_cast<double>(progress.num_ids);
  figures.plans_per_s = static_cast<double>(progress.considered) / seconds;
  figures.share = share;
  if (share >= kLeastShare) {
    figures.left_s = seconds * (1 - share) / share;
  }
  return figures;
}

ProgressEstimate::Figures ProgressEstimate::Simulating(const SearchProgress& progress,
                                                       double seconds) const {
  Figures figures{.is_bounding = false, .plans = progress.simulated};
  const auto open =
      static_cast<double>(progress.open - std::min(progress.open, progress.simulated));
  if (progress.considered >= progress.open && progress.considered > 0) {
    figures.share = 1 - open / static_cast<double>(progress.considered);
  }
  const double simulated_s = seconds - *simulating_since_s_;
  const auto simulated = static_cast<double>(progress.simulated - simulated_before_);
  if (simulated_s < kLeastSeconds || simulated == 0) {
    return figures;
  }
  figures.plans_per_s = simulated / simulated_s;
  const bool is_slow = simulated_s >= kLongSeconds && simulated >= kLeastSlow;
  if (is_slow || progress.simulated >= std::max<std::uint64_t>(keep_, kLeastSimulated)) {
    figures.left_s = open / *figures.plans_per_s;
  }
  return figures;
}

std::string ProgressText(const ProgressEstimate::Figures& figures) {
  std::string text = fmt::format("{} plan{} {}", figures.plans, figures.plans == 1 ? "" : "s",
                                 figures.is_bounding ? "bounded" : "simulated");
  if (figures.plans_per_s) {
    text += fmt::format(" ({} a second)", RateText(*figures.plans_per_s));
  }
  if (figures.share) {
    text += fmt::format(", {} {}", ShareText(*figures.share),
                        figures.is_bounding ? "of the space" : "decided");
  }
  if (figures.left_s) {
    text += figures.is_bounding
                ? fmt::format(", {} until plans are simulated", LeftText(*figures.left_s))
                : fmt::format(", at most {} left", LeftText(*figures.left_s));
  }
  return text;
}

}  // namespace orrery::search
