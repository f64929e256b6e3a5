#include "orrery/search/memory_bound.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/search/stage_costs.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::search {
namespace {

using workload::PipelinePass;
using workload::PipelineStep;
using workload::StageUnit;
using workload::UnitMemory;

bool IsForward(const InFlight& moment) {
  return moment.step.pass == PipelinePass::kForward;
}

// Returns true if `other` holds at least as much for any memory per chunk.
bool IsCovered(const InFlight& moment, const InFlight& other) {
  if (moment.step.chunk != other.step.chunk || moment.step.pass != other.step.pass) {
    return false;
  }
  for (std::size_t chunk = 0; chunk < moment.kept.size(); ++chunk) {
    if (moment.kept[chunk] > other.kept[chunk] || moment.deferred[chunk] > other.deferred[chunk]) {
      return false;
    }
  }
  return true;
}

void AddMoment(const InFlight& moment, std::vector<InFlight>& fullest) {
  for (const InFlight& other : fullest) {
    if (IsCovered(moment, other)) {
      return;
    }
  }
  std::erase_if(fullest, [&](const InFlight& other) { return IsCovered(other, moment); });
  fullest.push_back(moment);
}

/// The memory of one chunk.
class ChunkMemory {
 public:
  ChunkMemory(const StagedPlan& plan, const std::vector<StageUnit>& units) {
    std::int64_t kept = 0;
    for (const StageUnit& unit : units) {
      const UnitMemory& memory = plan.units->memory[unit.kind];
      const std::int64_t whole = memory.Kept(unit.recomputes);
      const std::int64_t own =
          whole - (memory.is_offloadable ? workload::OffloadedBytes(whole, plan.job->plan) : 0);
      const std::int64_t gathered = GatheredBytes(plan, unit);
      kept += own + memory.logits;
      deferred_ += memory.weight_inputs;
      forward_ = std::max(forward_, kept + memory.logits_copy + gathered);
      backward_ = std::max(
          backward_, kept + memory.whole - own + memory.working + memory.logits_copy + gathered);
    }
    kept_ = kept;
  }

  [[nodiscard]] std::int64_t kept() const { return kept_; }

  [[nodiscard]] std::int64_t deferred() const { return deferred_; }

  /// At the fullest instant of a pass of one micro-batch, beside the others.
  [[nodiscard]] std::int64_t Peak(PipelinePass pass) const {
    switch (pass) {
      case PipelinePass::kForward:
        return forward_;
      case PipelinePass::kBackward:
      case PipelinePass::kInputBackward:
        return backward_;
      case PipelinePass::kWeightBackward:
        return deferred_;
    }
    return 0;
  }

 private:
  static std::int64_t GatheredBytes(const StagedPlan& plan, const StageUnit& unit) {
    const workload::Plan& own = plan.job->plan;
    if (!workload::ShardsParameters(own) || !workload::ReshardsAfterForward(own)) {
      return 0;
    }
    return workload::GatheredBytes(plan.units->tensors[unit.kind].parameters().dense,
                                   plan.job->training);
  }

  std::int64_t kept_ = 0;
  std::int64_t deferred_ = 0;
  std::int64_t forward_ = 0;
  std::int64_t backward_ = 0;
};

// States, buffers of communicators and the context.
std::int64_t HeldBytes(const StagedPlan& plan, int stage) {
  const workload::Job& job = *plan.job;
  const auto index = static_cast<std::size_t>(stage);
  const workload::StageUnits& units = plan.units->stages[index];
  const workload::StageParameters parameters =
      workload::StageTensors{&units, &plan.units->tensors}.Parameters();
  const workload::StateBytes states =
      workload::StatesOf(parameters.trained, job.plan, job.training);
  std::uint32_t groups = 0;
  for (const std::vector<StageUnit>& chunk : units) {
    for (const StageUnit& unit : chunk) {
      groups = std::max(groups, (*plan.unit_times[index])[unit.kind].num_groups);
    }
  }
  groups += job.plan.pp > 1 ? 1 : 0;
  groups += workload::DenseReplicas(job.plan) > 1 && parameters.trained.dense > 0 ? 1 : 0;
  const workload::MemoryConstants& constants = workload::DefaultMemoryConstants();
  return states.on_gpu() + workload::HeldFrozenBytes(parameters.frozen_bytes, job.plan) +
         constants.context_bytes + constants.communicator_bytes * groups;
}

}  // namespace

