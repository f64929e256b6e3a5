#include "orrery/trace/clock/clock_fit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/math/offset_graph.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/collective/matched_collectives.h"

namespace orrery::trace {
namespace {

constexpr double kDriftWorthCorrectingNs = 20'000;
constexpr std::size_t kLeastRecordsForDrift = 8;
constexpr std::int64_t kLeastSpanForDriftNs = 1'000'000'000;
// No clock of a computer runs off by a thousandth: that would be a wrong match.
constexpr double kLargestDrift = 1e-3;
// Medians of so many values are as good as of all.
constexpr std::size_t kSlopeSamples = 256;
constexpr std::size_t kPairSamples = 4096;
constexpr std::size_t kSamplesOfAllPairs = std::size_t{1} << 24;

// Samples at most `limit` of `values`, evenly spaced.
std::vector<std::uint32_t> Sample(std::span<const std::uint32_t> values, std::size_t limit) {
  const std::size_t count = std::min(limit, values.size());
  std::vector<std::uint32_t> sample;
  sample.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    sample.push_back(values[i * values.size() / count]);
  }
  return sample;
}

// A group's ends as the model so far corrects them. A place is an index of MemberSet::ranks.
class GroupEnds {
 public:
  GroupEnds(const MatchedCollectives& matched, const MemberSet& group, const ClockModel& model)
      : matched_(matched), group_(group), model_(model) {}

  [[nodiscard]] std::int64_t RawNs(std::uint32_t instance, std::size_t place) const {
    return matched_.members.end_ns[matched_.instances.first_member[instance] + place];
  }

  [[nodiscard]] double SinceOrigin(std::uint32_t instance, std::size_t place) const {
    return static_cast<double>(RawNs(instance, place) - model_.origin_ns[group_.ranks[place]]);
  }

  // End at place `a` minus end at place `b`; near in time, so nothing is lost in a double.
  [[nodiscard]] double Difference(std::uint32_t instance, std::size_t a, std::size_t b) const {
    return static_cast<double>(RawNs(instance, a) - RawNs(instance, b)) - Correction(instance, a) +
           Correction(instance, b);
  }

  // Returns true if the records suffice to distinguish a drift from noise.
  [[nodiscard]] bool ShowDrift() const {
    return group_.instances.size() >= kLeastRecordsForDrift && SpanNs(0) >= kLeastSpanForDriftNs;
  }

  [[nodiscard]] std::int64_t SpanNs(std::size_t place) const {
    return RawNs(group_.instances.back(), place) - RawNs(group_.instances.front(), place);
  }

  // For each place the distances of its ends from the median end of each record.
  [[nodiscard]] std::vector<std::vector<double>> Deviations(
      std::span<const std::uint32_t> instances) const {
    std::vector<std::vector<double>> deviations(group_.ranks.size());
    std::vector<double> ends(group_.ranks.size());
    for (const std::uint32_t instance : instances) {
      for (std::size_t place = 0; place < ends.size(); ++place) {
        ends[place] = Difference(instance, place, 0);
      }
      const double median = Median(ends);
      for (std::size_t place = 0; place < ends.size(); ++place) {
        deviations[place].push_back(ends[place] - median);
      }
    }
    return deviations;
  }

 private:
  [[nodiscard]] double Correction(std::uint32_t instance, std::size_t place) const {
    const std::uint32_t rank = group_.ranks[place];
    return model_.offset_ns[rank] + model_.drift[rank] * SinceOrigin(instance, place);
  }

  const MatchedCollectives& matched_;
  const MemberSet& group_;
  const ClockModel& model_;
};

using ValuesOfClock = std::map<std::uint32_t, std::vector<double>>;

// Sets every rank of a clock to the median over the clock's ranks.
void SetByClock(const ClockModel& model, const ValuesOfClock& values, std::vector<double>& target) {
  for (std::uint32_t rank = 0; rank < target.size(); ++rank) {
    if (const auto found = values.find(model.clock[rank]); found != values.end()) {
      target[rank] = Median(found->second);
    }
  }
}

void DropSmallDrifts(double span_ns, std::vector<double>& drift) {
  for (double& of_rank : drift) {
    if (std::abs(of_rank) * span_ns <= kDriftWorthCorrectingNs ||
        std::abs(of_rank) > kLargestDrift || std::isnan(of_rank)) {
      of_rank = 0;
    }
  }
}

void FitDriftOfGroup(const GroupEnds& ends, const MemberSet& group, ClockModel& model) {
  const std::vector<std::uint32_t> sample = Sample(group.instances, kSlopeSamples);
  const auto deviations = ends.Deviations(sample);
  ValuesOfClock slopes;
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    std::vector<double> times;
    for (const std::uint32_t instance : sample) {
      times.push_back(ends.SinceOrigin(instance, place));
    }
    slopes[model.clock[group.ranks[place]]].push_back(TheilSenSlope(times, deviations[place]));
  }
  std::vector<double> drift = model.drift;
  SetByClock(model, slopes, drift);
  DropSmallDrifts(static_cast<double>(ends.SpanNs(0)), drift);
  model.drift = std::move(drift);
}

enum class Quantity { kOffset, kDrift };

