#pragma once

#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery::compat::simai {

/// Which of SimAI's tables of efficiency (data/network/simai_ratios.yaml).
enum class RatioTable {
  kNic,
  kNvlink,
  kAllToAll,
};

/// The column of groups that have one GPU a node, where others give a number of nodes.
inline constexpr int kOneGpuEachNode = -1;

/// Returns the share of the bus bandwidth that a collective of `size` reaches, relative to that of
/// 16 GiB: linear between the sizes of the table, constant below the least. A number of nodes
/// without a column counts as 16. Fails above 16 GiB, as SimAI does.
[[nodiscard]] Result<double> EfficiencyRatio(RatioTable table, int nodes, Bytes size);

/// Returns what any call of less than 1 MiB takes; no time for numbers of ranks it does not list.
[[nodiscard]] Duration SmallCallTime(int ranks);

/// Return what it takes for a GPU ("H100") or a NIC ("CX7") when no bandwidth is given, in GiB/s.
/// They fail with the names that are known.
[[nodiscard]] Result<double> UsualNvlink(std::string_view gpu);
[[nodiscard]] Result<double> UsualNic(std::string_view nic);

}  // namespace orrery::compat::simai
