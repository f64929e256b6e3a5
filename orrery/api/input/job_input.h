#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::hardware {
struct Cluster;
struct Gpu;
}  // namespace orrery::hardware

namespace orrery::workload {
struct JobFile;
}  // namespace orrery::workload

namespace orrery::api {

/// Changes that every verb makes in a job before it is simulated.
struct JobInput {
  std::vector<std::string> settings = {};  // "plan.tp=4"
  std::string gpu = {};
  std::string cluster = {};
  std::vector<std::string> kernel_models = {};
};

/// Changes of a job by the options, in the order of workload::ReadJobFile.
[[nodiscard]] std::vector<std::string> OverridesOf(const JobInput& arguments);

/// Reads a job file and changes it by the options: what Simulate needs beside the kernel models.
[[nodiscard]] Result<workload::JobFile> ReadJob(const std::string& path, const JobInput& arguments);

/// Finds the GPU that --gpu names; an error suggests one.
[[nodiscard]] Result<const hardware::Gpu*> GpuNamed(const std::string& name);

/// Finds the cluster that --cluster names; an error suggests one.
[[nodiscard]] Result<const hardware::Cluster*> ClusterNamed(const std::string& name);

}  // namespace orrery::api
