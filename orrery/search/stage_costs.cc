#include "orrery/search/stage_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/search/collective_memo.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/generate/unit_pricing.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::search {
namespace {

using workload::GroupRole;
using workload::Job;
using workload::LayerOp;
using Part = OperationChain::Part;

constexpr std::size_t kMostModels = 64;  // that are remembered

// Roles whose groups layers communicate in.
constexpr std::array<GroupRole, 5> kLayerRoles{GroupRole::kTensor, GroupRole::kContext,
                                               GroupRole::kContextRing, GroupRole::kExperts,
                                               GroupRole::kExpertTensor};

bool IsSkipped(const LayerOp& op, Part part) {
  return (part == Part::kWithoutWeights && op.is_wgrad) ||
         (part == Part::kWeightsOnly && !op.is_wgrad);
}

std::int64_t HostPs(const Job& job, std::span<const LayerOp> ops) {
  std::int64_t sum_ps = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    sum_ps += ops[i].launches > 0 ? workload::LaunchPs(job, ops[i], i == 0) : 0;
  }
  return sum_ps;
}

// The busiest rank of a layer and micro-batch has at least the mean of all ranks, while layers are
// estimated for the busiest one on average. Loads are rounded to 1/256.
double LeastLoad(const Job& job) {
  const double mean = job.plan.token_imbalance;
  return mean > 1 ? std::max(0.0, 1 / mean - 1.0 / 256) : 1;
}

std::uint32_t NumGroups(const workload::UnitOps& ops, std::span<const PlacedGroup> groups) {
  std::set<GroupRole> roles;
  for (const auto* list : {&ops.forward, &ops.backward}) {
    for (const LayerOp& op : *list) {
      if (op.communication &&
          groups[static_cast<std::size_t>(op.communication->role)].gpus.size() > 1) {
        roles.insert(op.communication->role);
      }
    }
  }
  return static_cast<std::uint32_t>(roles.size());
}

UnitTimes TimesOf(const Job& job, const workload::UnitOps& ops, const OperationChain& chain) {
  UnitTimes times;
  times.computing = {.forward_ps = chain.ComputingPs(ops.forward, Part::kAll),
                     .again_ps = chain.ComputingPs(ops.recompute, Part::kAll),
                     .backward_ps = chain.ComputingPs(ops.backward, Part::kAll),
                     .input_ps = chain.ComputingPs(ops.backward, Part::kWithoutWeights),
                     .weights_ps = chain.ComputingPs(ops.backward, Part::kWeightsOnly)};
  const OperationChain::Ends forward = chain.Waiting(ops.forward, Part::kAll);
  const OperationChain::Ends again = chain.Waiting(ops.recompute, Part::kAll);
  const OperationChain::Ends backward = chain.Waiting(ops.backward, Part::kAll);
  const OperationChain::Ends input = chain.Waiting(ops.backward, Part::kWithoutWeights);
  times.waiting = {.forward_ps = forward.all_ps,
                   .again_ps = again.all_ps,
                   .backward_ps = backward.all_ps,
                   .input_ps = input.all_ps,
                   .weights_ps = times.computing.weights_ps};
  times.until_last_kernel = {.forward_ps = forward.last_kernel_ps,
                             .again_ps = again.last_kernel_ps,
                             .backward_ps = backward.last_kernel_ps,
                             .input_ps = input.last_kernel_ps,
                             .weights_ps = times.computing.weights_ps};
  times.host_whole_again_ps = HostPs(job, ops.forward);
  times.host_ps = times.host_whole_again_ps + HostPs(job, ops.backward);
  times.host_again_ps = HostPs(job, ops.recompute);
  return times;
}

}  // namespace

PassTimes& PassTimes::operator+=(const PassTimes& other) {
  forward_ps += other.forward_ps;
  again_ps += other.again_ps;
  backward_ps += other.backward_ps;
  input_ps += other.input_ps;
  weights_ps += other.weights_ps;
  return *this;
}

