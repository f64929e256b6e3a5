#include "orrery/compat/simai/bus_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include <fmt/core.h>

#include "orrery/compat/simai/efficiency_ratios.h"

namespace orrery::compat::simai {
namespace {

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr double kGibibyte = 1024.0 * static_cast<double>(kMebibyte);

Status CheckPlan(const Plan& plan, const Machine& machine) {
  if (std::min({plan.gpus, plan.tensor, plan.expert, plan.pipeline, machine.gpus_per_server,
                machine.nics_per_server}) < 1) {
    return Fail(Error::Kind::kInvalidInput, "every number of a plan and a server must be above 0");
  }
  if (plan.data() < 1) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} GPUs are too few for tensor {} times pipeline {}", plan.gpus,
                            plan.tensor, plan.pipeline));
  }
  if (!std::isfinite(machine.nvlink_gib_per_second) || machine.nvlink_gib_per_second <= 0 ||
      !std::isfinite(machine.nic_gib_per_second) || machine.nic_gib_per_second <= 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("bandwidths must be above 0, not {} (NVLink) and {} (NIC)",
                            machine.nvlink_gib_per_second, machine.nic_gib_per_second));
  }
  return {};
}

Spread TensorSpread(const Plan& plan, const Machine& machine) {
  const int server = machine.gpus_per_server;
  const bool fits = plan.tensor <= server;
  return {.ranks = plan.tensor,
          .gpus_per_node = fits ? plan.tensor : server,
          .nodes = fits ? 1 : plan.tensor / server,
          .nics_per_node = machine.nics_per_server};
}

Spread ExpertSpread(const Plan& plan, const Machine& machine) {
  const int server = machine.gpus_per_server;
  Spread spread{.ranks = plan.expert,
                .gpus_per_node = std::max(server / plan.tensor, 1),
                .nodes = 1,
                .nics_per_node = machine.nics_per_server};
  if (plan.tensor * plan.expert > server) {
    spread.nodes = plan.tensor * plan.expert / server;
    spread.nics_per_node = machine.nics_per_server / std::min(plan.tensor, server);
  }
  return spread;
}

// One rank of each of `ranks` blocks of GPUs; a block is what lies beside each other.
Spread DataSpread(int ranks, int block, const Machine& machine) {
  const int server = machine.gpus_per_server;
  return {.ranks = ranks,
          .gpus_per_node = block <= server ? server / block : 1,
          .nodes = ranks,
          .nics_per_node = machine.nics_per_server / std::min(block, server)};
}

Spread Unchecked(Group group, const Plan& plan, const Machine& machine) {
  switch (group) {
    case Group::kTensor:
      return TensorSpread(plan, machine);
    case Group::kExpert:
      return ExpertSpread(plan, machine);
    case Group::kData:
      return DataSpread(plan.data(), plan.tensor, machine);
    case Group::kExpertData:
      return DataSpread(plan.data() / plan.expert, plan.tensor * plan.expert, machine);
  }
  return {};
}

BusBandwidth RingBandwidth(const Spread& spread, const Machine& machine) {
  const double nvlink = machine.nvlink_gib_per_second;
  const double nics = machine.nic_gib_per_second * spread.nics_per_node;
  if (spread.nodes == 1) {
    return {nvlink, false};
  }
  if (spread.gpus_per_node == 1 || nics <= nvlink) {
    return {nics, false};
  }
  // Crossing NICs, a ring enters and leaves a node by different GPUs.
  const double crossing = nvlink * spread.gpus_per_node / (spread.gpus_per_node - 1);
  return {std::min(crossing, nics), crossing < nics};
}

BusBandwidth AllToAllBandwidth(const Spread& spread, const Machine& machine) {
  if (spread.nodes == 1) {
    return {machine.nvlink_gib_per_second, true};
  }
  const double nics = machine.nic_gib_per_second * spread.nics_per_node;
  const int others = spread.gpus_per_node * spread.nodes - 1;
  const int remote = (spread.nodes - 1) * spread.gpus_per_node;
  return {nics / spread.gpus_per_node * others / remote, false};
}

Result<double> RatioFor(const Call& call, const Plan& plan, const Spread& spread,
                        const Machine& machine, bool nvlink_limits) {
  const bool is_tensor = call.group == Group::kTensor;
  if (call.kind == Kind::kAllToAll && call.group == Group::kExpert) {
    const bool alone = spread.nodes > 1 && plan.tensor >= machine.gpus_per_server;
    return EfficiencyRatio(RatioTable::kAllToAll, alone ? kOneGpuEachNode : spread.nodes,
                           call.size);
  }
  if (call.kind == Kind::kAllToAll && is_tensor) {
    return EfficiencyRatio(RatioTable::kAllToAll, spread.nodes, call.size);
  }
  if (is_tensor && (call.kind == Kind::kAllGather || call.kind == Kind::kReduceScatter)) {
    return EfficiencyRatio(nvlink_limits ? RatioTable::kNvlink : RatioTable::kNic, spread.nodes,
                           call.size);
  }
  return 1.0;
}

}  // namespace

Result<Spread> SpreadOf(Group group, const Plan& plan, const Machine& machine) {
  ORRERY_TRY_STATUS(CheckPlan(plan, machine));
  const Spread spread = Unchecked(group, plan, machine);
  if (spread.ranks < 1) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} data-parallel ranks are too few for {} groups of experts",
                            plan.data(), plan.expert));
  }
  if (spread.nodes > 1 && spread.nics_per_node < 1) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("{} NICs a server leave none for each group", machine.nics_per_server));
  }
  return spread;
}

BusBandwidth BusBandwidthOf(Kind kind, const Spread& spread, const Machine& machine) {
  return kind == Kind::kAllToAll ? AllToAllBandwidth(spread, machine)
                                 : RingBandwidth(spread, machine);
}

Result<Duration> CallTime(const Call& call, const Plan& plan, const Machine& machine) {
  ORRERY_TRY(const Spread spread, SpreadOf(call.group, plan, machine));
  if (call.size.count < 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a call needs 0 bytes or more, not {}", call.size.count));
  }
  if (call.size.count > 1 && call.size.count < kMebibyte) {
    return SmallCallTime(spread.ranks);
  }
  if (spread.ranks == 1) {
    return Duration{};
  }
  const BusBandwidth bus = BusBandwidthOf(call.kind, spread, machine);
  ORRERY_TRY(const double ratio, RatioFor(call, plan, spread, machine, bus.nvlink_limits));
  const double passes = call.kind == Kind::kAllReduce ? 2 : 1;
  const double seconds = static_cast<double>(call.size.count) / kGibibyte /
                         (ratio * bus.gib_per_second) * (spread.ranks - 1) / spread.ranks * passes;
  return Duration{static_cast<std::int64_t>(seconds * 1e9)};
}

}  // namespace orrery::compat::simai
