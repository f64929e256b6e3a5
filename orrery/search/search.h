#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/search/plan_evaluation.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/store/plan_store.h"

namespace orrery::search {

/// The quantity that is minimized.
enum class Objective : std::uint8_t {
  kStep,          // seconds of a step
  kTokensPerGpu,  // GPU-seconds of a token, or of a sample of a model without tokens
  kDollars,       // of a token
  kEnergy,        // joules of a token
};

/// Dollars of an hour, by the name of a GPU.
using Prices = std::map<std::string, double>;

/// Progress of a search.
struct SearchProgress {
  std::uint64_t ids_bounded = 0;
  std::uint64_t num_ids = 0;
  std::uint64_t considered = 0;
  std::uint64_t simulated = 0;
  std::uint64_t open = 0;  // plans whose bound is not above the worst that is kept
};

struct SearchOptions {
  Objective objective = Objective::kStep;
  std::size_t keep = 20;
  Prices prices = {};
  PlanStore* store = nullptr;  // decided plans are read from it and stored in it
  /// Asked between plans: the search ends early where it says so.
  std::function<bool()> is_over = {};
  /// Asked between ranges of plans: bounding ends early, so that time is left to simulate some.
  std::function<bool()> ends_bounding = {};
  std::function<void(const SearchProgress&)> progress = {};
};

/// A simulated plan and its objective.
struct RankedPlan {
  BoundedPlan bounded;
  SimulatedPlan simulated;
  double objective = 0;
};

struct SearchResult {
  std::uint64_t considered = 0;
  std::uint64_t refused = 0;  // combinations that are no plans
  std::string first_refusal = {};
  std::uint64_t pruned_by_memory = 0;
  std::uint64_t pruned_by_bound = 0;
  std::uint64_t too_large = 0;  // simulated, and need more memory than was known before
  std::uint64_t failed = 0;     // could not be simulated
  std::string first_failure = {};
  std::uint64_t open = 0;                  // left where the search ended early
  double decided_share = 1;                // of all plans
  double bounded_share = 1;                // of the space: of the rest nothing is known
  std::optional<double> best_open = {};    // a plan that is not decided is not better than that
  BoundedPlan smallest = {};               // the plan with the least memory
  std::vector<RankedPlan> simulated = {};  // by bound
  std::vector<RankedPlan> best = {};       // that fit, best first
};

/// The value that plans are compared by; smaller is better.
[[nodiscard]] double ObjectiveOf(const SimulatedPlan& simulated, const workload::Job& base,
                                 const SearchOptions& options);

/// Finds the best plans of a space: those that simulating all of them would find, in the same
/// order, ties by id. Plans are left out only where their bound of memory is too large or their
/// bound of time is above that of all that are kept. The same for any number of workers.
[[nodiscard]] Result<SearchResult> Search(PlanEvaluation& evaluation, WorkDealer& dealer,
                                          const SearchOptions& options);

}  // namespace orrery::search
