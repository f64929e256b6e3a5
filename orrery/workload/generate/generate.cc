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
#include "orrery/base/error.h"
#include "orrery/base/normal_distribution.h"
#include "orrery/base/yaml_fields.h"
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
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

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
    for (Rank rank = 0; rank < ensemble_.num_ranks(); ++rank) {
      Set(rank, GroupRole::kTables,
          ensemble_.GroupOf(rank, static_cast<std::uint32_t>(GroupRole::kAll)));
    }
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

struct KernelRate {
  AttentionKernel kernel = AttentionKernel::kFlash;
  std::string generation;
  double rate = 1;
};

constexpr std::array<Spelling<AttentionKernel>, 2> kOlderKernels{{
    {"flash2", AttentionKernel::kFlash2},
    {"flash1", AttentionKernel::kFlash1},
}};

std::vector<KernelRate> ReadRates() {
  std::vector<KernelRate> rates;
  std::optional<Error> error;
  for (const YAML::Node& node : YAML::Load(kEmbeddedAttentionKernels)["attention_kernels"]) {
    YamlFields fields(node, "kernel of attention", error);
    KernelRate rate;
    rate.kernel =
        fields.Choice("kernel", std::span<const Spelling<AttentionKernel>>(kOlderKernels));
    rate.generation = fields.Text("generation");
    rate.rate = fields.Positive("rate");
    fields.RefuseOthers();
    rates.push_back(rate);
  }
  ORRERY_CHECK(!error, error ? error->message() : "");
  return rates;
}

// The speed of an attention kernel relative to the best one on a generation of GPUs
// (data/workload/attention_kernels.yaml); 1 without an entry.
double AttentionKernelRate(AttentionKernel kernel, std::string_view generation) {
  static const std::vector<KernelRate> rates = ReadRates();
  for (const KernelRate& rate : rates) {
    if (rate.kernel == kernel && rate.generation == generation) {
      return rate.rate;
    }
  }
  return 1;
}

constexpr double kPicoseconds = 1e12;
constexpr double kMillion = 1e6;
constexpr std::int64_t kFewColumns = 32;

// The speed of a framework's kernels relative to kernels measured alone.
double RateOf(Category category, const Job& job) {
  const Framework& framework = job.framework;
  switch (category) {
    case Category::kGemm:
    case Category::kExperts:
    case Category::kConvolution:
      return framework.gemm_rate;
    case Category::kAttention:
      return framework.attention_rate *
             AttentionKernelRate(framework.attention, job.gpu.generation);
    default:
      return framework.memory_rate;
  }
}

std::uint32_t Millionths(double share) {
  return static_cast<std::uint32_t>(std::min(share, 1.0) * kMillion);
}

// A launched operation is two tasks.
std::int64_t NumTasks(const std::vector<LayerOp>& ops) {
  const auto launched =
      std::ranges::count_if(ops, [](const LayerOp& op) { return op.launches > 0; });
  return std::ssize(ops) + launched;
}

// Of one micro-batch, with the gathers of parameters and the reduction of gradients.
std::int64_t NumTasks(const UnitOps& unit, const Job& job, bool recomputes) {
  const bool reduces_each = job.plan.dp * job.plan.cp > 1 &&
                            job.plan.sharding != Sharding::kReplicated &&
                            job.plan.sharding != Sharding::kOptimizer;
  constexpr std::int64_t kGathersAndReduction = 6;  // two gathers and a reduction with launches
  return NumTasks(unit.forward) + NumTasks(recomputes ? unit.forward : unit.recompute) +
         NumTasks(unit.backward) + (reduces_each ? kGathersAndReduction : 0);
}

kernel::KernelLoad LoadOf(const LayerOp& op) {
  return {.seconds = static_cast<double>(op.cost.duration_ps) / op.repeats / kPicoseconds,
          .tensor_share = kernel::UsesTensorCores(*op.op) ? op.cost.compute_share / kMillion : 0,
          .memory_share = op.cost.memory_share / kMillion,
          .is_narrow = ElementBytes(op.op->type()) < 2};
}