PassTimes UnitTimes::Of(bool recomputes, bool waits) const {
  PassTimes times = waits ? waiting : computing;
  times.again_ps = recomputes ? times.forward_ps : times.again_ps;
  return times;
}

const PlacedGroup& StagedPlan::GroupOf(GroupRole role, int stage) const {
  return collectives->GroupOf(job->plan, role, stage);
}

std::int64_t OperationChain::DurationPs(const LayerOp& op) const {
  if (op.op) {
    return op.is_routed
               ? static_cast<std::int64_t>(static_cast<double>(op.cost.duration_ps) * least_load_)
               : op.cost.duration_ps;
  }
  const workload::Communication& communication = *op.communication;
  if (op.is_routed && least_load_ < 1 && communication.kind != CollectiveKind::kAllToAll) {
    return 0;  // has fewer bytes where a layer has a small load
  }
  return collectives_.DurationPs(communication,
                                 groups_[static_cast<std::size_t>(communication.role)]);
}

std::int64_t OperationChain::ComputingPs(std::span<const LayerOp> ops, Part part) const {
  std::int64_t sum_ps = 0;
  for (const LayerOp& op : ops) {
    sum_ps += op.op && !IsSkipped(op, part) ? DurationPs(op) : 0;
  }
  return sum_ps;
}

// As ProgramWriter::Advance lets operations wait for each other.
OperationChain::Ends OperationChain::Waiting(std::span<const LayerOp> ops, Part part) const {
  struct Overlapped {
    std::int64_t end_ps = 0;
    int left = 0;
  };

  std::array<std::int64_t, workload::kNumGroupRoles> free_ps = {};  // of the stream of a role
  std::vector<Overlapped> overlapped;
  std::int64_t computed_ps = 0;
  std::int64_t awaited_ps = 0;
  for (const LayerOp& op : ops) {
    if (IsSkipped(op, part)) {
      continue;
    }
    if (op.op) {
      std::erase_if(overlapped, [&](Overlapped& running) {
        if (running.left > 0) {
          --running.left;
          return false;
        }
        awaited_ps = std::max(awaited_ps, running.end_ps);
        return true;
      });
      computed_ps = std::max(computed_ps, awaited_ps) + DurationPs(op);
      continue;
    }
    std::int64_t& stream_ps = free_ps[static_cast<std::size_t>(op.communication->role)];
    stream_ps = std::max({stream_ps, computed_ps, awaited_ps}) + DurationPs(op);
    if (op.communication->overlapped_ops == 0) {
      awaited_ps = stream_ps;
    } else {
      overlapped.push_back({stream_ps, op.communication->overlapped_ops});
    }
  }
  std::int64_t end_ps = std::max(computed_ps, awaited_ps);
  for (const Overlapped& running : overlapped) {
    end_ps = std::max(end_ps, running.end_ps);
  }
  return {.all_ps = end_ps, .last_kernel_ps = computed_ps};
}

Result<const StagedPlan*> StageCosts::Of(const Job& job, std::size_t base) {
  const workload::Plan& plan = job.plan;
  plan_.job = &job;
  plan_.shape = workload::PipelineShapeOf(job);
  ORRERY_TRY(plan_.collectives, CollectivesOf(job, base));
  plan_.collectives->ForgetGroups();
  const auto flag = [](bool is_on) { return is_on ? std::int64_t{1} : 0; };
  std::int64_t parts = 0;
  for (const workload::RecomputedPartName& part : workload::kRecomputedPartNames) {
    parts = parts * 2 + flag(plan.recompute_parts.*part.member);
  }
  const LayerKey key{static_cast<std::int64_t>(base),
                     plan.tp,
                     plan.cp,
                     static_cast<std::int64_t>(plan.context),
                     plan.ulysses_ranks,
                     plan.ep,
                     plan.expert_tp,
                     static_cast<std::int64_t>(plan.dispatch),
                     flag(plan.sequence_parallel),
                     job.training.micro_batch,
                     static_cast<std::int64_t>(plan.recompute),
                     parts,
                     flag(job.model.transformer()->is_tied && workload::HasEndsApart(plan_.shape)),
                     flag(job.framework.copies_shards && workload::ReshardsAfterForward(plan))};
  ORRERY_TRY(plan_.units, UnitsOf(job, plan_.shape, key));
  plan_.priced = &PricedOf(job, *plan_.units, key);
  AddTimes(plan_);
  return &plan_;
}

