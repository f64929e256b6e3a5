#include "orrery/memory/uvm/comparison.h"

#include <algorithm>
#include <cmath>

#include "orrery/memory/uvm/oracle.h"

namespace orrery::memory::uvm {
namespace {

// Many are simulated to find one; what they say of single operators is not kept.
Outcome Short(Outcome outcome) {
  outcome.of_operator.clear();
  outcome.of_root.clear();
  return outcome;
}

std::int64_t PagesOf(const Workload& workload, const Policy& policy) {
  std::int64_t pages = 0;
  for (const std::vector<std::size_t>& objects : ScheduleOf(workload, policy)) {
    for (const std::size_t object : objects) {
      pages += workload.objects[object].pages.count;
    }
  }
  return pages;
}

}  // namespace

const Outcome& Comparison::Of(Policy::Kind kind) const {
  return *std::ranges::find_if(outcomes,
                               [&](const Outcome& outcome) { return outcome.policy.kind == kind; });
}

Comparison Compare(const Workload& workload, const Parameters& parameters, const Rates& rates,
                   const PolicyOptions& options) {
  Comparison comparison{.options = options, .oracle = {}};
  const auto simulation = [&](const Policy& policy) {
    return SimulatePolicy(workload, parameters, rates, policy, options);
  };
  for (const Policy::Kind kind :
       {Policy::Kind::kNone, Policy::Kind::kDriver, Policy::Kind::kObject, Policy::Kind::kTensor}) {
    comparison.outcomes.push_back(simulation({.kind = kind}));
  }
  Policy best{.kind = Policy::Kind::kTensor};
  std::int64_t best_ns = comparison.outcomes.back().total_ns;
  for (int lookahead = 1; lookahead <= parameters.max_lookahead; ++lookahead) {
    const Policy policy{.kind = Policy::Kind::kTensor, .lookahead = lookahead};
    comparison.lookaheads.push_back(Short(simulation(policy)));
    if (comparison.lookaheads.back().total_ns < best_ns) {
      best = policy;
      best_ns = comparison.lookaheads.back().total_ns;
    }
  }
  comparison.outcomes.push_back(simulation(best));
  comparison.oracle = OracleMovement(workload, options.capacity_bytes, options.iterations);
  const Movement copied{.pages_in = comparison.oracle.pages_copied,
                        .pages_copied = comparison.oracle.pages_copied};
  comparison.oracle_ns = std::max(comparison.outcomes.front().kernel_ns,
                                  MoveTime(copied, workload.page_bytes, rates.prefetch, rates));
  return comparison;
}

double RelativeTime(const Comparison& comparison, std::int64_t time_ns) {
  const std::int64_t none_ns = comparison.outcomes.front().total_ns;
  return none_ns == 0 ? 1 : static_cast<double>(time_ns) / static_cast<double>(none_ns);
}

double SegmentUse(const Workload& workload) {
  const std::int64_t used = PagesOf(workload, {.kind = Policy::Kind::kTensor});
  const std::int64_t whole = PagesOf(workload, {.kind = Policy::Kind::kObject});
  return whole == 0 ? 1 : static_cast<double>(used) / static_cast<double>(whole);
}

std::int64_t MeanSegmentBytes(const Workload& workload) {
  const std::int64_t pages = PagesOf(workload, {.kind = Policy::Kind::kObject});
  const auto num_operators = static_cast<std::int64_t>(workload.operators.size());
  return num_operators == 0 ? 0 : pages * workload.page_bytes / num_operators;
}

std::int64_t CapacityOf(const Workload& workload, double factor) {
  const auto bytes =
      static_cast<std::int64_t>(std::floor(static_cast<double>(workload.footprint_bytes) / factor));
  return std::max(bytes, workload.page_bytes * workload.pages_per_block);
}

}  // namespace orrery::memory::uvm
