#include "orrery/workload/generate/generate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/math/normal_distribution.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/power.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/embedded_attention_kernels.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/process_groups.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/generate/unit_pricing.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
#include "orrery/workload/program.h"

namespace orrery::workload {
namespace {

class GroupWriter {
 public:
  GroupWriter(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble)
      : plan_(plan), shape_(shape), ensemble_(ensemble) {}

  void AddAll() {
    using enum GroupRole;
    for (const GroupRole role : {kTensor, kContext, kContextRing, kData, kReplicas, kExpertTensor,
                                 kExperts, kExpertData, kExpertReplicas, kAll}) {
      AddGroups(role);
    }
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      Set(rank, kTables, ensemble_.GroupOf(rank, static_cast<std::uint32_t>(kAll)));
    }
    AddGroups(kTied);
    if (plan_.pp > 1) {
      AddMessages();
    }
  }

 private:
  // Each rank without a group on the role starts one.
  void AddGroups(GroupRole role) {
    if (!HasGroups(plan_, role)) {
      return;
    }
    std::vector<Rank> members;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      if (ensemble_.GroupOf(rank, static_cast<std::uint32_t>(role)) != kNoGroup) {
        continue;
      }
      MembersOf(plan_, role, PlaceOfRank(plan_, rank), members);
      if (std::ranges::find(members, rank) != members.end()) {
        ensemble_.AddGroup(members, static_cast<std::uint32_t>(role));
      }
    }
  }

  void Set(Rank rank, GroupRole role, GroupId group) {
    ensemble_.SetGroup(rank, static_cast<std::uint32_t>(role), group);
  }

  // A pair for each direction of each pass between neighbours; a ring if layers continue from the
  // last device on the first.
  void AddMessages() {
    const bool is_ring = shape_.schedule == PipelineSchedule::kInterleaved;
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      RankPlace place = PlaceOfRank(plan_, rank);
      if (place.pp + 1 == plan_.pp && !is_ring) {
        continue;
      }
      place.pp = (place.pp + 1) % plan_.pp;
      const Rank next = RankAt(plan_, place);
      AddPair(rank, GroupRole::kNextForwardOut, next, GroupRole::kPreviousForwardIn);
      AddPair(next, GroupRole::kPreviousBackwardOut, rank, GroupRole::kNextBackwardIn);
      AddPair(next, GroupRole::kPreviousForwardOut, rank, GroupRole::kNextForwardIn);
      AddPair(rank, GroupRole::kNextBackwardOut, next, GroupRole::kPreviousBackwardIn);
    }
  }

  void AddPair(Rank from, GroupRole out, Rank to, GroupRole in) {
    const GroupId group = ensemble_.AddGroup(std::array<Rank, 2>{from, to});
    Set(from, out, group);
    Set(to, in, group);
  }

  const Plan& plan_;
  const PipelineShape& shape_;
  Ensemble& ensemble_;
};

// Gives the ranks with `gpu` programs of their own, numbered after the existing ones. Returns the
// stages that these ranks run.
std::vector<ProgramId> StagesOn(const hardware::Gpu& gpu, const Job& job,
                                const std::vector<ProgramId>& stage_of_rank, Ensemble& ensemble) {
  const auto has_gpu = [&](Rank rank) { return GpuOfRank(job, rank).name == gpu.name; };
  std::map<ProgramId, ProgramId> program_of_stage;
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    if (has_gpu(rank)) {
      program_of_stage[stage_of_rank[rank]] = 0;
    }
  }
  std::vector<ProgramId> stages;
  for (auto& [stage, program] : program_of_stage) {
    program = static_cast<ProgramId>(ensemble.programs.size() + stages.size());
    stages.push_back(stage);
  }
  for (Rank rank = 0; rank < ensemble.num_ranks(); ++rank) {
    if (has_gpu(rank)) {
      ensemble.program_of_rank[rank] = program_of_stage[stage_of_rank[rank]];
    }
  }
  return stages;
}

// A launched operation is two tasks.
std::int64_t NumTasks(const std::vector<LayerOp>& ops) {
  const auto launched =
      std::ranges::count_if(ops, [](const LayerOp& op) { return op.launches > 0; });
  return std::ssize(ops) + launched;
}

// Of one micro-batch, with the gathers of parameters and the reduction of gradients.
std::int64_t NumTasks(const UnitOps& unit, const Job& job, bool recomputes) {
  const bool reduces_each = ReducesEachPass(job.plan);
  constexpr std::int64_t kGathersAndReduction = 6;  // two gathers and a reduction with launches
  return NumTasks(unit.forward) + NumTasks(recomputes ? unit.forward : unit.recompute) +
         NumTasks(unit.backward) + (reduces_each ? kGathersAndReduction : 0);
}

