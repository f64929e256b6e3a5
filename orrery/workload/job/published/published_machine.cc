#include "orrery/workload/job/published/published_machine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_words.h"
#include "orrery/workload/job/published/run_row.h"

namespace orrery::workload {
namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;
constexpr std::int64_t kBytesPerGigabyte = 1'000'000'000;

hardware::Cluster Alone(const hardware::Gpu& gpu) {
  hardware::Cluster cluster;
  cluster.name = "one " + gpu.name;
  cluster.gpus_per_node = 1;
  cluster.island.kind = hardware::IslandKind::kPcie;
  cluster.island.gpus = 1;
  return cluster;
}

// Replaces the links between the GPUs of a node by PCIe.
void UsePcie(Job& job) {
  const int gpus = job.cluster.island.gpus;
  job.cluster.island = hardware::FindCluster("L40S PCIe")->island;
  job.cluster.island.per_gpu = job.gpu.host_link;
  job.cluster.island.gpus = std::min(gpus, job.cluster.gpus_per_node);
}

// Gives the nodes of a job's machine another number of GPUs: an island within a node follows, and
// there are as many NICs for a GPU as before. GPUs without links reach each other by PCIe.
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
    UsePcie(job);
  }
  if (!spans_nodes) {
    cluster.island.gpus = gpus_per_node;
  }
}

// Gives nodes without a NIC one of 200 Gb/s. False where they have some.
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

// An island that spans nodes is used by as many GPUs as divide the job, so that no group straddles
// two of them: 64 of the 72 of a rack for 256 GPUs.
void FillIsland(Job& job) {
  hardware::Cluster& cluster = job.cluster;
  const int node = cluster.gpus_per_node;
  if (cluster.island.gpus <= node || job.gpus <= cluster.island.gpus) {
    return;
  }
  for (int gpus = cluster.island.gpus / node * node; gpus > node; gpus -= node) {
    if (job.gpus % gpus == 0) {
      cluster.island.gpus = gpus;
      return;
    }
  }
}

}  // namespace

Status SetMachine(const std::string& gpu, Job& job) {
  const hardware::Gpu* device = hardware::FindGpu(gpu);
  if (device == nullptr) {
    return Unsupported("unknown GPU '{}'", gpu);
  }
  const hardware::Cluster* cluster = hardware::FindCluster(gpu);
  job.gpu = *device;
  job.cluster = cluster != nullptr ? *cluster : Alone(*device);
  job.cluster.gpu = device->name;
  job.cluster.nodes = 0;
  return {};
}

Status ReadMachine(RunRow& row, Job& job) {
  const std::string gpu = row.Text("gpu");
  const std::string network = row.Text("inter_node");
  // Cards of one name may differ in memory: A100, V100.
  const auto memory = row.Integer("gpu_mem_gb");
  ORRERY_TRY_STATUS(SetMachine(memory ? fmt::format("{} {}GB", gpu, *memory) : gpu, job));
  if (memory && *memory > 0) {
    job.gpu.memory_size.count = *memory * kBytesPerGigabyte;
  }
  const hardware::Cluster* const cluster = MachineWithNetwork(job.gpu.name, network);
  // Cards of one name come with NVLink and without.
  if (cluster == nullptr && row.Text("intra_node").starts_with("PCIe")) {
    UsePcie(job);
  }
  if (cluster != nullptr) {
    job.cluster = *cluster;
    job.cluster.gpu = job.gpu.name;
    job.cluster.nodes = 0;
  }
  const auto gpus = row.Integer("n_gpus");
  if (!gpus || *gpus < 1) {
    return Unsupported("the number of GPUs is not a number");
  }
  job.gpus = static_cast<int>(*gpus);
  if (const auto watts = row.Number("power_w"); watts && *watts > 0) {
    job.gpu.power_watts = *watts;
  }
  if (const auto per_node = row.Integer("gpus_per_node"); per_node && *per_node > 0) {
    SetNode(static_cast<int>(*per_node), job);
  }
  if (job.gpus > job.cluster.gpus_per_node && AddNetwork(job)) {
    row.Assume("one NIC of 200 Gb/s per node");
  }
  FillIsland(job);
  if (const auto stated = NodeNetworkOf(network, job.cluster.nics.per_node);
      stated && job.cluster.nics.per_node > 0) {
    job.cluster.nics.bandwidth.bytes_per_second =
        stated->bytes_per_second / job.cluster.nics.per_node;
  } else if (job.gpus > job.cluster.gpus_per_node) {
    row.Assume("network of " + job.cluster.name);
  }
  return {};
}

std::optional<Bandwidth> NodeNetworkOf(std::string_view text, int links) {
  // The fastest of several networks carries the training: "Storage: 2x …, Compute: 8x … 400Gb/s".
  static const RE2 kSeveral("(\\d{1,9})\\s*x\\s[^,;]*?(\\d{1,9})\\s*G(?:b/s|b/Sec|bps)");
  static const RE2 kOne("(\\d{1,9})\\s*\\(?(G|T)(?:b/s|b/Sec|bps)");
  static const RE2 kOfLink("per GPU|\\b[EHNX]DR\\b");
  constexpr std::size_t kMostLetters = 1'000;
  const std::string whole(text.substr(0, kMostLetters));
  double gigabits = 0;
  std::int64_t count = 0;
  std::int64_t rate = 0;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, kSeveral, &count, &rate);) {
    gigabits = std::max(gigabits, static_cast<double>(count) * static_cast<double>(rate));
  }
  std::string unit;
  if (gigabits == 0 && RE2::PartialMatch(whole, kOne, &rate, &unit)) {
    const bool is_of_link = RE2::PartialMatch(whole, kOfLink) && !Mentions(whole, "per node");
    gigabits = static_cast<double>(rate) * (unit == "T" ? 1000 : 1) * (is_of_link ? links : 1);
  }
  return gigabits > 0 ? std::optional(Bandwidth{gigabits * kBytesPerGigabit}) : std::nullopt;
}

}  // namespace orrery::workload
