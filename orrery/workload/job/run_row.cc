#include "orrery/workload/job/run_row.h"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "orrery/base/text.h"

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

bool Mentions(std::string_view text, std::string_view word) {
  return LowerCase(text).find(LowerCase(word)) != std::string::npos;
}

std::string RunRow::Text(std::string_view column) const {
  if (const auto text = table_.Text(row_, column)) {
    return std::string(*text);
  }
  if (const auto number = table_.Integer(row_, column)) {
    return std::to_string(*number);
  }
  const auto number = table_.Number(row_, column);
  return number ? fmt::format("{:g}", *number) : std::string();
}

std::optional<std::int64_t> RunRow::Integer(std::string_view column) const {
  const auto number = Number(column);
  return number ? std::optional(std::llround(*number)) : std::nullopt;
}

int RunRow::Degree(std::string_view column) const {
  constexpr std::int64_t kMost = 1 << 20;
  return static_cast<int>(std::clamp<std::int64_t>(Integer(column).value_or(1), 1, kMost));
}

Status SetMachine(const std::string& gpu, Job& job) {
  const hardware::Gpu* device = hardware::FindGpu(gpu);
  if (device == nullptr) {
    return Fail(Error::Kind::kUnsupported, fmt::format("unknown GPU '{}'", gpu));
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
