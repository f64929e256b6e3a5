#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/kernel/estimate.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// A step with its time.
struct PricedOp {
  std::string_view name;
  Category category = Category::kElementwise;
  bool is_wgrad = false;
  int launches = 1;
  std::int64_t duration_ps = 0;     // of an operator
  std::uint32_t memory_share = 0;   // of the memory's bandwidth, in millionths
  std::uint32_t compute_share = 0;  // of the peak of its type, in millionths
  std::uint8_t operation = kNoOperation;
  std::optional<Communication> communication = {};
};

struct PricedUnit {
  std::vector<PricedOp> forward;
  std::vector<PricedOp> recompute;
  std::vector<PricedOp> backward;
};

/// How sure the prices on one GPU are, for people.
struct PriceCoverage {
  std::string gpu;
  std::int64_t operators = 0;     // distinct ones
  std::int64_t extrapolated = 0;  // outside of what was measured
  std::int64_t by_other_gpus = 0;
  std::int64_t by_roofline = 0;
  std::int64_t unaligned = 0;  // products whose loss by unaligned sizes is that of another GPU
  std::string alignment_gpu;   // which
};

/// Prices units with the kernel models, slowed down by what the framework is known to lose.
class OpPricing {
 public:
  /// On the GPU of the job; others of it are not asked for.
  OpPricing(const Job& job, const kernel::CostModel& costs) : job_(job), costs_(costs) {
    coverage_.gpu = job.gpu.name;
  }

  [[nodiscard]] std::vector<PricedUnit> Price(std::span<const UnitOps> units);

  [[nodiscard]] std::vector<PricedOp> Price(std::span<const LayerOp> steps);

  [[nodiscard]] const PriceCoverage& coverage() const { return coverage_; }

 private:
  [[nodiscard]] std::vector<kernel::Estimate> EstimatesOf(std::span<const LayerOp> steps) const;
  [[nodiscard]] double HiddenCast(const kernel::Operator& product) const;
  [[nodiscard]] PricedOp PriceOf(const LayerOp& step, const kernel::Estimate& estimate);

  const Job& job_;
  const kernel::CostModel& costs_;
  PriceCoverage coverage_;
};

}  // namespace orrery::workload
