#include "orrery/trace/clock/clock_alignment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/clock/clock_fit.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

// Cards are nested differently from tool to tool; the last part of the path says it.
std::optional<std::int64_t> DevicesPerNode(const TraceSet& set) {
  if (!set.card) {
    return std::nullopt;
  }
  for (const auto& [path, value] : set.card->values) {
    if (path == "count_per_node" || path.ends_with(".count_per_node")) {
      return set.card->Integer(path);
    }
  }
  return std::nullopt;
}

std::string ClockName(const TraceSet& set, std::size_t index,
                      std::optional<std::int64_t> devices_per_node) {
  const TraceInfo& info = set.ranks[index].info;
  if (info.time_origin != TimeOrigin::kEpoch) {
    return fmt::format("trace {}", index);
  }
  if (!info.host_name.empty()) {
    return "host " + info.host_name;
  }
  if (devices_per_node && *devices_per_node > 0) {
    return fmt::format("node {}", RankOf(set, index) / *devices_per_node);
  }
  return fmt::format("trace {}", index);
}

constexpr std::int64_t kLongestTransferNs = 10'000'000;
constexpr double kOffsetWorthCorrectingNs = 20'000;
constexpr double kDeviationsAboveNoise = 3;
constexpr double kPicosecondsPerSecond = 1e12;

bool IsUsable(const MatchedCollectives& matched, std::size_t instance) {
  return IsSynchronising(matched.instances.kind[instance]) &&
         (matched.instances.flags[instance] & ~match_flag::kSpreadTooLarge) == 0 &&
         MinDurationNs(matched, instance) < kLongestTransferNs;
}

std::vector<MemberSet> UsableRecords(const MatchedCollectives& matched) {
  std::map<std::vector<std::uint32_t>, std::vector<std::uint32_t>> instances_of;
  for (std::uint32_t instance = 0; instance < matched.size(); ++instance) {
    if (IsUsable(matched, instance)) {
      const auto first =
          matched.members.rank_index.begin() + matched.instances.first_member[instance];
      instances_of[{first, first + matched.instances.num_members[instance]}].push_back(instance);
    }
  }
  std::vector<MemberSet> sets;
  for (auto& [ranks, instances] : instances_of) {
    sets.push_back({ranks, std::move(instances)});
  }
  return sets;
}

// For each clock the lowest one that records connect it with.
using Parts = std::vector<std::uint32_t>;

Parts ConnectClocks(std::size_t num_clocks, const std::vector<MemberSet>& sets,
                    const std::vector<std::uint32_t>& clock_of_rank) {
  Parts parts(num_clocks);
  std::iota(parts.begin(), parts.end(), 0U);
  for (const MemberSet& set : sets) {
    for (const std::uint32_t rank : set.ranks) {
      const std::uint32_t a = parts[clock_of_rank[set.ranks.front()]];
      const std::uint32_t b = parts[clock_of_rank[rank]];
      if (a != b) {
        std::ranges::replace(parts, std::max(a, b), std::min(a, b));
      }
    }
  }
  return parts;
}

ClockModel EmptyModel(std::vector<std::uint32_t> clock_of_rank) {
  const std::size_t num_ranks = clock_of_rank.size();
  return {.clock = std::move(clock_of_rank),
          .origin_ns = std::vector<std::int64_t>(num_ranks, 0),
          .offset_ns = std::vector<double>(num_ranks, 0.0),
          .drift = std::vector<double>(num_ranks, 0.0),
          .own_offset_ns = std::vector<double>(num_ranks, 0.0),
          .deviation_ns = std::vector<double>(num_ranks, 0.0)};
}

// Drift counts from the middle of the records, where an offset means most. Ranks of one clock
// count from the same time, or one offset would not fit them all.
void SetOrigins(const MatchedCollectives& matched, const std::vector<MemberSet>& sets,
                ClockModel& model) {
  std::map<std::uint32_t, std::int64_t> origin_of_clock;
  for (const MemberSet& set : sets) {
    const std::uint32_t middle = set.instances[set.instances.size() / 2];
    for (const std::uint32_t member : matched.MembersOf(middle)) {
      origin_of_clock.try_emplace(model.clock[matched.members.rank_index[member]],
                                  matched.members.end_ns[member]);
    }
  }
  for (std::size_t rank = 0; rank < model.clock.size(); ++rank) {
    const auto found = origin_of_clock.find(model.clock[rank]);
    model.origin_ns[rank] = found == origin_of_clock.end() ? 0 : found->second;
  }
}

void Fit(const MatchedCollectives& matched, const std::vector<MemberSet>& sets, const Parts& parts,
         ClockModel& model) {
  std::map<std::uint32_t, std::vector<const MemberSet*>> sets_of_part;
  for (const MemberSet& set : sets) {
    sets_of_part[parts[model.clock[set.ranks.front()]]].push_back(&set);
  }
  for (const auto& [part, members] : sets_of_part) {
    if (members.size() == 1) {
      FitOneGroup(matched, *members.front(), model);
    } else {
      FitGroups(matched, members, model);
    }
  }
}

double DeviationOfClock(const ClockModel& model, const std::vector<RankClock>& ranks,
                        std::uint32_t clock) {
  std::vector<double> deviations;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    if (model.clock[rank] == clock && ranks[rank].num_records > 0) {
      deviations.push_back(model.deviation_ns[rank]);
    }
  }
  return deviations.empty() ? 0.0 : Median(deviations);
}

