#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/network/flow_sharing.h"
#include "orrery/network/topology.h"

namespace orrery::network {

/// Row of a flow in a FlowTable; rows are used again after Clear.
using FlowRow = std::uint32_t;

inline constexpr LinkId kNoLink = ~LinkId{0};

/// A flow on its links. Its *level* is its rate per weight: what max-min fairness compares.
struct TableFlow {
  double level = 0;
  double weight = 1;
  double cap_level = std::numeric_limits<double>::infinity();
  double multiplicity = 1;
  LinkId bottleneck = kNoLink;  // full, and no flow on it has a higher level; none: at its cap
  std::uint32_t first_use = 0;
  std::uint32_t num_uses = 0;
  std::uint32_t place = 0;  // in the list of flows that are on links
};

/// A link of a flow, in a list with the other flows on that link.
struct TableUse {
  FlowRow flow = 0;
  LinkId link = 0;
  std::uint32_t next = 0;      // use on the same link; kNoUse for the last
  std::uint32_t previous = 0;  // kNoUse for the first
  double load = 1;             // times the flow's level is what all flows of the class take
};

inline constexpr std::uint32_t kNoUse = ~std::uint32_t{0};

/// Which flows are on which links, in both directions. Uses of a link are a list through the one
/// array of uses, so that adding and removing a flow costs O(its links) and allocates nothing.
class FlowTable {
 public:
  /// Counts flows on links when `counts_flows`.
  FlowTable(std::uint32_t num_links, bool counts_flows)
      : first_use_(num_links, kNoUse), num_on_link_(counts_flows ? num_links : 0, 0.0) {}

  /// Adds a flow that is on no link yet; its links are `links`, not those of the demand.
  FlowRow Append(std::span<const LinkUse> links, const FlowDemand& demand);
  FlowRow Append(std::span<const LinkId> links, const FlowDemand& demand);

  void PutOnLinks(FlowRow flow);

  /// The row stays until Clear.
  void TakeOffLinks(FlowRow flow);

  void TakeAllOffLinks();

  /// Forgets all rows; no flow may be on a link.
  void Clear();

  [[nodiscard]] TableFlow& flow(FlowRow flow) { return flows_[flow]; }

  [[nodiscard]] const TableFlow& flow(FlowRow flow) const { return flows_[flow]; }

  [[nodiscard]] std::span<const TableUse> uses(FlowRow flow) const {
    return {uses_.data() + flows_[flow].first_use, flows_[flow].num_uses};
  }

  /// Calls `visit(use)` for every use of a link; the last that was put on comes first. `visit` may
  /// not put flows on links or take them off.
  template <typename Visit>
  void ForEachUse(LinkId link, const Visit& visit) const {
    for (std::uint32_t use = first_use_[link]; use != kNoUse; use = uses_[use].next) {
      visit(uses_[use]);
    }
  }

  /// Flows on a link, with their multiplicity; only when they are counted.
  [[nodiscard]] double num_on_link(LinkId link) const { return num_on_link_[link]; }

  /// Flows that are on links.
  [[nodiscard]] std::span<const FlowRow> active() const { return active_; }

  [[nodiscard]] std::size_t num_rows() const { return flows_.size(); }

  [[nodiscard]] std::uint32_t num_links() const {
    return static_cast<std::uint32_t>(first_use_.size());
  }

 private:
  FlowRow AppendRow(std::size_t num_uses, const FlowDemand& demand);
  void AppendUse(FlowRow row, LinkId link, double load);
  void Count(FlowRow row, double more);

  std::vector<TableFlow> flows_;
  std::vector<TableUse> uses_;
  std::vector<std::uint32_t> first_use_;  // by link; kNoUse when no flow is on it
  std::vector<double> num_on_link_;
  std::vector<FlowRow> active_;
};

}  // namespace orrery::network
