#include "orrery/search/pareto_front.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/search/search.h"
#include "orrery/search/space.h"
#include "orrery/workload/job/job.h"

namespace orrery::search {
namespace {

// Below 0: the first one is better. Whole numbers are not rounded for it.
using Comparison = std::array<int, 5>;

template <typename Number>
int Compare(const Number& one, const Number& other) {
  return one < other ? -1 : other < one ? 1 : 0;
}

int CompareKnown(const std::optional<double>& one, const std::optional<double>& other) {
  return one && other ? Compare(*one, *other) : 0;
}

Comparison CompareAll(const PlanTradeoff& one, const PlanTradeoff& other) {
  return {Compare(one.step_ps, other.step_ps),
          Compare(other.memory_left_bytes, one.memory_left_bytes), Compare(one.gpus, other.gpus),
          CompareKnown(one.dollars_per_token, other.dollars_per_token),
          CompareKnown(one.joules_per_token, other.joules_per_token)};
}

bool IsNowhereWorse(const Comparison& comparison) {
  return std::ranges::all_of(comparison, [](int figure) { return figure <= 0; });
}

// Else a plan could dominate a second one, that a third one, and that the first.
void DropUnlessAllHave(std::optional<double> PlanTradeoff::*figure,
                       std::vector<PlanTradeoff>& plans) {
  if (!std::ranges::all_of(plans,
                           [&](const PlanTradeoff& plan) { return (plan.*figure).has_value(); })) {
    for (PlanTradeoff& plan : plans) {
      plan.*figure = std::nullopt;
    }
  }
}

bool Fits(const RankedPlan& ranked, const Space& space) {
  const double limit = static_cast<double>(ranked.simulated.usable_bytes) * space.memory_share();
  return ranked.simulated.refusal.empty() &&
         static_cast<double>(ranked.simulated.memory_bytes) <= limit;
}

std::optional<double> DollarsOf(const RankedPlan& ranked, const workload::Job& base,
                                const Prices& prices) {
  return prices.contains(base.gpu.name)
             ? std::optional(ObjectiveOf(ranked.simulated, base,
                                         {.objective = Objective::kDollars, .prices = prices}))
             : std::nullopt;
}

std::optional<double> JoulesOf(const RankedPlan& ranked, const workload::Job& base) {
  return ranked.simulated.joules > 0
             ? std::optional(ObjectiveOf(ranked.simulated, base, {.objective = Objective::kEnergy}))
             : std::nullopt;
}

}  // namespace

std::vector<PlanTradeoff> TradeoffsOf(const SearchResult& result, const Space& space,
                                      const Prices& prices) {
  std::vector<PlanTradeoff> plans;
  for (std::size_t i = 0; i < result.simulated.size(); ++i) {
    const RankedPlan& ranked = result.simulated[i];
    if (!Fits(ranked, space)) {
      continue;
    }
    const workload::Job& base = space.bases()[ranked.bounded.base].job;
    plans.push_back(
        {.id = ranked.bounded.id,
         .simulated = i,
         .step_ps = ranked.simulated.step_ps,
         .memory_left_bytes = ranked.simulated.usable_bytes - ranked.simulated.memory_bytes,
         .gpus = base.gpus,
         .dollars_per_token = DollarsOf(ranked, base, prices),
         .joules_per_token = JoulesOf(ranked, base)});
  }
  return plans;
}

bool Dominates(const PlanTradeoff& one, const PlanTradeoff& other) {
  const Comparison comparison = CompareAll(one, other);
  return IsNowhereWorse(comparison) && comparison != Comparison{};
}

std::vector<PlanTradeoff> ParetoFront(std::vector<PlanTradeoff> plans) {
  std::vector<PlanTradeoff> compared = plans;
  DropUnlessAllHave(&PlanTradeoff::dollars_per_token, compared);
  DropUnlessAllHave(&PlanTradeoff::joules_per_token, compared);
  std::vector<std::size_t> order(compared.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  // By all metrics: a plan that dominates a plan, or equals it with a smaller id, is before it.
  std::ranges::sort(order, [&](std::size_t one, std::size_t other) {
    const Comparison comparison = CompareAll(compared[one], compared[other]);
    return comparison != Comparison{} ? comparison < Comparison{}
                                      : compared[one].id < compared[other].id;
  });
  std::vector<std::size_t> chosen;
  for (const std::size_t plan : order) {
    const bool is_beaten = std::ranges::any_of(chosen, [&](std::size_t better) {
      return IsNowhereWorse(CompareAll(compared[better], compared[plan]));
    });
    if (!is_beaten) {
      chosen.push_back(plan);
    }
  }
  std::vector<PlanTradeoff> front;
  for (const std::size_t plan : chosen) {
    front.push_back(plans[plan]);
  }
  std::ranges::sort(front, {},
                    [](const PlanTradeoff& plan) { return std::pair(plan.step_ps, plan.id); });
  return front;
}

}  // namespace orrery::search
