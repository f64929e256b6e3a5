#include "orrery/workload/generate/generate.h"

#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/optimizer_ops.h"
#include "orrery/workload/generate/stage_program.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/other_gpus.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {
namespace {

// The coordinates of a rank in the plan.
struct RankPlace {
  int tp = 0;
  int cp = 0;
  int dp = 0;
  int pp = 0;
};

RankPlace PlaceOfRank(const Plan& plan, Rank rank) {
  int rest = static_cast<int>(rank);
  RankPlace place;
  place.tp = rest % plan.tp;
  rest /= plan.tp;
  place.cp = rest % plan.cp;
  rest /= plan.cp;
  if (plan.pipeline_is_innermost) {
    place.pp = rest % plan.pp;
    place.dp = rest / plan.pp;
  } else {
    place.dp = rest % plan.dp;
    place.pp = rest / plan.dp;
  }
  return place;
}

Rank RankAt(const Plan& plan, const RankPlace& place) {
  const int outer =
      plan.pipeline_is_innermost ? place.pp + plan.pp * place.dp : place.dp + plan.dp * place.pp;
  return static_cast<Rank>(place.tp + plan.tp * (place.cp + plan.cp * outer));
}

class GroupWriter {
 public:
  GroupWriter(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble)
      : plan_(plan), shape_(shape), ensemble_(ensemble) {}

  void AddAll() {
    AddGroups(GroupRole::kTensor, plan_.tp, [this](int i, RankPlace place) {
      place.tp = i;
      return RankAt(plan_, place);
    });
    AddContextGroups();
    AddDataGroups();
    AddExpertGroups();
    AddGroups(GroupRole::kAll, plan_.tp * plan_.cp * plan_.dp * plan_.pp,
              [](int i, const RankPlace&) { return static_cast<Rank>(i); });
    AddTables();
    if (plan_.pp > 1) {
      AddGroups(GroupRole::kTied, 2, [this](int i, RankPlace place) {
        place.pp = i == 0 ? 0 : plan_.pp - 1;
        return RankAt(plan_, place);
      });
      AddMessages();
    }
  }

 private:
  using MemberOf = std::function<Rank(int index, const RankPlace& place)>;

