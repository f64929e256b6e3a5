#include "orrery/overlap/kernel_overlap_features.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "orrery/base/check.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/block_timeline.h"
#include "orrery/overlap/contention.h"
#include "orrery/overlap/features.h"

namespace orrery::overlap {
namespace {

constexpr auto kNames = std::to_array<std::string_view>({
    "all_the_time",
    "ln_offset_share",
    "ln_communication_share",
    "ln_offset_us",
    "begin_share",
    "end_share",
    "ln_end_us",
    "ln_left_us",
    "delay_share",
    "ln_played",
    "ln_played_memory",
    "ln_met_blocks",
    "ln_met_shared_blocks",
    "both_share",
    "ln_left_at_launch_us",
    "ln_met_blocks_if_earlier",
    "ln_met_blocks_if_later",
});

// The jitter of launches; features include the effect of such a shift.
constexpr double kLaunchNoiseUs = 1.5;

// A signed logarithm.
double SignedLog(double value) {
  return std::copysign(std::log1p(std::abs(value)), value);
}

/// Communication relative to the start of the compute kernel, in microseconds.
struct Stay {
  double delay_us = 0;
  double begin_us = 0;
  double end_us = 0;
};

Stay StayOf(const Machine& machine, const Pair& pair, const KernelOverlap& overlap) {
  const double delay_us = AnalyticModel().DelayUs(machine, pair, ArrivalOf(pair, overlap));
  const double later_us = overlap.offset_us + delay_us;
  const double begin_us = overlap.compute_is_first ? later_us : -later_us;
  return {
      .delay_us = delay_us, .begin_us = begin_us, .end_us = begin_us + overlap.communication_us};
}

KernelOverlap Shifted(KernelOverlap overlap, double by_us) {
  const double offset_us =
      (overlap.compute_is_first ? overlap.offset_us : -overlap.offset_us) + by_us;
  overlap.compute_is_first = offset_us >= 0;
  overlap.offset_us = std::abs(offset_us);
  return overlap;
}

/// Appends the features of the overlap in the order of kNames.
class Row {
 public:
  Row(const Machine& machine, const Pair& pair, std::vector<float>& into)
      : machine_(machine), pair_(pair), alone_us_(pair.compute.alone_us), into_(into) {}

  // Continuous communication.
  void WriteAllTheTime() {
    const AnalyticParts parts = PartsOf(machine_, pair_);
    const double by_blocks = LnByBlocks(kAllTheTime);
    for (const double value :
         {1.0, kUnknown, kUnknown, kUnknown, kEarliest, kLatestEnd, kUnknown, kUnknown, 0.0,
          std::log(parts.compute), std::log(parts.memory), by_blocks, LnBySharedBlocks(kAllTheTime),
          1.0, kUnknown, by_blocks, by_blocks}) {
      Add(value);
    }
  }

  void Write(const KernelOverlap& overlap) {
    const Stay stay = StayOf(machine_, pair_, overlap);
    const double offset_us = overlap.compute_is_first ? overlap.offset_us : -overlap.offset_us;
    Add(0);
    Add(SignedLog(offset_us / alone_us_));
    Add(std::log(std::max(overlap.communication_us / alone_us_, kLeastShare)));
    Add(SignedLog(offset_us));
    Add(std::clamp(stay.begin_us / alone_us_, kEarliest, kLatestBegin));
    Add(std::clamp(stay.end_us / alone_us_, kEarliest, kLatestEnd));
    Add(SignedLog(stay.end_us));
    Add(SignedLog(alone_us_ - stay.begin_us));
    Add(std::clamp(stay.delay_us / alone_us_, 0.0, kLatestBegin));
    WriteSimulated(overlap, stay);
    Add(SignedLog(alone_us_ - overlap.offset_us));
    Add(LnByBlocks(PresenceOf(Shifted(overlap, -kLaunchNoiseUs))));
    Add(LnByBlocks(PresenceOf(Shifted(overlap, kLaunchNoiseUs))));
  }

