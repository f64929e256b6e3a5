#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"

namespace orrery::workload {

struct Job;

/// Consecutive ranks with another GPU than the rest of a job.
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

/// The distinct GPUs of a job: its default one, then others in the order of their first ranks.
[[nodiscard]] std::vector<GpuCount> GpusOf(const Job& job);

/// The GPU of a rank. O(entries of Job::other_gpus).
[[nodiscard]] const hardware::Gpu& GpuOfRank(const Job& job, std::uint32_t rank);

/// Checks that ranks exist, that none is named twice and that all GPUs are of one vendor.
[[nodiscard]] Status CheckOtherGpus(const Job& job);

/// "8-15", or "8" for one rank.
[[nodiscard]] std::string RanksText(const OtherGpus& other);

/// Reads `{8-15: A100-80GB, 3: A100-80GB}`: ranks and the GPU that they have. Returns ascending
/// ranks; whether a job has them is not asked here.
[[nodiscard]] Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node);

}  // namespace orrery::workload