  // Each rank without a group on the role starts one with the ranks that `member` gives.
  void AddGroups(GroupRole role, int size, const MemberOf& member) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      if (ensemble_.GroupOf(rank, static_cast<std::uint32_t>(role)) != kNoGroup) {
        continue;
      }
      const RankPlace place = PlaceOfRank(plan_, rank);
      bool is_member = false;
      for (int i = 0; i < size; ++i) {
        members[static_cast<std::size_t>(i)] = member(i, place);
        is_member = is_member || members[static_cast<std::size_t>(i)] == rank;
      }
      if (is_member) {
        ensemble_.AddGroup(members, static_cast<std::uint32_t>(role));
      }
    }
  }

  void Set(Rank rank, GroupRole role, GroupId group) {
    ensemble_.SetGroup(rank, static_cast<std::uint32_t>(role), group);
  }

  // All context-parallel ranks, or Ulysses groups of neighbours and rings across them.
  void AddContextGroups() {
    const bool has_rings = plan_.context == ContextKind::kUlyssesRing;
    const ContextRanks ranks = ContextRanksOf(plan_);
    const int inside = has_rings ? ranks.ulysses : plan_.cp;
    AddGroups(GroupRole::kContext, inside, [&](int i, RankPlace place) {
      place.cp = place.cp / inside * inside + i;
      return RankAt(plan_, place);
    });
    if (has_rings) {
      AddGroups(GroupRole::kContextRing, ranks.ring, [&](int i, RankPlace place) {
        place.cp = place.cp % inside + i * inside;
        return RankAt(plan_, place);
      });
    }
  }

  // Data-parallel ranks count context-parallel ones first; neighbours share one copy of the states.
  void AddDataGroups() {
    const int copies = plan_.dp * plan_.cp;
    const int shard = plan_.shard_ranks > 0 ? plan_.shard_ranks : copies;
    const auto at = [this](int index, RankPlace place) {
      place.cp = index % plan_.cp;
      place.dp = index / plan_.cp;
      return RankAt(plan_, place);
    };
    AddGroups(GroupRole::kData, shard, [&](int i, const RankPlace& place) {
      const int own = place.cp + plan_.cp * place.dp;
      return at(own / shard * shard + i, place);
    });
    if (shard < copies) {
      AddGroups(GroupRole::kReplicas, copies / shard, [&](int i, const RankPlace& place) {
        const int own = place.cp + plan_.cp * place.dp;
        return at(own % shard + i * shard, place);
      });
    }
  }

  // The same groups as kAll.
  void AddTables() {
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      Set(rank, GroupRole::kTables,
          ensemble_.GroupOf(rank, static_cast<std::uint32_t>(GroupRole::kAll)));
    }
  }

  // Inside a stage, ranks count tp, cp, dp; expert groups divide them independently.
  void AddExpertGroups() {
    const int ranks = plan_.tp * plan_.cp * plan_.dp;
    const int etp = plan_.expert_tp;
    const int ep = plan_.ep;
    const auto own = [this](const RankPlace& place) {
      return place.tp + plan_.tp * (place.cp + plan_.cp * place.dp);
    };
    const auto at = [this](int index, RankPlace place) {
      place.tp = index % plan_.tp;
      place.cp = index / plan_.tp % plan_.cp;
      place.dp = index / plan_.tp / plan_.cp;
      return RankAt(plan_, place);
    };
    AddGroups(GroupRole::kExpertTensor, etp,
              [&](int i, const RankPlace& place) { return at(own(place) / etp * etp + i, place); });
    AddGroups(GroupRole::kExperts, ep, [&](int i, const RankPlace& place) {
      const int index = own(place);
      return at(index / (etp * ep) * etp * ep + i * etp + index % etp, place);
    });
    AddGroups(GroupRole::kExpertData, ranks / (etp * ep), [&](int i, const RankPlace& place) {
      return at(own(place) % (etp * ep) + i * etp * ep, place);
    });
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

// Adds the ranks of a plan, each on its GPU, and their groups. A rank runs the program of its
// pipeline stage.
void AddRanks(const Plan& plan, const PipelineShape& shape, Ensemble& ensemble) {
  const int ranks = plan.tp * plan.cp * plan.dp * plan.pp;
  for (Rank rank = 0; rank < static_cast<Rank>(ranks); ++rank) {
    ensemble.AddRank(static_cast<ProgramId>(PlaceOfRank(plan, rank).pp), rank);
  }
  ensemble.SetRoles(kNumGroupRoles);
  GroupWriter(plan, shape, ensemble).AddAll();
}

// Writes programs for one kind of GPU.
class GpuPrograms {
 public:
  GpuPrograms(const Job& job, const kernel::CostModel& costs, const PipelineShape& shape,
              const ModelUnits& units)
      : job_(job), shape_(shape), units_(units), pricing_(job, costs), kinds_(units.kinds) {
    for (UnitOps& unit : kinds_) {
      pricing_.Price(unit.forward);
      pricing_.Price(unit.recompute);
      pricing_.Price(unit.backward);
    }
  }

  Result<Program> Write(ProgramId program) {
    std::vector<LayerOp> optimizer =
        OptimizerOps(job_, StageTensors{&units_.stages[program], &units_.tensors});
    pricing_.Price(optimizer);
    return WriteStageProgram({.job = job_,
                              .shape = shape_,
                              .model = units_,
                              .kinds = kinds_,
                              .program = program,
                              .stage = shape_.stages > 1 ? static_cast<int>(program) : 0,
                              .optimizer = std::move(optimizer)});
  }

  [[nodiscard]] const PriceCoverage& coverage() const { return pricing_.coverage(); }

 private:
  const Job& job_;
  const PipelineShape& shape_;
  const ModelUnits& units_;
  OpPricing pricing_;
  std::vector<UnitOps> kinds_;  // with costs
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

// The inputs of all programs, independent of the GPU.
struct ProgramSource {
  const kernel::CostModel& costs;
  const PipelineShape& shape;
  const ModelUnits& units;
};

Status AddPrograms(const Job& job, const ProgramSource& source,
                   const std::vector<ProgramId>& stages, GeneratedJob& generated) {
  GpuPrograms programs(job, source.costs, source.shape, source.units);
  for (const ProgramId stage : stages) {
    ORRERY_TRY(Program written, programs.Write(stage));
    generated.ensemble.programs.push_back(std::move(written));
  }
  generated.coverage.push_back(programs.coverage());
  return {};
}

Status AddMixedPrograms(const Job& job, const ProgramSource& source, GeneratedJob& generated) {
  Ensemble& ensemble = generated.ensemble;
  const std::vector<ProgramId> stage_of_rank = ensemble.program_of_rank;
  for (const GpuCount& count : GpusOf(job)) {
    const std::vector<ProgramId> stages = StagesOn(*count.gpu, job, stage_of_rank, ensemble);
    if (stages.empty()) {
      continue;
    }
    Job job_on_gpu = job;
    job_on_gpu.gpu = *count.gpu;
    ensemble.stage_of_program.insert(ensemble.stage_of_program.end(), stages.begin(), stages.end());
    ORRERY_TRY_STATUS(AddPrograms(job_on_gpu, source, stages, generated));
  }
  return {};
}

}  // namespace

Result<GeneratedJob> Generate(const Job& job, const kernel::CostModel& costs) {
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  ORRERY_TRY(ModelUnits units, UnitsOf(job, shape));
  units.tied_bytes.resize(units.stages.size());
  units.table_bytes.resize(units.stages.size());
  GeneratedJob generated;
  AddRanks(job.plan, shape, generated.ensemble);
  if (!units.program_of_rank.empty()) {
    generated.ensemble.program_of_rank = std::move(units.program_of_rank);
  }
  const ProgramSource source{costs, shape, units};
  if (!job.other_gpus.empty()) {
    ORRERY_TRY_STATUS(AddMixedPrograms(job, source, generated));
    return generated;
  }
  std::vector<ProgramId> stages(units.stages.size());
  std::iota(stages.begin(), stages.end(), 0);
  ORRERY_TRY_STATUS(AddPrograms(job, source, stages, generated));
  return generated;
}

}  // namespace orrery::workload
