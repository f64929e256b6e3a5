#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Jobs that tests generate, and prices that they can count with.

/// Every operator takes a microsecond.
class EqualCosts : public kernel::CostModel {
 public:
  using kernel::CostModel::Predict;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu&,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {};
      estimates[i].seconds = 1e-6;
    }
  }
};

/// Matrix products and attention take a picosecond for a thousand operations, all else is free.
class CountingCosts : public kernel::CostModel {
 public:
  using kernel::CostModel::Predict;

  static constexpr double kFlopsPerPicosecond = 1000;

  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu&,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {};
      estimates[i].seconds = kernel::IsGemm(operators[i].kind())
                                 ? kernel::WorkOf(operators[i]).flops / kFlopsPerPicosecond * 1e-12
                                 : 0;
    }
  }
};

/// A job on nodes of eight H100s with nothing but what `plan` says; its framework launches for
/// free, spreads nothing and pads nothing.
struct TestJob {
  Model model;
  Plan plan = {};
  std::int64_t sequence = 1024;
  std::int64_t micro_batch = 1;
  std::int64_t microbatches = 1;
};

inline Job JobOf(TestJob test) {
  Job job;
  job.name = "test";
  job.model = std::move(test.model);
  job.plan = std::move(test.plan);
  job.gpus = job.plan.tp * job.plan.cp * job.plan.pp * job.plan.dp;
  job.gpu = *hardware::FindGpu("H100");
  job.cluster = *hardware::FindCluster("H100");
  job.training.sequence = test.sequence;
  job.training.micro_batch = test.micro_batch;
  job.training.global_batch = test.micro_batch * test.microbatches * job.plan.dp;
  job.framework.name = "test";
  job.framework.launch_us = 0;
  job.mechanisms.power = false;  // costs of tests are no times that a board could draw power by
  job.framework.vocabulary_multiple = 1;
  return job;
}

}  // namespace orrery::workload
