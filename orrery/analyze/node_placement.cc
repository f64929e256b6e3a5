#include "orrery/analyze/node_placement.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/collective_kind.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {

std::vector<std::int32_t> RanksOfInstance(const RunView& run, std::size_t instance) {
  std::vector<std::int32_t> ranks =
      run.matched.groups.empty()
          ? std::vector<std::int32_t>{}
          : run.matched.groups[run.matched.instances.group[instance]].members;
  const CollectiveKind kind = run.matched.instances.kind[instance];
  const bool is_message = kind == CollectiveKind::kSend || kind == CollectiveKind::kSendRecv;
  if (ranks.empty() || (is_message && ranks.size() != 2)) {
    ranks.clear();
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      ranks.push_back(trace::RankOf(*run.set, run.matched.members.rank_index[member]));
    }
  }
  return ranks;
}

bool AreOnOneNode(const std::vector<std::int32_t>& ranks, std::int64_t ranks_per_node) {
  return std::ranges::all_of(ranks, [&](std::int32_t rank) {
    return rank / ranks_per_node == ranks.front() / ranks_per_node;
  });
}

std::optional<bool> IsInsideNode(const RunView& run, const CollectiveRecord& record) {
  const auto per_node = CardInteger(*run.set, "count_per_node");
  if (per_node) {
    return record.is_matched
               ? std::optional(AreOnOneNode(RanksOfInstance(run, record.instance), *per_node))
           : record.num_ranks > 0 ? std::optional(record.num_ranks <= *per_node)
                                  : std::nullopt;
  }
  if (!record.is_matched) {
    return std::nullopt;
  }
  const auto members = run.matched.MembersOf(record.instance);
  const auto host_of = [&](std::uint32_t member) -> const std::string& {
    return run.set->ranks[run.matched.members.rank_index[member]].info.host_name;
  };
  if (std::ranges::any_of(members, [&](std::uint32_t member) { return host_of(member).empty(); })) {
    return std::nullopt;
  }
  return std::ranges::all_of(
      members, [&](std::uint32_t member) { return host_of(member) == host_of(members.front()); });
}

}  // namespace orrery::analyze