/// Slows kernels down to the clock that a board keeps for hours.
class Throttle {
 public:
  Throttle(const Job& job, std::span<const ProgramId> stages)
      : clock_(job.gpu), is_on_(job.mechanisms.power), stages_(stages) {}

  /// Counts the kernels of all stages, and finds the clock.
  void Measure(const ModelUnits& units, std::span<const UnitOps> kinds, std::int64_t microbatches) {
    for (const ProgramId stage : stages_) {
      for (const std::vector<StageUnit>& chunk : units.stages[stage]) {
        for (const StageUnit& unit : chunk) {
          const UnitOps& ops = kinds[unit.kind];
          Add(ops.forward, microbatches);
          Add(unit.recomputes ? ops.forward : ops.recompute, microbatches);
          Add(ops.backward, microbatches);
        }
      }
    }
    state_ = clock_.Of(loads_);
  }

  void Apply(std::span<LayerOp> ops) const {
    for (LayerOp& op : ops) {
      if (!op.op || !is_on_) {
        continue;
      }
      const double slowdown = clock_.Slowdown(LoadOf(op), state_.clock);
      op.cost.duration_ps = std::llround(static_cast<double>(op.cost.duration_ps) * slowdown);
      op.cost.memory_share = Millionths(op.cost.memory_share / kMillion / slowdown);
      op.cost.compute_share = Millionths(op.cost.compute_share / kMillion / slowdown);
    }
  }

  [[nodiscard]] StepPower Power() const {
    double seconds = 0;
    for (const kernel::WeightedLoad& weighted : loads_) {
      seconds += weighted.count * weighted.load.seconds *
                 (is_on_ ? clock_.Slowdown(weighted.load, state_.clock) : 1);
    }
    return {.clock = is_on_ ? state_.clock : 1,
            .busy_watts = state_.watts,
            .waiting_watts = clock_.power().idle_w + clock_.power().active_w,
            .busy_seconds = seconds / static_cast<double>(stages_.size()),
            .measured_on = is_on_ ? clock_.power().measured_on : ""};
  }

 private:
  void Add(std::span<const LayerOp> ops, std::int64_t count) {
    for (const LayerOp& op : ops) {
      if (op.op) {
        loads_.push_back({LoadOf(op), static_cast<double>(count * op.repeats)});
      }
    }
  }

  kernel::SustainedClock clock_;
  bool is_on_;
  std::span<const ProgramId> stages_;
  std::vector<kernel::WeightedLoad> loads_;
  kernel::SustainedState state_;
};

// Writes programs for one kind of GPU.
Status AddPrograms(const Job& job, const kernel::CostModel& costs, const PipelineShape& shape,
                   const ModelUnits& units, const std::vector<ProgramId>& stages,
                   GeneratedJob& generated) {
  OpPricing pricing(job, costs);
  std::vector<UnitOps> kinds = units.kinds;
  for (UnitOps& unit : kinds) {
    pricing.Price(unit.forward);
    pricing.Price(unit.recompute);
    pricing.Price(unit.backward);
  }
  Throttle throttle(job, stages);
  throttle.Measure(units, kinds, job.microbatches());
  for (UnitOps& unit : kinds) {
    throttle.Apply(unit.forward);
    throttle.Apply(unit.recompute);
    throttle.Apply(unit.backward);
  }
  for (const ProgramId program : stages) {
    std::vector<LayerOp> optimizer =
        OptimizerOps(job, StageTensors{&units.stages[program], &units.tensors});
    pricing.Price(optimizer);
    throttle.Apply(optimizer);
    ORRERY_TRY(Program written,
               WriteStageProgram({.job = job,
                                  .shape = shape,
                                  .model = units,
                                  .kinds = kinds,
                                  .program = program,
                                  .stage = shape.stages > 1 ? static_cast<int>(program) : 0,
                                  .optimizer = std::move(optimizer)}));
    generated.ensemble.programs.push_back(std::move(written));
  }
  generated.coverage.push_back(pricing.coverage());
  generated.power.push_back(throttle.Power());
  return {};
}

}  // namespace