bool Matters(const ClockModel& model, const std::vector<RankClock>& ranks, std::size_t rank) {
  const double offset_ns = std::abs(model.offset_ns[rank]);
  const double noise_ns = DeviationOfClock(model, ranks, model.clock[rank]);
  return model.drift[rank] != 0 ||
         (offset_ns > kOffsetWorthCorrectingNs && offset_ns > kDeviationsAboveNoise * noise_ns);
}

void CountRecords(const std::vector<MemberSet>& sets, ClockAlignment& alignment) {
  for (const MemberSet& set : sets) {
    for (const std::uint32_t rank : set.ranks) {
      alignment.ranks[rank].num_records += std::ssize(set.instances);
    }
  }
  for (const RankClock& rank : alignment.ranks) {
    if (rank.num_records == 0 && alignment.ranks.size() > 1) {
      alignment.problems.Note("rank without collectives to compare clocks by");
    }
  }
}

void NumberParts(const Parts& parts, ClockAlignment& alignment) {
  std::map<std::uint32_t, std::uint32_t> number_of_part;
  for (const RankClock& rank : alignment.ranks) {
    number_of_part.try_emplace(parts[rank.clock], 0);
  }
  for (auto& [part, number] : number_of_part) {
    number = alignment.num_components++;
  }
  for (RankClock& rank : alignment.ranks) {
    rank.component = number_of_part.at(parts[rank.clock]);
  }
}

void Conclude(const ClockModel& model, AlignClocks when, ClockAlignment& alignment) {
  for (std::size_t index = 0; index < alignment.ranks.size(); ++index) {
    RankClock& rank = alignment.ranks[index];
    rank.own_offset_ns = model.own_offset_ns[index];
    rank.offset_ns = std::llround(model.offset_ns[index]);
    rank.deviation_ns = model.deviation_ns[index];
    rank.drift_ps_per_s = std::llround(model.drift[index] * kPicosecondsPerSecond);
    rank.drift_origin_ns = model.origin_ns[index];
    rank.apply = when == AlignClocks::kAlways ||
                 (when == AlignClocks::kIfItMatters && Matters(model, alignment.ranks, index));
  }
}

constexpr std::int64_t kNsPerSecond = 1'000'000'000;
constexpr std::int64_t kPsPerNs = 1'000;

std::int64_t FloorDivide(std::int64_t dividend, std::int64_t divisor) {
  const std::int64_t quotient = dividend / divisor;
  return quotient * divisor > dividend ? quotient - 1 : quotient;
}

// Whole seconds and the rest separately, so that the products do not overflow.
std::int64_t DriftNs(std::int64_t drift_ps_per_s, std::int64_t elapsed_ns) {
  const std::int64_t seconds = FloorDivide(elapsed_ns, kNsPerSecond);
  const std::int64_t rest_ns = elapsed_ns - seconds * kNsPerSecond;
  return FloorDivide(seconds * drift_ps_per_s + FloorDivide(rest_ns * drift_ps_per_s, kNsPerSecond),
                     kPsPerNs);
}

}  // namespace

std::vector<std::uint32_t> ClockOfRank(const TraceSet& set) {
  const auto devices_per_node = DevicesPerNode(set);
  std::map<std::string, std::uint32_t, std::less<>> clocks;
  std::vector<std::uint32_t> clock_of_rank(set.ranks.size());
  for (const std::uint32_t place : PlacesInRankOrder(set)) {
    const auto next = static_cast<std::uint32_t>(clocks.size());
    clock_of_rank[place] =
        clocks.try_emplace(ClockName(set, place, devices_per_node), next).first->second;
  }
  return clock_of_rank;
}

bool ClockAlignment::applies() const {
  return std::any_of(ranks.begin(), ranks.end(), [](const RankClock& rank) { return rank.apply; });
}

ClockAlignment EstimateClocks(const TraceSet& set, const MatchedCollectives& matched,
                              AlignClocks when) {
  ClockAlignment alignment;
  alignment.ranks.resize(set.ranks.size());
  ClockModel model = EmptyModel(ClockOfRank(set));
  for (std::size_t rank = 0; rank < alignment.ranks.size(); ++rank) {
    alignment.ranks[rank].clock = model.clock[rank];
  }
  const std::vector<MemberSet> sets = UsableRecords(matched);
  const Parts parts = ConnectClocks(set.ranks.size(), sets, model.clock);
  SetOrigins(matched, sets, model);
  Fit(matched, sets, parts, model);
  CountRecords(sets, alignment);
  NumberParts(parts, alignment);
  Conclude(model, when, alignment);
  return alignment;
}

AlignedRun MatchAndAlign(TraceSet& set, AlignClocks when) {
  AlignedRun run{.matched = MatchCollectives(set), .alignment = {}};
  run.alignment = EstimateClocks(set, run.matched, when);
  if (run.alignment.applies()) {
    ApplyAlignment(set, run.alignment);
    run.matched = MatchCollectives(set);
  }
  return run;
}

std::int64_t CorrectedTime(const RankClock& clock, std::int64_t time_ns) {
  return time_ns - clock.offset_ns - DriftNs(clock.drift_ps_per_s, time_ns - clock.drift_origin_ns);
}

void ApplyAlignment(TraceSet& set, const ClockAlignment& alignment) {
  ORRERY_CHECK(set.ranks.size() == alignment.ranks.size(), "an alignment of another set");
  for (std::size_t index = 0; index < set.ranks.size(); ++index) {
    if (alignment.ranks[index].apply) {
      MoveTimes(set.ranks[index], [&](std::int64_t time_ns) {
        return CorrectedTime(alignment.ranks[index], time_ns);
      });
    }
  }
}

}  // namespace orrery::trace
