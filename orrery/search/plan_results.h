#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/space.h"
#include "orrery/simulate/explain/breakdown.h"

namespace orrery::search {

/// Lower bounds of a plan that was not simulated yet.
struct BoundedPlan {
  PlanId id = 0;
  std::uint32_t base = 0;         // of the space
  std::int64_t bound_ps = 0;      // of the step
  std::int64_t memory_bytes = 0;  // at least, on the fullest stage
  double bound_joules = 0;        // of a step; 0 where power is not known

  bool operator==(const BoundedPlan&) const = default;
};

/// Plans of a range of ids.
struct PlanBounds {
  std::uint64_t considered = 0;  // plans that can be
  std::uint64_t refused = 0;     // combinations that CheckJob refuses
  std::string first_refusal = {};
  std::uint64_t too_large = 0;  // plans that do not fit into memory
  BoundedPlan smallest = {};    // of all plans the one with the least memory, where there are any
  std::vector<BoundedPlan> plans = {};  // that may fit, in order

  bool operator==(const PlanBounds&) const = default;
};

/// A plan that was simulated.
struct SimulatedPlan {
  PlanId id = 0;
  std::string refusal = {};  // why it was not simulated; all else is 0 then
  std::int64_t step_ps = 0;
  std::int64_t memory_bytes = 0;  // that the fullest stage needs
  std::int64_t usable_bytes = 0;  // of its GPU
  double joules = 0;              // of a step, all GPUs; 0 where power is not known
  double mfu = 0;
  double tokens_per_s = 0;
  double samples_per_s = 0;

  // Of plans that somebody looks at:
  std::int64_t low_ps = 0;  // 80 % interval
  std::int64_t high_ps = 0;
  std::vector<simulate::TimeShare> shares = {};  // parts of the time of the slowest rank

  [[nodiscard]] bool has_details() const { return !shares.empty(); }

  bool operator==(const SimulatedPlan&) const = default;
};

/// Bounds of some plans, in the order that they were asked for.
using BoundedPlans = std::vector<BoundedPlan>;

/// All as bytes, to be sent or stored.
[[nodiscard]] std::string Encode(const PlanBounds& plan_bounds);
[[nodiscard]] std::string Encode(const SimulatedPlan& simulated);
[[nodiscard]] std::string Encode(const BoundedPlans& plans);
[[nodiscard]] Result<PlanBounds> DecodeBounds(std::string_view bytes);
[[nodiscard]] Result<SimulatedPlan> DecodeSimulatedPlan(std::string_view bytes);
[[nodiscard]] Result<BoundedPlans> DecodeBoundedPlans(std::string_view bytes);

}  // namespace orrery::search
