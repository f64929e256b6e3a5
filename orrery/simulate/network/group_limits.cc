#include "orrery/simulate/network/group_limits.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/math/mix_bits.h"
#include "orrery/base/units.h"
#include "orrery/collective/cost_model.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/network/topology.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

using collective::LinkLimits;
using network::GpuId;

tl::unexpected<Error> Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

std::uint32_t NumNodes(const workload::Job& machine) {
  const int size = std::max(machine.cluster.gpus_per_node, 1);
  return static_cast<std::uint32_t>((machine.gpus + size - 1) / size);
}

Status CheckNode(const workload::Job& machine, std::uint32_t node) {
  const std::uint32_t nodes = NumNodes(machine);
  if (machine.cluster.nics.per_node < 1) {
    return Refuse(fmt::format("{} has no NICs that could fail", machine.cluster.name));
  }
  if (node >= nodes) {
    return Refuse(
        fmt::format("there is no node {}; the job has {} node{} of {} GPUs, counted from 0", node,
                    nodes, nodes == 1 ? "" : "s", machine.cluster.gpus_per_node));
  }
  return {};
}

Status CheckNic(const workload::Job& machine, const FailedNic& failed) {
  ORRERY_TRY_STATUS(CheckNode(machine, failed.node));
  const int nics = machine.cluster.nics.per_node;
  if (failed.nic >= static_cast<std::uint32_t>(nics)) {
    return Refuse(fmt::format("there is no NIC {}; a node of {} has {}, counted from 0", failed.nic,
                              machine.cluster.name, nics));
  }
  return {};
}

// The bandwidth from a GPU to others of its island: a GPU without links of its own uses the host's.
Bandwidth LinkOf(const hardware::Gpu& gpu, const hardware::Island& island) {
  const bool has_links =
      island.kind != hardware::IslandKind::kPcie && gpu.link.bytes_per_second > 0;
  return has_links ? gpu.link : gpu.host_link;
}

// Constants of collectives were measured with the usual GPU: only what is slower than it counts.
LinkLimits LimitsBeside(const hardware::Gpu& usual, const hardware::Gpu& other,
                        const hardware::Island& island) {
  LinkLimits limits;
  const double link = LinkOf(other, island).bytes_per_second;
  if (link < LinkOf(usual, island).bytes_per_second) {
    limits.link_share = std::min(1.0, link / island.per_gpu.bytes_per_second);
  }
  if (other.host_link.bytes_per_second < usual.host_link.bytes_per_second) {
    limits.host_link = other.host_link;
  }
  limits.reduces_in_switch =
      !island.reduces_in_switch || other.year >= usual.year || other.generation == usual.generation;
  return limits;
}

// Takes the slower of both.
void Tighten(LinkLimits& limits, const LinkLimits& other) {
  limits.link_share = std::min(limits.link_share, other.link_share);
  limits.reduces_in_switch = limits.reduces_in_switch && other.reduces_in_switch;
  const double host = other.host_link.bytes_per_second;
  const double known = limits.host_link.bytes_per_second;
  if (host > 0 && (known == 0 || host < known)) {
    limits.host_link = other.host_link;
  }
}

// The share of its network that each node has left: the share of working NICs times their remaining
// bandwidth. Fails for nodes and NICs that do not exist.
Result<std::vector<double>> NetworkShares(const workload::Job& machine,
                                          const NetworkFaults& faults) {
  std::vector<int> working(NumNodes(machine), machine.cluster.nics.per_node);
  for (const FailedNic& failed : std::set(faults.failed_nics.begin(), faults.failed_nics.end())) {
    ORRERY_TRY_STATUS(CheckNic(machine, failed));
    --working[failed.node];
  }
  std::vector<double> shares;
  for (const int nics : working) {
    shares.push_back(static_cast<double>(nics) / std::max(machine.cluster.nics.per_node, 1));
  }
  for (const SlowNode& slow : faults.slow_nodes) {
    ORRERY_TRY_STATUS(CheckNode(machine, slow.node));
    shares[slow.node] *= slow.share;
  }
  return shares;
}

}  // namespace

