#include "orrery/workload/job/run_machine.h"

#include <algorithm>

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

void SetNode(int gpus_per_node, Job& job) {
  hardware::Cluster& cluster = job.cluster;
  const int before = cluster.gpus_per_node;
  if (gpus_per_node == before) {
    return;
  }
  const bool spans_nodes = cluster.island.gpus > before;
  if (cluster.nics.per_node > 0) {
    cluster.nics.per_node = std::max(1, cluster.nics.per_node * gpus_per_node / before);
  }
  cluster.gpus_per_node = gpus_per_node;
  if (cluster.island.per_gpu.bytes_per_second == 0) {
    cluster.island = hardware::FindCluster("L40S PCIe")->island;
    cluster.island.per_gpu = job.gpu.host_link;
  }
  if (!spans_nodes) {
    cluster.island.gpus = gpus_per_node;
  }
}

bool AddNetwork(Job& job) {
  if (job.cluster.nics.kind != hardware::NetworkKind::kNone) {
    return false;
  }
  const hardware::Cluster& usual = *hardware::FindCluster("DGX A100");
  job.cluster.nics = usual.nics;
  job.cluster.nics.per_node = 1;
  job.cluster.fabric = usual.fabric;
  return true;
}

}  // namespace orrery::workload
