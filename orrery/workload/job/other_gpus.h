#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"

namespace orrery::workload {

struct Job;

/// Ranks that follow each other and have another GPU than the rest of a job.
struct OtherGpus {
  int first = 0;
  int last = 0;
  hardware::Gpu gpu;
};

/// How many ranks of a job have a GPU.
struct GpuCount {
  const hardware::Gpu* gpu = nullptr;
  int ranks = 0;
};

/// The GPUs of a job, each once: its usual one, then others in the order of their first ranks.
[[nodiscard]] std::vector<GpuCount> GpusOf(const Job& job);

/// The GPU of a rank. O(entries of Job::other_gpus).
[[nodiscard]] const hardware::Gpu& GpuOfRank(const Job& job, std::uint32_t rank);

/// Checks that ranks exist, that none is named twice and that one maker made all.
[[nodiscard]] Status CheckOtherGpus(const Job& job);

/// "8-15", or "8" for one rank.
[[nodiscard]] std::string RanksText(const OtherGpus& other);

/// Reads `{8-15: A100-80GB, 3: A100-80GB}`: ranks and the GPU that they have. Returns ascending
/// ranks; whether a job has them is not asked here.
[[nodiscard]] Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node);

}  // namespace orrery::workload
