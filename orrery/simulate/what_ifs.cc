#include "orrery/simulate/what_ifs.h"

#include <cstdint>
#include <map>
#include <set>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

using Phrases = std::vector<std::string>;

void AddRanks(const workload::Job& machine, const SimulationOptions& options, Phrases& phrases) {
  for (const workload::OtherGpus& other : machine.other_gpus) {
    const bool is_one = other.first == other.last;
    phrases.push_back(fmt::format("rank{} {} {} {}", is_one ? "" : "s", RanksText(other),
                                  is_one ? "has" : "have", other.gpu.name));
  }
  for (const SlowRank& slow : options.slow_ranks) {
    phrases.push_back(fmt::format("rank {} takes {} times as long", slow.rank, slow.factor));
  }
  if (options.jitter > 0) {
    phrases.push_back(fmt::format("kernel times spread by {}", options.jitter));
  }
}

void AddFaults(const workload::Job& machine, const NetworkFaults& faults, Phrases& phrases) {
  std::map<std::uint32_t, std::set<std::uint32_t>> failed_of_node;
  for (const FailedNic& failed : faults.failed_nics) {
    failed_of_node[failed.node].insert(failed.nic);
  }
  const int nics = machine.cluster.nics.per_node;
  for (const auto& [node, failed] : failed_of_node) {
    phrases.push_back(fmt::format("node {} has {} of {} NICs", node,
                                  nics - static_cast<int>(failed.size()), nics));
  }
  for (const SlowNode& slow : faults.slow_nodes) {
    phrases.push_back(
        fmt::format("the NICs of node {} carry {} of what they should", slow.node, slow.share));
  }
}

}  // namespace

Phrases WhatIfs(const workload::Job& machine, const SimulationOptions& options) {
  Phrases phrases;
  AddRanks(machine, options, phrases);
  AddFaults(machine, options.faults, phrases);
  return phrases;
}

}  // namespace orrery::simulate
