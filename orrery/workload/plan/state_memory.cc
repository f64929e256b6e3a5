#include "orrery/workload/plan/state_memory.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/round_up.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/workload/embedded_memory.h"

namespace orrery::workload {
namespace {

constexpr int kFp32Bytes = 4;

bool ShardsGradients(Sharding sharding) {
  return sharding == Sharding::kGradients || sharding == Sharding::kParameters ||
         sharding == Sharding::kKeepGathered;
}

StateBytes Sum(const StateBytes& left, const StateBytes& right) {
  return {.parameters = left.parameters + right.parameters,
          .gradients = left.gradients + right.gradients,
          .optimizer = left.optimizer + right.optimizer,
          .offloaded = left.offloaded + right.offloaded};
}

MemoryConstants ReadConstants() {
  std::optional<Error> error;
  const YAML::Node node = YAML::Load(kEmbeddedMemory)["memory"];
  YamlFields fields(node, "memory", error);
  MemoryConstants constants;
  constants.context_bytes = std::llround(fields.Positive("context_bytes"));
  constants.communicator_bytes = std::llround(fields.Positive("communicator_bytes"));
  constants.fragmentation = fields.Positive("fragmentation");
  constants.host_bytes_per_second = fields.Positive("host_bytes_per_second");
  constants.usable = fields.Positive("usable");
  fields.RefuseOthers();
  ORRERY_CHECK(!error, error ? error->message() : "");
  return constants;
}

}  // namespace

RankParameters OnRank(const PartParameters& part, const Plan& plan) {
  return {.dense = DivideUp(part.split, plan.tp) + part.whole,
          .experts = DivideUp(part.experts, std::int64_t{plan.ep} * plan.expert_tp)};
}

int DenseReplicas(const Plan& plan) {
  return plan.dp * plan.cp;
}

int ExpertReplicas(const Plan& plan) {
  return std::max(1, plan.dp * plan.cp * plan.tp / (plan.ep * plan.expert_tp));
}

int ShardRanks(const Plan& plan, int replicas) {
  return plan.shard_ranks > 0 ? std::min(plan.shard_ranks, replicas) : replicas;
}

int ParameterBytes(const Training& training) {
  return static_cast<int>(kernel::ElementBytes(training.precision.compute));
}

int OptimizerBytes(const Training& training) {
  if (training.optimizer == OptimizerKind::kSkipped) {
    return 0;
  }
  const int master = training.precision.has_master ? kFp32Bytes : 0;
  const int moments = training.optimizer == OptimizerKind::kAdam ? 2 : 1;
  return master + moments * training.precision.moment_bytes;
}

StateBytes StatesOf(std::int64_t parameters, Sharding sharding, int shards,
                    const Training& training) {
  const std::int64_t shard = DivideUp(parameters, shards);
  const bool shards_parameters = sharding == Sharding::kParameters;
  const bool shards_optimizer = sharding != Sharding::kReplicated;
  return {.parameters = (shards_parameters ? shard : parameters) * ParameterBytes(training),
          .gradients =
              (ShardsGradients(sharding) ? shard : parameters) * training.precision.gradient_bytes,
          .optimizer = (shards_optimizer ? shard : parameters) * OptimizerBytes(training)};
}

StateBytes StatesOf(const RankParameters& parameters, const Plan& plan, const Training& training) {
  const auto states = [&](std::int64_t count, int replicas) {
    return StatesOf(count, plan.sharding, ShardRanks(plan, replicas), training);
  };
  StateBytes sum = Sum(states(parameters.dense, DenseReplicas(plan)),
                       states(parameters.experts, ExpertReplicas(plan)));
  if (plan.offload_optimizer) {
    std::swap(sum.optimizer, sum.offloaded);
  }
  return sum;
}

std::int64_t GatheredBytes(std::int64_t parameters, const Training& training) {
  return parameters * training.precision.gathered_bytes;
}

const MemoryConstants& DefaultMemoryConstants() {
  static const MemoryConstants constants = ReadConstants();
  return constants;
}

}  // namespace orrery::workload
