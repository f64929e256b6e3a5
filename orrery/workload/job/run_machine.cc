#include "orrery/workload/job/run_machine.h"

#include <fmt/core.h>

namespace orrery::workload {
namespace {

hardware::Cluster Alone(const hardware::Gpu& gpu) {
  hardware::Cluster cluster;
  cluster.name = "one " + gpu.name;
  cluster.gpus_per_node = 1;
  cluster.island.kind = hardware::IslandKind::kPcie;
  cluster.island.gpus = 1;
  return cluster;
}

}  // namespace

Status SetMachine(const std::string& gpu, Job& job) {
  const hardware::Gpu* device = hardware::FindGpu(gpu);
  if (device == nullptr) {
    return Fail(Error::Kind::kUnsupported, fmt::format("no GPU '{}' is known", gpu));
  }
  const hardware::Cluster* cluster = hardware::FindCluster(gpu);
  job.gpu = *device;
  job.cluster = cluster != nullptr ? *cluster : Alone(*device);
  job.cluster.gpu = device->name;
  job.cluster.nodes = 0;
  return {};
}

}  // namespace orrery::workload
