#include "orrery/workload/emit/setting_list.h"

#include <algorithm>
#include <string_view>

#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

LaunchSize LaunchSizeOf(const Job& job, SettingList& list) {
  const int of_node = std::min(job.gpus, std::max(job.cluster.gpus_per_node, 1));
  if (job.gpus % of_node != 0) {
    list.Miss("gpus {} do not fill nodes of {}: the launcher is told {} nodes of one GPU", job.gpus,
              of_node, job.gpus);
    return {.nodes = job.gpus, .gpus_of_node = 1};
  }
  return {.nodes = job.gpus / of_node, .gpus_of_node = of_node};
}

void MissFramework(const Job& job, std::string_view tool, std::string_view framework,
                   SettingList& list) {
  if (job.framework.name != framework) {
    list.Miss("framework {}: {} has other kernels and overlap; simulate the job with framework {}",
              job.framework.name, tool, framework);
  }
}

void MissCommon(const Job& job, SettingList& list) {
  const Plan& plan = job.plan;
  const bool is_uneven =
      plan.token_imbalance != 1 || plan.routing.zipf > 0 || !plan.routing.log.empty();
  if (HasExperts(job.model) && is_uneven) {
    list.Miss("plan.token_imbalance describes how uneven the router is; no setting makes it so");
  }
  if (job.training.adapter_rank > 0) {
    list.Miss("training.adapter_rank {}: LoRA is not part of a pre-training command",
              job.training.adapter_rank);
  }
  if (job.training.frozen_blocks > 0) {
    list.Miss("training.frozen_blocks {}: a pre-training command trains all blocks",
              job.training.frozen_blocks);
  }
  if (job.plan.offload_activations > 0) {
    list.Miss("plan.offload_activations {}: not written, set it beside the recomputation",
              job.plan.offload_activations);
  }
  if (job.training.optimizer == OptimizerKind::kSkipped) {
    list.Miss("training.optimizer: a step without optimizer cannot be asked for");
  }
}

}  // namespace orrery::workload
