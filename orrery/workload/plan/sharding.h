#pragma once

#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// The number of devices of a pipeline that hold the same layers: two in DualPipe, i and p − 1 − i.
[[nodiscard]] int LayerCopies(const Plan& plan);

/// Ranks that hold the same dense parameters: dp · cp, of every copy of the layers.
[[nodiscard]] int DenseReplicas(const Plan& plan);

/// Ranks that hold the same experts: dp · cp · tp / (ep · expert_tp), of every copy of the layers.
[[nodiscard]] int ExpertReplicas(const Plan& plan);

/// Of these, ranks that shard one copy of dense parameters: all, or `shard_ranks` of them (HSDP).
[[nodiscard]] int DenseShards(const Plan& plan);

/// The same of experts: what ep and expert_tp leave of the ranks that shard dense parameters, at
/// least one. Megatron and torchtitan divide them so.
[[nodiscard]] int ExpertShards(const Plan& plan);

/// Returns true if parameters are sharded between passes and gathered unit by unit.
[[nodiscard]] bool ShardsParameters(const Plan& plan);

/// Returns true if gathered parameters are dropped again behind the forward pass of a unit.
[[nodiscard]] bool ReshardsAfterForward(const Plan& plan);

/// Returns true if parameters stay gathered through all micro-batches of a step: they are gathered
/// once, gradients accumulate whole and are reduced once. So in pipelines that do not reshard
/// behind the forward pass, whose micro-batches are in flight together (schedules of PyTorch).
[[nodiscard]] bool StaysGathered(const Plan& plan);

/// Returns true if gradients are reduced to shards after every backward pass of a unit, since no
/// rank has room for whole ones: ZeRO-2, ZeRO-3 and FSDP.
[[nodiscard]] bool ReducesEachPass(const Plan& plan);

}  // namespace orrery::workload
