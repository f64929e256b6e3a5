#pragma once

#include "orrery/base/yaml_fields.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Reads the section `training` over what is in `training`.
void ReadTraining(YamlFields& fields, Training& training);

/// Reads the section `plan` over what is in `plan`. Without `dp` it stays 0, to follow from the
/// GPUs; HSDP without `shard_ranks` has −1 there, to follow from the nodes.
void ReadPlan(YamlFields& fields, Plan& plan);

}  // namespace orrery::workload