 private:
  // Shares of the time alone are clamped to these.
  static constexpr double kEarliest = -1;
  static constexpr double kLatestBegin = 2;
  static constexpr double kLatestEnd = 3;
  static constexpr double kLeastShare = 1e-6;

  void Add(double value) { into_.push_back(static_cast<float>(value)); }

  void WriteSimulated(const KernelOverlap& overlap, const Stay& stay) {
    const AnalyticParts parts = PartsOf(machine_, pair_);
    Slowdown slowdown{.compute = parts.compute, .communication = parts.communication};
    const OverlapTimeline timeline = SimulateOverlap(alone_us_, overlap, slowdown, stay.delay_us);
    slowdown.compute = parts.memory;
    const OverlapTimeline by_memory = SimulateOverlap(alone_us_, overlap, slowdown, stay.delay_us);
    Add(std::log(timeline.compute_us / alone_us_));
    Add(std::log(by_memory.compute_us / alone_us_));
    const Presence presence = PresenceOf(stay);
    Add(LnByBlocks(presence));
    Add(LnBySharedBlocks(presence));
    Add(std::clamp(by_memory.both_us / alone_us_, 0.0, kLatestEnd));
  }

  [[nodiscard]] Presence PresenceOf(const Stay& stay) const {
    return {.from = stay.begin_us / alone_us_, .until = stay.end_us / alone_us_};
  }

  [[nodiscard]] Presence PresenceOf(const KernelOverlap& overlap) const {
    return PresenceOf(StayOf(machine_, pair_, overlap));
  }

  [[nodiscard]] double LnByBlocks(const Presence& presence) const {
    return pair_.compute.shape.IsKnown()
               ? std::log(SlowdownByBlocks(PlanOf(machine_, pair_), presence))
               : kUnknown;
  }

  [[nodiscard]] double LnBySharedBlocks(const Presence& presence) const {
    return pair_.compute.shape.IsKnown()
               ? std::log(SlowdownByBlocks(SharedPlanOf(machine_, pair_), presence))
               : kUnknown;
  }

  const Machine& machine_;
  const Pair& pair_;
  double alone_us_;
  std::vector<float>& into_;
};

}  // namespace

std::span<const std::string> KernelOverlapFeatureNames() {
  static const std::vector<std::string> kAll = [] {
    const std::span<const std::string> of_pair = FeatureNames();
    std::vector<std::string> names(of_pair.begin(), of_pair.end());
    names.insert(names.end(), kNames.begin(), kNames.end());
    return names;
  }();
  return kAll;
}

Arrival ArrivalOf(const Pair& pair, const KernelOverlap& overlap) {
  return {.compute_is_first = overlap.compute_is_first,
          .since_us = overlap.offset_us,
          .first_us = overlap.compute_is_first ? pair.compute.alone_us : overlap.communication_us};
}

void AppendKernelOverlapFeatures(const Machine& machine, const Pair& pair,
                                 const std::optional<KernelOverlap>& overlap,
                                 std::vector<float>& features) {
  const std::size_t begin = features.size();
  const Arrival arrival = overlap ? ArrivalOf(pair, *overlap) : Arrival{.compute_is_first = false};
  AppendFeatures(machine, pair, arrival, features);
  Row row(machine, pair, features);
  if (overlap) {
    row.Write(*overlap);
  } else {
    row.WriteAllTheTime();
  }
  ORRERY_CHECK(features.size() - begin == KernelOverlapFeatureNames().size(),
               "a value for each feature");
}

std::vector<learn::FeatureGroup> KernelOverlapFeatureGroups() {
  std::vector<learn::FeatureGroup> groups = FeatureGroups();
  learn::FeatureGroup& overlap = groups.emplace_back(learn::FeatureGroup{"how they meet", {}});
  for (std::size_t i = FeatureNames().size(); i < KernelOverlapFeatureNames().size(); ++i) {
    overlap.features.push_back(i);
  }
  return groups;
}

}  // namespace orrery::overlap
