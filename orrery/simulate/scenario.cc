#include "orrery/simulate/scenario.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/simulate/operator_class.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/speedup.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

using trace::Part;

std::string_view Subject(Part part) {
  switch (part) {
    case Part::kNetwork:
      return "NICs and links between GPUs of a node are";
    case Part::kNics:
      return "NICs are";
    case Part::kLinks:
      return "links between GPUs of a node are";
    case Part::kFlops:
      return "the arithmetic of GPUs is";
    case Part::kMemory:
      return "the memory of GPUs is";
    case Part::kCompute:
      return "compute kernels are";
    case Part::kGemm:
      return "GEMMs and convolutions are";
    case Part::kAttention:
      return "attention kernels are";
    case Part::kOptimizer:
      return "optimizer kernels are";
    default:
      return "other compute kernels are";
  }
}

}  // namespace

bool IsOfSimulatedStep(Part part) {
  return part != Part::kKernel && part != Part::kOperator && part != Part::kHost &&
         part != Part::kRank;
}

bool IsOfKernels(Part part) {
  return IsOfSimulatedStep(part) && part != Part::kNetwork && part != Part::kNics &&
         part != Part::kLinks;
}

void Scenario::ApplyTo(workload::Job& job) const {
  for (const trace::Speedup& speedup : speedups) {
    if (speedup.part == Part::kNetwork || speedup.part == Part::kNics) {
      job.cluster.nics.bandwidth.bytes_per_second *= speedup.factor;
    }
    if (speedup.part == Part::kNetwork || speedup.part == Part::kLinks) {
      job.cluster.island.per_gpu.bytes_per_second *= speedup.factor;
    }
  }
}

void Scenario::ApplyTo(SimulationOptions& options) const {
  options.slow_ranks = slow_ranks;
  options.faults = faults;
  options.jitter = jitter;
}

std::vector<std::string> Scenario::SpeedupPhrases() const {
  std::vector<std::string> phrases;
  for (const trace::Speedup& speedup : speedups) {
    phrases.push_back(
        fmt::format("{} {:.6g} times as fast", Subject(speedup.part), speedup.factor));
  }
  return phrases;
}

ScenarioCosts::ScenarioCosts(const kernel::CostModel& costs, const Scenario& scenario)
    : costs_(costs) {
  of_kind_.fill(1);
  for (const trace::Speedup& speedup : scenario.speedups) {
    flops_ *= speedup.part == Part::kFlops ? speedup.factor : 1;
    memory_ *= speedup.part == Part::kMemory ? speedup.factor : 1;
    for (std::size_t kind = 0; kind < of_kind_.size(); ++kind) {
      const Part part = trace::PartOf(ClassOf(static_cast<kernel::OperatorKind>(kind)));
      of_kind_[kind] *= speedup.part == Part::kCompute || speedup.part == part ? speedup.factor : 1;
    }
  }
}

void ScenarioCosts::Predict(std::span<const kernel::Operator> operators, const hardware::Gpu& gpu,
                            std::span<kernel::Estimate> estimates) const {
  costs_.Predict(operators, gpu, estimates);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    estimates[i].seconds /= of_kind_[static_cast<std::size_t>(operators[i].kind())];
    if (flops_ != 1 || memory_ != 1) {
      const kernel::Bound bound = kernel::BoundOf(operators[i], kernel::WorkOf(operators[i]), gpu);
      const double before = std::max(bound.compute_seconds, bound.memory_seconds);
      const double after = std::max(bound.compute_seconds / flops_, bound.memory_seconds / memory_);
      estimates[i].seconds *= before > 0 ? after / before : 1;
    }
  }
}

}  // namespace orrery::simulate
