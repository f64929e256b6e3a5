#include "orrery/trace/clock_domains.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

// Cards are nested differently from tool to tool; the last part of the path says it.
std::optional<std::int64_t> DevicesPerNode(const TraceSet& set) {
  if (!set.card) {
    return std::nullopt;
  }
  for (const auto& [path, value] : set.card->values) {
    if (path == "count_per_node" || path.ends_with(".count_per_node")) {
      return set.card->Integer(path);
    }
  }
  return std::nullopt;
}

std::string ClockName(const TraceSet& set, std::size_t index,
                      std::optional<std::int64_t> devices_per_node) {
  const TraceInfo& info = set.ranks[index].info;
  if (info.time_origin != TimeOrigin::kEpoch) {
    return fmt::format("trace {}", index);
  }
  if (!info.host_name.empty()) {
    return "host " + info.host_name;
  }
  if (devices_per_node && *devices_per_node > 0) {
    return fmt::format("node {}", RankOf(set, index) / *devices_per_node);
  }
  return fmt::format("trace {}", index);
}

}  // namespace

std::vector<std::uint32_t> ClockOfRank(const TraceSet& set) {
  const auto devices_per_node = DevicesPerNode(set);
  std::map<std::string, std::uint32_t, std::less<>> clocks;
  std::vector<std::uint32_t> clock_of_rank(set.ranks.size());
  for (const std::uint32_t place : PlacesInRankOrder(set)) {
    const auto next = static_cast<std::uint32_t>(clocks.size());
    clock_of_rank[place] =
        clocks.try_emplace(ClockName(set, place, devices_per_node), next).first->second;
  }
  return clock_of_rank;
}

}  // namespace orrery::trace
