#include "orrery/workload/plan/sharding.h"

#include <algorithm>

#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

bool IsHybrid(const Plan& plan) {
  return plan.shard_ranks > 0 && plan.sharding != Sharding::kReplicated;
}

}  // namespace

int LayerCopies(const Plan& plan) {
  return plan.schedule == PipelineSchedule::kDualPipe && plan.pp > 1 ? 2 : 1;
}

int DenseReplicas(const Plan& plan) {
  return plan.dp * plan.cp * LayerCopies(plan);
}

int ExpertReplicas(const Plan& plan) {
  return std::max(1, DenseReplicas(plan) * plan.tp / (plan.ep * plan.expert_tp));
}

int DenseShards(const Plan& plan) {
  const int replicas = DenseReplicas(plan);
  return IsHybrid(plan) ? std::min(plan.shard_ranks, replicas) : replicas;
}

int ExpertShards(const Plan& plan) {
  return IsHybrid(plan) ? std::max(1, DenseShards(plan) * plan.tp / (plan.ep * plan.expert_tp))
                        : ExpertReplicas(plan);
}

bool ShardsParameters(const Plan& plan) {
  return DenseReplicas(plan) > 1 &&
         (plan.sharding == Sharding::kParameters || plan.sharding == Sharding::kKeepGathered);
}

bool ReshardsAfterForward(const Plan& plan) {
  const bool reshards =
      plan.reshard == Reshard::kAlways || (plan.reshard == Reshard::kDefault && plan.pp == 1);
  return plan.sharding == Sharding::kParameters && reshards;
}

bool StaysGathered(const Plan& plan) {
  return ShardsParameters(plan) && plan.pp > 1 && !ReshardsAfterForward(plan);
}

bool ReducesEachPass(const Plan& plan) {
  return DenseReplicas(plan) > 1 && plan.sharding >= Sharding::kGradients && !StaysGathered(plan);
}

}  // namespace orrery::workload
