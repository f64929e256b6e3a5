#include "orrery/network/flow_table.h"

#include "orrery/base/check.h"

namespace orrery::network {

FlowRow FlowTable::AppendRow(std::size_t num_uses, const FlowDemand& demand) {
  flows_.push_back({.weight = demand.weight,
                    .cap_level = demand.cap_bytes_per_second / demand.weight,
                    .multiplicity = demand.multiplicity,
                    .first_use = static_cast<std::uint32_t>(uses_.size()),
                    .num_uses = static_cast<std::uint32_t>(num_uses)});
  return static_cast<FlowRow>(flows_.size() - 1);
}

inline void FlowTable::AppendUse(FlowRow row, LinkId link, double load) {
  ORRERY_CHECK(link < first_use_.size(), "a flow uses links that exist");
  uses_.push_back({.flow = row, .link = link, .load = load});
}

FlowRow FlowTable::Append(std::span<const LinkUse> links, const FlowDemand& demand) {
  const FlowRow row = AppendRow(links.size(), demand);
  for (const LinkUse& use : links) {
    AppendUse(row, use.link, demand.weight * demand.multiplicity * use.share);
  }
  return row;
}

FlowRow FlowTable::Append(std::span<const LinkId> links, const FlowDemand& demand) {
  const FlowRow row = AppendRow(links.size(), demand);
  for (const LinkId link : links) {
    AppendUse(row, link, demand.weight * demand.multiplicity);
  }
  return row;
}

void FlowTable::Count(FlowRow row, double more) {
  if (num_on_link_.empty()) {
    return;
  }
  for (const TableUse& use : uses(row)) {
    num_on_link_[use.link] += more;
  }
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
  }
  Count(row, flow.multiplicity);
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
  }
  Count(row, -flow.multiplicity);
}

void FlowTable::TakeAllOffLinks() {
  for (const FlowRow row : active_) {
    for (const TableUse& use : uses(row)) {
      first_use_[use.link] = kNoUse;
    }
    Count(row, -flows_[row].multiplicity);
  }
  active_.clear();
}

void FlowTable::Clear() {
  ORRERY_CHECK(active_.empty(), "rows are forgotten when no flow is on a link");
  flows_.clear();
  uses_.clear();
}

}  // namespace orrery::network
