#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Reads the section `training` over what is in `training`.
void ReadTraining(YamlFields& fields, Training& training);

/// Reads the section `plan` over what is in `plan`. Without `dp` it stays 0, to follow from the
/// GPUs; HSDP without `shard_ranks` has −1 there, to follow from the nodes.
void ReadPlan(YamlFields& fields, Plan& plan);

/// "norms, experts"; empty for none.
[[nodiscard]] std::string PartsText(const RecomputedParts& parts);

/// A setting of a job in words: "plan", "tp", "8".
struct JobFact {
  std::string section;
  std::string name;
  std::string value;
};

/// The settings of a job that say what it is; those that change nothing are left out.
[[nodiscard]] std::vector<JobFact> JobFacts(const Job& job);

/// "8.03 B", "345 M".
[[nodiscard]] std::string ParametersText(std::int64_t parameters);

/// The distribution of a job: "tp 8, pp 4, dp 16, 1f1b, sharding zero1, no recomputation, sequence
/// parallelism, 8 micro-batches of 1".
[[nodiscard]] std::string PlanLine(const Job& job);

/// One line: "llama3-70b (70.6 B parameters) on 512 H100 (DGX H100), megatron-lm: tp 8, pp 4, dp
/// 16, 1f1b, sharding zero1, no recomputation, bf16, 8 micro-batches of 1".
[[nodiscard]] std::string JobLine(const Job& job);

}  // namespace orrery::workload
