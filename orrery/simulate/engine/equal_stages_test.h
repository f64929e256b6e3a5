#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/jobs_test.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

// Pipelines of equal stages, for which closed forms are published.

namespace orrery::simulate {

/// Communication costs nothing.
class FreeTimes : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row&,
                                                std::span<const network::GpuId>) override {
    return 0;
  }
};

/// Times of the kernels of a chunk.
struct PassTimes {
  std::int64_t forward_ps = 10;
  std::int64_t inputs_ps = 10;   // gradients of inputs
  std::int64_t weights_ps = 10;  // gradients of weights
  std::int64_t update_ps = 0;    // the optimizer, once a step on each device
};

/// Equal stages: blocks take these times, all else is free. One block for each chunk of a device.
inline workload::Ensemble EqualStages(const workload::PipelineShape& shape,
                                      const PassTimes& times = {}) {
  using workload::Phase;
  workload::Transformer model = workload::Gpt({.hidden = 64,
                                               .layers = std::int64_t{shape.stages} * shape.chunks,
                                               .heads = 4,
                                               .vocabulary = 64});
  model.is_tied = false;
  workload::Plan plan;
  plan.pp = shape.stages;
  plan.schedule = shape.schedule;
  plan.chunks = shape.chunks;
  const workload::Job job = workload::JobOf({.model = {"equal", model},
                                             .plan = plan,
                                             .sequence = 64,
                                             .microbatches = shape.microbatches});
  using enum workload::PipelineSchedule;
  const bool is_split = shape.schedule == kZeroBubbleH1 || shape.schedule == kZeroBubble2p ||
                        shape.schedule == kZeroBubbleV;
  workload::GeneratedJob generated = *workload::Generate(job, workload::EqualCosts());
  for (workload::Program& program : generated.ensemble.programs) {
    int products = 0;
    bool is_updated = false;
    bool is_for_weights = false;  // the next product of a whole backward pass
    for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
      std::int64_t& duration_ps = program.tasks.duration_ps[task];
      duration_ps = 0;
      if (program.tasks.kind[task] != workload::TaskKind::kKernel) {
        continue;
      }
      const workload::PartId part = program.tasks.part[task];
      const Phase phase = part == workload::kNone ? Phase::kOther : program.parts.phase[part];
      if (phase == Phase::kOptimizer) {
        duration_ps = std::exchange(is_updated, true) ? 0 : times.update_ps;
      }
      // The projection has one product forward, one for its input and one for its weight.
      if (program.strings.View(program.tasks.name[task]) != "projection") {
        continue;
      }
      ++products;
      if (phase == Phase::kForward) {
        duration_ps = times.forward_ps;
      } else if (is_split) {
        duration_ps = phase == Phase::kBackward ? times.inputs_ps : times.weights_ps;
      } else {
        duration_ps = is_for_weights ? times.weights_ps : times.inputs_ps;
        is_for_weights = !is_for_weights;
      }
    }
    EXPECT_EQ(products, 3 * shape.chunks * shape.microbatches);
  }
  return std::move(generated.ensemble);
}

}  // namespace orrery::simulate
