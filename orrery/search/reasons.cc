#include "orrery/search/reasons.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/learn/interval.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/interval.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/job/job.h"

namespace orrery::search {
namespace {

constexpr std::array kParts{trace::Part::kNics, trace::Part::kLinks, trace::Part::kMemory,
                            trace::Part::kFlops};
constexpr double kGibibyte = 1 << 30;

simulate::Breakdown BreakdownOf(const SimulatedPlan& simulated) {
  return {.step_ps = simulated.step_ps, .shares = simulated.shares};
}

// The plan one value before or behind along a dimension, where there is one.
std::vector<Neighbour> NeighboursOf(const RankedPlan& plan, const Space& space) {
  std::vector<Neighbour> neighbours;
  const std::vector<std::uint32_t> digits = space.DigitsOf(plan.bounded.id);
  for (std::size_t i = 0; i < digits.size(); ++i) {
    const std::vector<std::string>& values = space.dimensions()[i].values;
    for (const int step : {-1, 1}) {
      const std::int64_t moved = std::int64_t{digits[i]} + step;
      if (moved < 0 || moved >= std::ssize(values)) {
        continue;
      }
      std::vector<std::uint32_t> other = digits;
      other[i] = static_cast<std::uint32_t>(moved);
      const PlanId id = space.IdOf(other);
      if (Space::Walk walk(space, id, id + 1); walk.Next()) {
        Neighbour& neighbour = neighbours.emplace_back();
        neighbour.key = space.dimensions()[i].key;
        neighbour.from = values[digits[i]];
        neighbour.to = values[other[i]];
        neighbour.simulated.id = id;
      }
    }
  }
  return neighbours;
}

// Returns the part of the step that grows most from one plan to the other, and its growth.
std::pair<std::string, std::int64_t> LargestGrowth(const SimulatedPlan& from,
                                                   const SimulatedPlan& to) {
  std::map<std::string, std::int64_t> growth;
  for (const simulate::TimeShare& share : to.shares) {
    growth[simulate::ShareText(share)] += share.ps;
  }
  for (const simulate::TimeShare& share : from.shares) {
    growth[simulate::ShareText(share)] -= share.ps;
  }
  const bool grows = to.step_ps >= from.step_ps;
  std::pair<std::string, std::int64_t> largest;
  for (const auto& [what, ps] : growth) {
    if ((grows ? ps : -ps) > (grows ? largest.second : -largest.second)) {
      largest = {what, ps};
    }
  }
  return largest;
}

std::string ReasonOf(const Neighbour& neighbour, const SimulatedPlan& winner) {
  const std::string what =
      fmt::format("{} {} instead of {}", neighbour.key, neighbour.to, neighbour.from);
  if (!neighbour.simulated.refusal.empty()) {
    return fmt::format("{}: not simulated, {}", what, neighbour.simulated.refusal);
  }
  const double share =
      static_cast<double>(neighbour.simulated.step_ps) / static_cast<double>(winner.step_ps) - 1;
  const auto [part, ps] = LargestGrowth(winner, neighbour.simulated);
  std::string sentence = fmt::format("{}: step {:+.1f} %", what, 100 * share);
  if (!part.empty()) {
    sentence += fmt::format(", mostly {} ({:+.1f} %)", part,
                            100 * static_cast<double>(ps) / static_cast<double>(winner.step_ps));
  }
  if (!neighbour.fits) {
    sentence += fmt::format("; needs {:.1f} GiB of {:.1f}",
                            static_cast<double>(neighbour.simulated.memory_bytes) / kGibibyte,
                            static_cast<double>(neighbour.simulated.usable_bytes) / kGibibyte);
  }
  return sentence;
}

}  // namespace

std::string NameOf(trace::Part part) {
  switch (part) {
    case trace::Part::kNics:
      return "NIC bandwidth";
    case trace::Part::kLinks:
      return "bandwidth between GPUs of a node";
    case trace::Part::kMemory:
      return "HBM bandwidth";
    default:
      return "peak FLOP/s";
  }
}

Result<Reasons> ReasonsFor(const RankedPlan& plan, PlanEvaluation& evaluation, WorkDealer& dealer,
                           const SearchOptions& options) {
  const Space& space = evaluation.space();
  Reasons reasons;
  reasons.neighbours = NeighboursOf(plan, space);
  std::vector<std::string> requests;
  for (const Neighbour& neighbour : reasons.neighbours) {
    requests.push_back(
        PlanEvaluation::SimulationRequest(neighbour.simulated.id, {.details_up_to_ps = kAlways}));
  }
  for (const trace::Part part : kParts) {
    requests.push_back(PlanEvaluation::SimulationRequest(plan.bounded.id, {.improved = part}));
  }
  std::vector<SimulatedPlan> simulated(requests.size());
  ORRERY_TRY_STATUS(dealer.Run(requests, evaluation.work(),
                               [&](std::size_t index, Result<std::string> answer) -> Status {
                                 ORRERY_TRY(const std::string bytes, std::move(answer));
                                 ORRERY_TRY(simulated[index], DecodeSimulatedPlan(bytes));
                                 return {};
                               }));
  const workload::Job& base = space.bases()[plan.bounded.base].job;
  for (std::size_t i = 0; i < reasons.neighbours.size(); ++i) {
    Neighbour& neighbour = reasons.neighbours[i];
    neighbour.simulated = simulated[i];
    neighbour.change = neighbour.simulated.refusal.empty()
                           ? ObjectiveOf(neighbour.simulated, base, options) / plan.objective - 1
                           : std::nan("");
    neighbour.fits = static_cast<double>(neighbour.simulated.memory_bytes) <=
                     static_cast<double>(neighbour.simulated.usable_bytes) * space.memory_share();
    neighbour.reason = ReasonOf(neighbour, plan.simulated);
  }
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    const SimulatedPlan& better = simulated[reasons.neighbours.size() + i];
    if (better.refusal.empty()) {
      reasons.sensitivities.push_back(
          {kParts[i],
           static_cast<double>(better.step_ps) / static_cast<double>(plan.simulated.step_ps) - 1});
    }
  }
  std::ranges::stable_sort(reasons.sensitivities, {}, &Sensitivity::change);
  return reasons;
}

bool IsTie(const SimulatedPlan& first, const SimulatedPlan& second, const workload::Job& job) {
  const learn::TimeInterval ratio =
      simulate::IntervalOfRatio(BreakdownOf(first), BreakdownOf(second), job);
  return ratio.Contains(1);
}

}  // namespace orrery::search
