#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/workload/ensemble.h"
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
  std::int64_t unaligned = 0;      // GEMMs whose loss from unaligned sizes is that of another GPU
  std::string alignment_gpu = {};  // which
};

/// The power of the GPUs of one kind while they run kernels.
struct StepPower {
  double clock = 1;              // share of the highest one that the limit leaves
  double busy_watts = 0;         // mean while kernels run
  double waiting_watts = 0;      // while they wait, or communicate
  double busy_seconds = 0;       // of kernels in a step, mean of the stages
  std::string measured_on = {};  // the GPU whose power was measured; empty: power is not modelled
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

/// The programs of all ranks for one training step, and the reliability of operator times.
struct GeneratedJob {
  Ensemble ensemble;
  std::vector<PriceCoverage> coverage;  // of each GPU that ranks have
  std::vector<StepPower> power;         // the same
};

/// Estimates the number of tasks that Generate writes, without writing them: a program for each
/// stage of the pipeline counts once.
[[nodiscard]] Result<std::int64_t> EstimateTasks(const Job& job);

/// Writes the programs of a job, one for each stage of its pipeline and each GPU that ranks of the
/// stage have. The job must have passed CheckJob. `costs` prices operators.
[[nodiscard]] Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs);

}  // namespace orrery::workload
