#include "orrery/network/flow_table.h"

#include "orrery/base/check.h"

namespace orrery::network {

FlowRow FlowTable::Append(const FlowDemand& demand) {
  const auto row = static_cast<FlowRow>(flows_.size());
  flows_.push_back({.weight = demand.weight,
                    .cap_level = demand.cap_bytes_per_second / demand.weight,
                    .multiplicity = demand.multiplicity,
                    .first_use = static_cast<std::uint32_t>(uses_.size()),
                    .num_uses = static_cast<std::uint32_t>(demand.uses.size())});
  for (const LinkUse& use : demand.uses) {
    ORRERY_CHECK(use.link < first_use_.size(), "a flow uses links that exist");
    uses_.push_back(
        {.flow = row, .link = use.link, .load = demand.weight * demand.multiplicity * use.share});
  }
  return row;
}

void FlowTable::PutOnLinks(FlowRow row) {
  TableFlow& flow = flows_[row];
  flow.place = static_cast<std::uint32_t>(active_.size());
  active_.push_back(row);
  for (std::uint32_t i = flow.first_use; i < flow.first_use + flow.num_uses; ++i) {
    TableUse& use = uses_[i];
    std::uint32_t& first = first_use_[use.link];
    use.previous = kNoUse;
    use.next = first;
    if (first != kNoUse) {
      uses_[first].previous = i;
    }
    first = i;
    competing_[use.link] += flow.multiplicity;
  }
}

void FlowTable::TakeOffLinks(FlowRow row) {
  const TableFlow& flow = flows_[row];
  active_[flow.place] = active_.back();
  flows_[active_.back()].place = flow.place;
  active_.pop_back();
  for (const TableUse& use : uses(row)) {
    (use.previous == kNoUse ? first_use_[use.link] : uses_[use.previous].next) = use.next;
    if (use.next != kNoUse) {
      uses_[use.next].previous = use.previous;
    }
    competing_[use.link] -= flow.multiplicity;
  }
}

void FlowTable::Clear() {
  ORRERY_CHECK(active_.empty(), "rows are forgotten when no flow is on a link");
  flows_.clear();
  uses_.clear();
}

}  // namespace orrery::network
