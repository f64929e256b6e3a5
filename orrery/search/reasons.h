#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/search.h"
#include "orrery/trace/speedup.h"

namespace orrery::search {

/// A plan one step away from another along one dimension.
struct Neighbour {
  std::string key;  // "plan.tp"
  std::string from;
  std::string to;
  SimulatedPlan simulated;
  double change = 0;  // of the objective, relative; above 0: worse
  bool fits = true;
  std::string reason;  // one sentence
};

/// The effect of a better part of the hardware.
struct Sensitivity {
  trace::Part resource = trace::Part::kNics;
  double change = 0;  // of the step, relative
};

/// Why a plan is the best, and what binds it.
struct Reasons {
  std::vector<Neighbour> neighbours;       // by dimension
  std::vector<Sensitivity> sensitivities;  // largest effect first
};

/// "NIC bandwidth".
[[nodiscard]] std::string NameOf(trace::Part part);

/// Simulates the neighbours of a plan, and the plan on better hardware.
[[nodiscard]] Result<Reasons> ReasonsFor(const RankedPlan& plan, PlanEvaluation& evaluation,
                                         WorkDealer& dealer, const SearchOptions& options);

/// Returns true if the predictions of two plans of one job are too uncertain to tell which is
/// faster.
[[nodiscard]] bool IsTie(const SimulatedPlan& first, const SimulatedPlan& second,
                         const workload::Job& job);

}  // namespace orrery::search
