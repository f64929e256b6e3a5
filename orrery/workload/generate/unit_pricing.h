#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// The reliability of the operator times on one GPU, for reports.
struct PriceCoverage {
  std::string gpu;
  std::int64_t operators = 0;
  std::int64_t extrapolated = 0;  // outside the measured range
  std::int64_t by_other_gpus = 0;
  std::int64_t by_roofline = 0;
  std::int64_t unaligned = 0;      // GEMMs whose loss from unaligned sizes is that of another GPU
  std::string alignment_gpu = {};  // that GPU
  std::int64_t searched = 0;       // by the fastest kernels of a search, made slower
  double library_factor = 1;       // the largest one
};

/// The power of the GPUs of one kind while they run kernels.
struct StepPower {
  double clock = 1;              // share of the highest one that the limit leaves
  double busy_watts = 0;         // mean while kernels run
  double waiting_watts = 0;      // while they wait, or communicate
  double busy_seconds = 0;       // of kernels in a step, mean of the stages
  std::string measured_on = {};  // the GPU whose power was measured; empty: power is not modelled
};

/// Estimates operators with the kernel models, slowed down by the known losses of the framework.
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

/// The number of passes of a micro-batch through units of a kind.
struct UnitCount {
  std::size_t kind = 0;
  bool recomputes = false;  // the whole unit
  std::int64_t units = 0;

  bool operator==(const UnitCount&) const = default;
};

/// The units of some stages, by kind.
[[nodiscard]] std::vector<UnitCount> CountUnits(const ModelUnits& units,
                                                std::span<const ProgramId> stages);

/// Prices the units of a model on `job.gpu`, at the clock that its board keeps for hours while it
/// repeats a step. Both must outlive it.
class UnitPricing {
 public:
  UnitPricing(const Job& job, const kernel::CostModel& costs, std::vector<UnitOps> kinds,
              std::span<const UnitCount> counts);

  /// As given, with costs.
  [[nodiscard]] const std::vector<UnitOps>& kinds() const { return kinds_; }

  /// Prices other operations of the same step.
  void Price(std::span<LayerOp> ops);

  [[nodiscard]] const PriceCoverage& coverage() const { return pricing_.coverage(); }

  /// `passes`: micro-batches of a step over the stages that were counted.
  [[nodiscard]] StepPower PowerOf(double passes) const;

 private:
  void CountLoads(std::span<const LayerOp> ops, std::int64_t units);
  void Throttle(std::span<LayerOp> ops) const;

  bool is_throttled_;
  OpPricing pricing_;
  kernel::SustainedClock clock_;
  std::vector<UnitOps> kinds_;
  std::vector<kernel::WeightedLoad> loads_;  // of a micro-batch
  kernel::SustainedState state_;
};

}  // namespace orrery::workload