Result<CollectiveMemo*> StageCosts::CollectivesOf(const Job& job, std::size_t base) {
  auto& [machine, memo] = collectives_[base];
  if (memo == nullptr) {
    machine = job;
    ORRERY_TRY(memo, CollectiveMemo::Of(machine));
  }
  return memo.get();
}

Result<workload::ModelUnits*> StageCosts::UnitsOf(const Job& job,
                                                  const workload::PipelineShape& shape,
                                                  const LayerKey& key) {
  if (const auto known = units_of_key_.find(key); known != units_of_key_.end()) {
    ORRERY_TRY_STATUS(workload::AssignUnits(job, shape, known->second));
    return &known->second;
  }
  if (units_of_key_.size() >= kMostModels) {
    units_of_key_.clear();
  }
  ORRERY_TRY(workload::ModelUnits units, workload::UnitsOf(job, shape));
  return &units_of_key_.emplace(key, std::move(units)).first->second;
}

PricedModel& StageCosts::PricedOf(const Job& job, const workload::ModelUnits& units,
                                  const LayerKey& key) {
  std::vector<workload::ProgramId> stages(units.stages.size());
  std::iota(stages.begin(), stages.end(), 0);
  const std::vector<workload::UnitCount> counts = workload::CountUnits(units, stages);
  std::vector<std::int64_t> numbers;
  for (const workload::UnitCount& count : counts) {
    numbers.push_back(static_cast<std::int64_t>(count.kind * 2) + (count.recomputes ? 1 : 0));
    numbers.push_back(count.units);
  }
  if (priced_of_key_.size() >= kMostModels && !priced_of_key_.contains({key, numbers})) {
    priced_of_key_.clear();
  }
  PricedModel& priced = priced_of_key_[{key, std::move(numbers)}];
  if (priced.pricing == nullptr) {
    priced.job = job;
    priced.pricing =
        std::make_unique<workload::UnitPricing>(priced.job, costs_, units.kinds, counts);
    priced.power = priced.pricing->PowerOf(1);
  }
  return priced;
}

void StageCosts::AddTimes(StagedPlan& plan) const {
  const Job& job = *plan.job;
  // Stages of whole islands have their groups on the same links.
  const int ranks = job.plan.tp * job.plan.cp * job.plan.dp;
  const bool is_alike =
      !job.plan.pipeline_is_innermost && ranks % std::max(job.cluster.island.gpus, 1) == 0;
  plan.unit_times.clear();
  for (int stage = 0; stage < plan.shape.stages; ++stage) {
    if (stage > 0 && is_alike) {
      plan.unit_times.push_back(plan.unit_times.front());
      continue;
    }
    std::vector<PlacedGroup> groups(workload::kNumGroupRoles);
    std::vector<std::uint64_t> links;
    for (const GroupRole role : kLayerRoles) {
      PlacedGroup& group = groups[static_cast<std::size_t>(role)];
      group = plan.GroupOf(role, stage);
      links.push_back(group.link_class);
    }
    std::vector<UnitTimes>& times = plan.priced->times_of_links[std::move(links)];
    if (times.empty()) {
      const OperationChain chain(groups, *plan.collectives, LeastLoad(job));
      for (const workload::UnitOps& ops : plan.priced->pricing->kinds()) {
        times.push_back(TimesOf(job, ops, chain));
        times.back().num_groups = NumGroups(ops, groups);
      }
    }
    plan.unit_times.push_back(&times);
  }
}

}  // namespace orrery::search