Result<GroupLimits> GroupLimits::Of(const workload::Job& machine, const NetworkFaults& faults) {
  GroupLimits limits;
  limits.island_ = static_cast<std::uint32_t>(std::max(machine.cluster.island.gpus, 1));
  limits.AddSlowGpus(machine);
  if (!faults.empty()) {
    ORRERY_TRY(const std::vector<double> shares, NetworkShares(machine, faults));
    limits.AddShares(machine, shares);
    ORRERY_TRY_STATUS(limits.CheckIslands(machine));
  }
  return limits;
}

void GroupLimits::AddSlowGpus(const workload::Job& machine) {
  for (const workload::OtherGpus& other : machine.other_gpus) {
    const LinkLimits limits = LimitsBeside(machine.gpu, other.gpu, machine.cluster.island);
    if (limits != LinkLimits{}) {
      slow_gpus_.push_back(
          {static_cast<GpuId>(other.first), static_cast<GpuId>(other.last), limits});
    }
  }
}

// An island may be part of a node, or have several, whose NICs all of its GPUs reach.
void GroupLimits::AddShares(const workload::Job& machine,
                            const std::vector<double>& share_of_node) {
  const auto gpus = static_cast<std::uint32_t>(machine.gpus);
  const auto per_node = static_cast<std::uint32_t>(std::max(machine.cluster.gpus_per_node, 1));
  for (std::uint32_t first = 0; first < gpus; first += island_) {
    const std::uint32_t end = std::min(first + island_, gpus);
    double sum = 0;
    for (std::uint32_t gpu = first; gpu < end; ++gpu) {
      sum += share_of_node[gpu / per_node];
    }
    share_of_island_.push_back(sum / (end - first));
  }
}

Status GroupLimits::CheckIslands(const workload::Job& machine) const {
  const auto lost = std::ranges::find(share_of_island_, 0.0);
  if (share_of_island_.size() < 2 || lost == share_of_island_.end()) {
    return {};
  }
  const auto gpu = static_cast<int>(lost - share_of_island_.begin()) * static_cast<int>(island_);
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("node {} has no NIC left, and the job needs its network",
                          gpu / std::max(machine.cluster.gpus_per_node, 1)));
}

const LinkLimits* GroupLimits::LimitsOf(GpuId gpu) const {
  const auto found = std::ranges::find_if(
      slow_gpus_, [&](const SlowGpus& slow) { return gpu >= slow.first && gpu <= slow.last; });
  return found == slow_gpus_.end() ? nullptr : &found->limits;
}

LinkLimits GroupLimits::Of(std::span<const GpuId> gpus) const {
  LinkLimits limits;
  if (gpus.size() < 2) {
    return limits;
  }
  bool crosses = false;
  double share = 1;
  for (const GpuId gpu : gpus) {
    crosses = crosses || gpu / island_ != gpus.front() / island_;
    share = share_of_island_.empty() ? share : std::min(share, share_of_island_[gpu / island_]);
    if (const LinkLimits* const slow = LimitsOf(gpu)) {
      Tighten(limits, *slow);
    }
  }
  limits.network_share = crosses ? share : 1;
  limits.host_link = crosses ? limits.host_link : Bandwidth{};
  return limits;
}

std::uint64_t LimitedLinkClass::Of(std::span<const GpuId> gpus) const {
  std::uint64_t bits = placement_.Of(gpus);
  const LinkLimits limits = limits_.Of(gpus);
  if (limits == LinkLimits{}) {
    return bits;
  }
  for (const double value :
       {limits.link_share, limits.network_share, limits.host_link.bytes_per_second,
        limits.reduces_in_switch ? 1.0 : 0.0}) {
    bits = MixBits(bits + std::bit_cast<std::uint64_t>(value) + 0x9e3779b97f4a7c15);
  }
  return bits;
}

}  // namespace orrery::simulate
