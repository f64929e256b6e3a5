#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "orrery/search/search.h"

namespace orrery::search {

/// Says how far a search is and how long it may take, from what it reports.
///
/// First all plans are bounded: the time left until that is done follows from the share that is.
/// Then plans are simulated. Fewer are open as better ones are found, so that their number at the
/// present speed is the most that is left. What is not known yet is not said.
class ProgressEstimate {
 public:
  /// Before `keep` plans are found all others are open: little is known of the end until then.
  explicit ProgressEstimate(std::size_t keep) : keep_(keep) {}

  struct Figures {
    bool is_bounding = true;
    std::uint64_t plans = 0;                 // bounded, or simulated
    std::optional<double> plans_per_s = {};  // of these
    std::optional<double> share = {};        // of the space that is bounded, or of plans decided
    std::optional<double> left_s = {};       // until all are bounded; or at most, until the end
  };

  /// Takes a report, `seconds` after the search began. Reports come in order.
  Figures Update(const SearchProgress& progress, double seconds);

 private:
  [[nodiscard]] static Figures PlanBounds(const SearchProgress& progress, double seconds);
  [[nodiscard]] Figures Simulating(const SearchProgress& progress, double seconds) const;

  std::size_t keep_;
  std::optional<double> simulating_since_s_ = {};
  std::uint64_t simulated_before_ = 0;  // then
};

/// "1,200 plans simulated (17 a second), 98.4 % decided, at most 43 s left".
[[nodiscard]] std::string ProgressText(const ProgressEstimate::Figures& figures);

}  // namespace orrery::search
