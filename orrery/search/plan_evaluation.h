#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/concurrency/work_dealer.h"
#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/search/memory_bound.h"
#include "orrery/search/pass_bound.h"
#include "orrery/search/plan_results.h"
#include "orrery/search/space.h"
#include "orrery/search/stage_costs.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/job/job.h"

namespace orrery::search {

/// The factor of a better resource in sensitivities.
inline constexpr double kImprovement = 1.1;

/// Of PlanOptions: details whatever a step takes.
inline constexpr std::int64_t kAlways = std::numeric_limits<std::int64_t>::max();

/// Options of the simulation of one plan.
struct PlanOptions {
  /// Interval and shares of time, which take a fifth of the time, for steps that are not longer.
  std::int64_t details_up_to_ps = 0;
  std::optional<trace::Part> improved = {};  // see kImprovement
};

/// Simulates a job and sums up what a search wants to know of it.
[[nodiscard]] Result<SimulatedPlan> SimulatePlan(const workload::Job& job,
                                                 const kernel::CostModel& costs,
                                                 const simulate::SimulationOptions& options,
                                                 const PlanOptions& asked = {});

/// Evaluates the plans of a space. Thread-safe; all must outlive it.
class PlanEvaluation {
 public:
  /// `costs` must be thread-safe.
  PlanEvaluation(const Space& space, const kernel::CostModel& costs,
                 const simulate::SimulationOptions& options)
      : space_(space), costs_(costs), options_(options) {
    for (std::size_t base = 0; base < space.bases().size(); ++base) {
      overlap_of_base_.push_back(std::make_unique<simulate::PairMemo>());
    }
  }

  /// Bounds of all plans with ids from `first` on and below `last`.
  [[nodiscard]] PlanBounds Bound(PlanId first, PlanId last);

  /// Simulates a plan. What cannot be simulated says why.
  [[nodiscard]] SimulatedPlan Simulate(PlanId id, const PlanOptions& asked = {}) const;

  /// Closer bounds of plans that have first bounds.
  [[nodiscard]] BoundedPlans Refine(const BoundedPlans& plans);

  /// The same by messages, for a WorkDealer.
  [[nodiscard]] static std::string BoundRequest(PlanId first, PlanId last);
  [[nodiscard]] static std::string SimulationRequest(PlanId id, const PlanOptions& asked = {});
  [[nodiscard]] static std::string RefineRequest(const BoundedPlans& plans);
  [[nodiscard]] Result<std::string> Answer(std::string_view request);
  [[nodiscard]] WorkDealer::Work work();

  [[nodiscard]] const Space& space() const { return space_; }

 private:
  // State of one thread.
  struct Bounds {
    explicit Bounds(const kernel::CostModel& costs) : stages(costs) {}

    StageCosts stages;
    MemoryBound memory;
    PassBound passes;
  };

  [[nodiscard]] std::unique_ptr<Bounds> TakeBounds();
  void GiveBack(std::unique_ptr<Bounds> bounds);
  [[nodiscard]] bool IsTooLarge(const BoundedPlan& bounded, const workload::Job& job) const;
  [[nodiscard]] BoundedPlan BoundPlan(const Space::Walk& walk, Bounds& bounds) const;

  const Space& space_;
  const kernel::CostModel& costs_;
  simulate::SimulationOptions options_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Bounds>> free_bounds_;
  std::vector<std::unique_ptr<simulate::PairMemo>> overlap_of_base_;
};

}  // namespace orrery::search