// Writes programs for one kind of GPU.
Status AddPrograms(const Job& job, const kernel::CostModel& costs, const PipelineShape& shape,
                   const ModelUnits& units, const std::vector<ProgramId>& stages,
                   GeneratedJob& generated) {
  UnitPricing pricing(job, costs, units.kinds, CountUnits(units, stages));
  for (const ProgramId program : stages) {
    std::vector<LayerOp> optimizer =
        OptimizerOps(job, StageTensors{&units.stages[program], &units.tensors});
    pricing.Price(optimizer);
    ORRERY_TRY(Program written,
               WriteStageProgram({.job = job,
                                  .shape = shape,
                                  .model = units,
                                  .kinds = pricing.kinds(),
                                  .program = program,
                                  .stage = shape.stages > 1 ? static_cast<int>(program) : 0,
                                  .optimizer = std::move(optimizer)}));
    generated.ensemble.programs.push_back(std::move(written));
  }
  generated.coverage.push_back(pricing.coverage());
  generated.power.push_back(pricing.PowerOf(static_cast<double>(job.microbatches()) /
                                            static_cast<double>(stages.size())));
  return {};
}

}  // namespace

PipelineShape PipelineShapeOf(const Job& job) {
  PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  shape.pairs_passes = shape.schedule == PipelineSchedule::kInterleaved && job.plan.ep > 1 &&
                       job.framework.overlaps_experts;
  return shape;
}

Result<std::int64_t> EstimateTasks(const Job& job) {
  const PipelineShape shape = PipelineShapeOf(job);
  ORRERY_TRY(const ModelUnits units, UnitsOf(job, shape));
  std::int64_t tasks_of_microbatch = 0;
  for (const StageUnits& stage : units.stages) {
    for (const std::vector<StageUnit>& chunk : stage) {
      for (const StageUnit& unit : chunk) {
        tasks_of_microbatch += NumTasks(units.kinds[unit.kind], job, unit.recomputes);
      }
    }
  }
  // DualPipe's chunks are two copies, each of which gets half of the micro-batches.
  const bool has_copies = shape.schedule == PipelineSchedule::kDualPipe;
  tasks_of_microbatch /= has_copies ? 2 : 1;
  // Messages of a pass, and the passes that schedules plan for micro-batches that do not exist.
  const std::int64_t passes =
      std::max<std::int64_t>(shape.microbatches, shape.stages) * shape.stages * shape.chunks;
  constexpr std::int64_t kMessages = 8;  // received and sent, forward and backward, launched
  return tasks_of_microbatch * shape.microbatches + (shape.stages > 1 ? kMessages * passes : 0);
}

Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs) {
  const PipelineShape shape = PipelineShapeOf(job);
  ORRERY_TRY(ModelUnits units, UnitsOf(job, shape));
  units.tied_bytes.resize(units.stages.size());
  units.table_bytes.resize(units.stages.size());
  GeneratedJob generated;
  const int ranks = job.plan.tp * job.plan.cp * job.plan.dp * job.plan.pp;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks); ++rank) {
    // A rank runs the program of its pipeline stage.
    generated.ensemble.AddRank(static_cast<ProgramId>(PlaceOfRank(job.plan, rank).pp), rank);
  }
  generated.ensemble.SetRoles(kNumGroupRoles);
  GroupWriter(job.plan, shape, generated.ensemble).AddAll();
  if (!units.program_of_rank.empty()) {
    generated.ensemble.program_of_rank = std::move(units.program_of_rank);
  }
  Ensemble& ensemble = generated.ensemble;
  if (job.other_gpus.empty()) {
    std::vector<ProgramId> stages(units.stages.size());
    std::iota(stages.begin(), stages.end(), 0);
    ORRERY_TRY_STATUS(AddPrograms(job, costs, shape, units, stages, generated));
    return generated;
  }
  const std::vector<ProgramId> stage_of_rank = ensemble.program_of_rank;
  for (const GpuCount& count : GpusOf(job)) {
    const std::vector<ProgramId> stages = StagesOn(*count.gpu, job, stage_of_rank, ensemble);
    if (!stages.empty()) {
      Job job_on_gpu = job;
      job_on_gpu.gpu = *count.gpu;
      ensemble.stage_of_program.insert(ensemble.stage_of_program.end(), stages.begin(),
                                       stages.end());
      ORRERY_TRY_STATUS(AddPrograms(job_on_gpu, costs, shape, units, stages, generated));
    }
  }
  return generated;
}

}  // namespace orrery::workload
