#include "orrery/simulate/workload_card.h"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/hardware/cluster.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::simulate {
namespace {

using workload::Plan;

constexpr double kBytesPerGigabit = 1e9 / 8;

void Set(trace::WorkloadCard& card, std::string_view path, const std::string& value) {
  card.values[std::string(path)] = value;
}

void SetGigabits(trace::WorkloadCard& card, int place, double bytes_per_second) {
  if (bytes_per_second > 0) {
    Set(card, fmt::format("workload.hardware.network_topo.bandwidth_gbps.{}", place),
        fmt::format("{}", bytes_per_second / kBytesPerGigabit));
  }
}

void SetPlan(trace::WorkloadCard& card, const workload::Job& job) {
  const Plan& plan = job.plan;
  const bool is_sharded = plan.sharding == workload::Sharding::kParameters ||
                          plan.sharding == workload::Sharding::kKeepGathered;
  const auto set = [&](std::string_view key, int degree) {
    Set(card, fmt::format("model_executor.model_plan_parallelization.{}", key),
        fmt::format("{}", degree));
  };
  set("tp", plan.tp);
  set("pp", plan.pp);
  set("cp", plan.cp);
  set("ep", plan.ep);
  set("dp_replicate", is_sharded ? 1 : plan.dp);
  set("dp_shard", is_sharded ? plan.dp : 1);
  set("pp_chunks", plan.chunks);
  set("pp_mb", static_cast<int>(job.training.micro_batch));
}

}  // namespace

trace::WorkloadCard MachineCardOf(const workload::Job& machine) {
  const hardware::Cluster& cluster = machine.cluster;
  trace::WorkloadCard card{.file = "simulation", .values = {}};
  Set(card, "workload.hardware.xpu_spec.total_count", fmt::format("{}", machine.gpus));
  Set(card, "workload.hardware.xpu_spec.count_per_node",
      fmt::format("{}", std::max(cluster.gpus_per_node, cluster.island.gpus)));
  SetGigabits(card, 0,
              cluster.nics.bandwidth.bytes_per_second * cluster.nics.per_node /
                  std::max(cluster.gpus_per_node, 1));
  SetGigabits(card, 1, cluster.island.per_gpu.bytes_per_second);
  return card;
}

trace::WorkloadCard CardOf(const workload::Job& job) {
  trace::WorkloadCard card = MachineCardOf(job);
  Set(card, "workload.model.phase", "training");
  Set(card, "workload.data.batch_size", fmt::format("{}", job.training.global_batch));
  if (job.model.transformer() != nullptr) {
    Set(card, "workload.data.seq_len", fmt::format("{}", job.training.sequence));
  }
  SetPlan(card, job);
  return card;
}

}  // namespace orrery::simulate
