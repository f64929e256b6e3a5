#include "orrery/compat/simai/bus_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/compat/embedded_simai_ratios.h"

namespace orrery::compat::simai {
namespace {

constexpr int kNodesWithoutColumn = 16;

using Column = std::vector<double>;  // one ratio for each size; empty: 1 at every size

struct Ratios {
  std::vector<double> sizes;  // bytes, ascending
  std::map<RatioTable, std::map<int, Column>> columns;
  std::map<int, std::int64_t> small_call_us;  // by ranks
};

std::map<int, Column> ReadColumns(const YAML::Node& node, std::size_t num_sizes) {
  std::map<int, Column> column_of_nodes;
  for (const auto& entry : node) {
    const auto name = entry.first.as<std::string>();
    const int nodes = name == "multi_16" ? kOneGpuEachNode : std::stoi(name);
    auto column = entry.second.as<Column>();
    ORRERY_CHECK(column.empty() || column.size() == num_sizes, name);
    column_of_nodes.emplace(nodes, std::move(column));
  }
  return column_of_nodes;
}

const Ratios& EmbeddedRatios() {
  static const Ratios ratios = [] {
    const YAML::Node root = YAML::Load(kEmbeddedRatios);
    Ratios read;
    for (const YAML::Node& size_mib : root["sizes_mib"]) {
      read.sizes.push_back(size_mib.as<double>() * (1 << 20));
    }
    read.columns[RatioTable::kNic] = ReadColumns(root["nic"], read.sizes.size());
    read.columns[RatioTable::kNvlink] = ReadColumns(root["nvlink"], read.sizes.size());
    read.columns[RatioTable::kAllToAll] = ReadColumns(root["ata"], read.sizes.size());
    read.small_call_us = root["small_call_us"].as<std::map<int, std::int64_t>>();
    return read;
  }();
  return ratios;
}

double Interpolated(const std::vector<double>& sizes, const Column& column, double size) {
  if (size <= sizes.front()) {
    return column.front();
  }
  const auto above = std::ranges::lower_bound(sizes, size);
  const auto upper = static_cast<std::size_t>(above - sizes.begin());
  const double share = (size - sizes[upper - 1]) / (sizes[upper] - sizes[upper - 1]);
  return column[upper - 1] + (column[upper] - column[upper - 1]) * share;
}

// Any collective below 1 MiB; no time for numbers of ranks that the table does not list.
Duration SmallCallTime(int ranks) {
  const auto& small_call_us = EmbeddedRatios().small_call_us;
  const auto found = small_call_us.find(ranks);
  return {found == small_call_us.end() ? 0 : found->second * 1000};
}

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

// One rank of each of `ranks` blocks of adjacent GPUs.
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
  // A ring that uses several NICs enters and leaves a node by different GPUs.
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

Result<double> RatioFor(const Collective& collective, const Plan& plan, const Spread& spread,
                        const Machine& machine, bool nvlink_limits) {
  const bool is_tensor = collective.group == Group::kTensor;
  if (collective.kind == CollectiveKind::kAllToAll && collective.group == Group::kExpert) {
    const bool alone = spread.nodes > 1 && plan.tensor >= machine.gpus_per_server;
    return EfficiencyRatio(RatioTable::kAllToAll, alone ? kOneGpuEachNode : spread.nodes,
                           collective.size);
  }
  if (collective.kind == CollectiveKind::kAllToAll && is_tensor) {
    return EfficiencyRatio(RatioTable::kAllToAll, spread.nodes, collective.size);
  }
  if (is_tensor && (collective.kind == CollectiveKind::kAllGather ||
                    collective.kind == CollectiveKind::kReduceScatter)) {
    return EfficiencyRatio(nvlink_limits ? RatioTable::kNvlink : RatioTable::kNic, spread.nodes,
                           collective.size);
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

BusBandwidth BusBandwidthOf(CollectiveKind kind, const Spread& spread, const Machine& machine) {
  return kind == CollectiveKind::kAllToAll ? AllToAllBandwidth(spread, machine)
                                           : RingBandwidth(spread, machine);
}

Result<Duration> CollectiveTime(const Collective& collective, const Plan& plan,
                                const Machine& machine) {
  ORRERY_TRY(const Spread spread, SpreadOf(collective.group, plan, machine));
  if (collective.size.count < 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a collective needs 0 bytes or more, not {}", collective.size.count));
  }
  if (collective.size.count > 1 && collective.size.count < kMebibyte) {
    return SmallCallTime(spread.ranks);
  }
  if (spread.ranks == 1) {
    return Duration{};
  }
  const BusBandwidth bus = BusBandwidthOf(collective.kind, spread, machine);
  ORRERY_TRY(const double ratio, RatioFor(collective, plan, spread, machine, bus.nvlink_limits));
  const double passes = collective.kind == CollectiveKind::kAllReduce ? 2 : 1;
  const double seconds = static_cast<double>(collective.size.count) / kGibibyte /
                         (ratio * bus.gib_per_second) * (spread.ranks - 1) / spread.ranks * passes;
  return Duration{static_cast<std::int64_t>(seconds * 1e9)};
}

Result<double> EfficiencyRatio(RatioTable table, int nodes, Bytes size) {
  const Ratios& ratios = EmbeddedRatios();
  const auto bytes = static_cast<double>(size.count);
  if (bytes > ratios.sizes.back()) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("SimAI has no efficiency above 16 GiB: {} bytes", size.count));
  }
  const std::map<int, Column>& columns = ratios.columns.at(table);
  const auto found = columns.find(nodes);
  const Column& column = found == columns.end() ? columns.at(kNodesWithoutColumn) : found->second;
  if (column.empty() || size.count == 0) {
    return 1.0;
  }
  return Interpolated(ratios.sizes, column, bytes) / column.back();
}

}  // namespace orrery::compat::simai