Result<std::int64_t> EstimateTasks(const Job& job) {
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
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
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
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

OpCost OpPricing::CostOf(const LayerOp& op, const kernel::Estimate& estimate) const {
  const double kernel_seconds =
      estimate.seconds / RateOf(op.category, job_) *
      (1 + job_.framework.spread * ExpectedMaximum(static_cast<std::uint32_t>(job_.gpus)));
  OpCost cost{.duration_ps = std::llround(kernel_seconds * op.repeats * kPicoseconds),
              .operation = static_cast<std::uint8_t>(op.op->kind())};
  if (kernel_seconds <= 0) {
    return cost;
  }
  const kernel::Work work = kernel::WorkOf(*op.op);
  const double bandwidth = job_.gpu.memory.bytes_per_second;
  cost.memory_share = bandwidth > 0 ? Millionths(work.Bytes() / kernel_seconds / bandwidth) : 0;
  cost.compute_share =
      Millionths(kernel::BoundOf(*op.op, work, job_.gpu).compute_seconds / kernel_seconds);
  return cost;
}

std::vector<kernel::Estimate> OpPricing::EstimatesOf(std::span<const LayerOp> ops) const {
  std::vector<kernel::Operator> operators;
  for (const LayerOp& op : ops) {
    if (op.op) {
      operators.push_back(*op.op);
    }
  }
  std::vector<kernel::Estimate> estimates(operators.size());
  costs_.Predict(operators, job_.gpu, estimates);
  for (std::size_t i = 0; i < operators.size(); ++i) {
    if (operators[i].kind() == kernel::OperatorKind::kGemm &&
        ElementBytes(operators[i].type()) < 2) {
      estimates[i].seconds =
          std::max(estimates[i].roofline_seconds, estimates[i].seconds - HiddenCast(operators[i]));
    }
  }
  return estimates;
}

// Tables of serving frameworks time a linear layer: an fp8 GEMM includes the cast of its input,
// which is an operator of its own here. The cast's time shows where the GEMM has little work: with
// few columns, compared with the same GEMM in bf16.
double OpPricing::HiddenCast(const kernel::Operator& gemm) const {
  kernel::Operator slim = gemm;
  slim.Set(kernel::Key::kN, kFewColumns);
  const double narrow = costs_.Predict(slim, job_.gpu).seconds;
  const double wide = costs_.Predict(slim.WithType(DataType::kBf16), job_.gpu).seconds;
  return std::max(0.0, narrow - wide);
}

void OpPricing::Count(const kernel::Estimate& estimate) {
  using kernel::EstimateSource;
  ++coverage_.operators;
  coverage_.extrapolated += estimate.is_extrapolated ? 1 : 0;
  const bool is_by_others =
      estimate.source == EstimateSource::kSibling || estimate.source == EstimateSource::kAllGpus;
  coverage_.by_other_gpus += is_by_others ? 1 : 0;
  coverage_.by_roofline += estimate.source == EstimateSource::kRoofline ? 1 : 0;
  if (estimate.alignment_gpu != nullptr) {
    ++coverage_.unaligned;
    coverage_.alignment_gpu = estimate.alignment_gpu->name;
  }
}

void OpPricing::Price(std::span<LayerOp> ops) {
  const std::vector<kernel::Estimate> estimates = EstimatesOf(ops);
  std::size_t next = 0;
  for (LayerOp& op : ops) {
    if (op.op) {
      const kernel::Estimate& estimate = estimates[next++];
      op.cost = CostOf(op, estimate);
      Count(estimate);
    }
  }
}

}  // namespace orrery::workload