std::vector<InFlight> FullestMoments(const workload::PipelineShape& shape, int stage) {
  const Result<std::vector<PipelineStep>> steps = workload::ScheduleOf(shape, stage);
  std::vector<InFlight> fullest;
  if (!steps) {
    return fullest;
  }
  InFlight now;
  now.kept.assign(static_cast<std::size_t>(shape.chunks), 0);
  now.deferred = now.kept;
  for (std::size_t i = 0; i < steps->size(); ++i) {
    const PipelineStep& step = (*steps)[i];
    const auto chunk = static_cast<std::size_t>(step.chunk);
    now.step = {.pass = step.pass, .chunk = step.chunk};
    // The micro-batch of the pass itself is counted by ChunkMemory::Peak.
    InFlight others = now;
    if (step.pass == PipelinePass::kWeightBackward) {
      --others.deferred[chunk];
    } else if (!IsForward(others)) {
      --others.kept[chunk];
    }
    // Of two passes that run together, one frees units while the other takes them.
    if (step.runs_with_next) {
      --others.kept[static_cast<std::size_t>((*steps)[i + 1].chunk)];
    } else if (i > 0 && (*steps)[i - 1].runs_with_next) {
      --others.kept[static_cast<std::size_t>((*steps)[i - 1].chunk)];
    }
    AddMoment(others, fullest);
    switch (step.pass) {
      case PipelinePass::kForward:
        ++now.kept[chunk];
        break;
      case PipelinePass::kBackward:
        --now.kept[chunk];
        break;
      case PipelinePass::kInputBackward:
        --now.kept[chunk];
        ++now.deferred[chunk];
        break;
      case PipelinePass::kWeightBackward:
        --now.deferred[chunk];
        break;
    }
  }
  return fullest;
}

const std::vector<InFlight>& MemoryBound::MomentsOf(const workload::PipelineShape& shape,
                                                    int stage) {
  std::vector<std::vector<InFlight>>& stages =
      moments_of_shape_[{shape.schedule, shape.stages, shape.chunks, shape.microbatches,
                         shape.pairs_passes}];
  if (stages.empty()) {
    for (int i = 0; i < shape.stages; ++i) {
      stages.push_back(FullestMoments(shape, i));
    }
  }
  return stages[static_cast<std::size_t>(stage)];
}

std::int64_t MemoryBound::StageBytes(const StagedPlan& plan, int stage) {
  std::vector<ChunkMemory> chunks;
  for (const std::vector<StageUnit>& units : plan.units->stages[static_cast<std::size_t>(stage)]) {
    chunks.emplace_back(plan, units);
  }
  std::int64_t most = 0;
  for (const InFlight& moment : MomentsOf(plan.shape, stage)) {
    std::int64_t bytes = chunks[static_cast<std::size_t>(moment.step.chunk)].Peak(moment.step.pass);
    for (std::size_t chunk = 0; chunk < chunks.size(); ++chunk) {
      bytes += moment.kept[chunk] * chunks[chunk].kept() +
               moment.deferred[chunk] * chunks[chunk].deferred();
    }
    most = std::max(most, bytes);
  }
  const double gaps = workload::DefaultMemoryConstants().fragmentation * static_cast<double>(most);
  return HeldBytes(plan, stage) + most + std::llround(gaps);
}

std::int64_t MemoryBound::Bytes(const StagedPlan& plan) {
  std::int64_t most = 0;
  for (int stage = 0; stage < plan.shape.stages; ++stage) {
    most = std::max(most, StageBytes(plan, stage));
  }
  return most;
}

}  // namespace orrery::search
