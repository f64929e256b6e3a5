#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/simulate/network/group_limits.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Differences of a simulated step from that of the job as its file says: every what-if of the
/// command line, a search, the page and callers of the library.
struct Scenario {
  std::vector<trace::Speedup> speedups = {};  // of parts that IsOfSimulatedStep
  std::vector<SlowRank> slow_ranks = {};
  NetworkFaults faults = {};
  double jitter = 0;  // spread of kernel times, relative

  /// Speeds up the network of a job's machine. Kernels are those of ScenarioCosts.
  void ApplyTo(workload::Job& job) const;

  /// Sets slow ranks, faults and jitter.
  void ApplyTo(SimulationOptions& options) const;

  /// The speedups, one phrase each: "GEMMs are 2 times as fast". WhatIfs has the others.
  [[nodiscard]] std::vector<std::string> SpeedupPhrases() const;
};

/// Returns false for parts that only recorded steps have: single kernels and operators, the host
/// and the lateness of a rank.
[[nodiscard]] bool IsOfSimulatedStep(trace::Part part);

/// Returns true if a part changes ScenarioCosts, not the machine.
[[nodiscard]] bool IsOfKernels(trace::Part part);

/// Kernels as a scenario has them: classes as many times as fast as it says; with more FLOP/s or
/// HBM bandwidth as much shorter as their roofline gets.
class ScenarioCosts : public kernel::CostModel {
 public:
  /// Both must outlive this object.
  ScenarioCosts(const kernel::CostModel& costs, const Scenario& scenario);

  using kernel::CostModel::Predict;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
               std::span<kernel::Estimate> estimates) const override;

 private:
  const kernel::CostModel& costs_;
  double flops_ = 1;
  double memory_ = 1;
  std::array<double, kernel::kNumOperatorKinds> of_kind_{};
};

}  // namespace orrery::simulate
