#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/estimate.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// How reliable the operator times on one GPU are, for people.
struct PriceCoverage {
  std::string gpu;
  std::int64_t operators = 0;
  std::int64_t extrapolated = 0;  // outside the measured range
  std::int64_t by_other_gpus = 0;
  std::int64_t by_roofline = 0;
  std::int64_t unaligned = 0;  // GEMMs whose loss from unaligned sizes is that of another GPU
  std::string alignment_gpu;   // which
};

/// Prices operators with the kernel models, slowed down by what the framework is known to lose.
class OpPricing {
 public:
  /// On `job.gpu`; the job's other GPUs do not count.
  OpPricing(const Job& job, const kernel::CostModel& costs) : job_(job), costs_(costs) {
    coverage_.gpu = job.gpu.name;
  }

  /// Sets the cost of each operator.
  void Price(std::span<LayerOp> ops);

  [[nodiscard]] const PriceCoverage& coverage() const { return coverage_; }

 private:
  [[nodiscard]] std::vector<kernel::Estimate> EstimatesOf(std::span<const LayerOp> ops) const;
  [[nodiscard]] double HiddenCast(const kernel::Operator& gemm) const;
  [[nodiscard]] OpCost CostOf(const LayerOp& op, const kernel::Estimate& estimate) const;
  void Count(const kernel::Estimate& estimate);

  const Job& job_;
  const kernel::CostModel& costs_;
  PriceCoverage coverage_;
};

}  // namespace orrery::workload