double MeasurePair(const GroupEnds& ends, std::span<const std::uint32_t> sample, std::size_t a,
                   std::size_t b, Quantity quantity) {
  std::vector<double> differences;
  std::vector<double> times;
  for (const std::uint32_t instance : sample) {
    differences.push_back(ends.Difference(instance, a, b));
    times.push_back(ends.SinceOrigin(instance, b));
  }
  return quantity == Quantity::kOffset ? Median(differences) : TheilSenSlope(times, differences);
}

// One difference for each pair of ranks on different clocks.
void MeasurePairs(const GroupEnds& ends, const MemberSet& group, const ClockModel& model,
                  Quantity quantity, std::vector<MeasuredDifference>& measured) {
  const std::size_t num_pairs =
      std::max<std::size_t>(1, group.ranks.size() * group.ranks.size() / 2);
  const std::size_t limit =
      quantity == Quantity::kDrift
          ? kSlopeSamples / 2
          : std::clamp<std::size_t>(kSamplesOfAllPairs / num_pairs, 32, kPairSamples);
  const std::vector<std::uint32_t> sample = Sample(group.instances, limit);
  for (std::size_t a = 0; a < group.ranks.size(); ++a) {
    for (std::size_t b = a + 1; b < group.ranks.size(); ++b) {
      const std::uint32_t clock_a = model.clock[group.ranks[a]];
      const std::uint32_t clock_b = model.clock[group.ranks[b]];
      if (clock_a != clock_b) {
        measured.push_back({clock_a, clock_b, MeasurePair(ends, sample, a, b, quantity),
                            static_cast<double>(group.instances.size())});
      }
    }
  }
}

std::uint32_t LowestClock(std::span<const MemberSet* const> groups, const ClockModel& model) {
  std::uint32_t lowest = model.clock[groups.front()->ranks.front()];
  for (const MemberSet* group : groups) {
    for (const std::uint32_t rank : group->ranks) {
      lowest = std::min(lowest, model.clock[rank]);
    }
  }
  return lowest;
}

// Solves for one quantity over all pairs, for the clocks of the groups and so for all their ranks.
std::vector<double> SolveOverPairs(const MatchedCollectives& matched,
                                   std::span<const MemberSet* const> groups,
                                   const ClockModel& model, Quantity quantity) {
  std::vector<MeasuredDifference> measured;
  for (const MemberSet* group : groups) {
    MeasurePairs(GroupEnds(matched, *group, model), *group, model, quantity, measured);
  }
  const std::uint32_t num_clocks = *std::max_element(model.clock.begin(), model.clock.end()) + 1;
  const std::vector<double> values = SolveDifferences(num_clocks, measured);
  const double anchor = values[LowestClock(groups, model)];
  ValuesOfClock value_of_clock;
  for (const MemberSet* group : groups) {
    for (const std::uint32_t rank : group->ranks) {
      value_of_clock[model.clock[rank]] = {values[model.clock[rank]] - anchor};
    }
  }
  std::vector<double> of_rank = quantity == Quantity::kOffset ? model.offset_ns : model.drift;
  SetByClock(model, value_of_clock, of_rank);
  return of_rank;
}

void FitDriftOfGroups(const MatchedCollectives& matched, std::span<const MemberSet* const> groups,
                      ClockModel& model) {
  std::int64_t span_ns = 0;
  for (const MemberSet* group : groups) {
    const GroupEnds ends(matched, *group, model);
    if (!ends.ShowDrift()) {
      return;
    }
    span_ns = std::max(span_ns, ends.SpanNs(0));
  }
  std::vector<double> drift = SolveOverPairs(matched, groups, model, Quantity::kDrift);
  DropSmallDrifts(static_cast<double>(span_ns), drift);
  model.drift = std::move(drift);
}

}  // namespace

void FitOneGroup(const MatchedCollectives& matched, const MemberSet& group, ClockModel& model) {
  const GroupEnds ends(matched, group, model);
  if (ends.ShowDrift()) {
    FitDriftOfGroup(ends, group, model);
  }
  const auto deviations = ends.Deviations(group.instances);
  ValuesOfClock offsets;
  for (std::size_t place = 0; place < group.ranks.size(); ++place) {
    const std::uint32_t rank = group.ranks[place];
    model.own_offset_ns[rank] = Median(deviations[place]);
    model.deviation_ns[rank] = MedianAbsoluteDeviation(deviations[place]);
    offsets[model.clock[rank]].push_back(model.own_offset_ns[rank]);
  }
  SetByClock(model, offsets, model.offset_ns);
}

void FitGroups(const MatchedCollectives& matched, std::span<const MemberSet* const> groups,
               ClockModel& model) {
  FitDriftOfGroups(matched, groups, model);
  model.offset_ns = SolveOverPairs(matched, groups, model, Quantity::kOffset);
  std::map<std::uint32_t, std::vector<double>> rest_of_rank;
  for (const MemberSet* group : groups) {
    const auto deviations = GroupEnds(matched, *group, model).Deviations(group->instances);
    for (std::size_t place = 0; place < group->ranks.size(); ++place) {
      std::vector<double>& rest = rest_of_rank[group->ranks[place]];
      rest.insert(rest.end(), deviations[place].begin(), deviations[place].end());
    }
  }
  for (const auto& [rank, rest] : rest_of_rank) {
    model.own_offset_ns[rank] = model.offset_ns[rank] + Median(rest);
    model.deviation_ns[rank] = MedianAbsoluteDeviation(rest);
  }
}

}  // namespace orrery::trace
