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

/// A link of a flow. `load` times the flow's level is what all flows of the class take of it.
struct TableUse {
  LinkId link = 0;
  std::uint32_t place = 0;  // in the link's list of flows
  double load = 1;
};

/// A flow of a link.
struct FlowOnLink {
  FlowRow flow = 0;
  std::uint32_t use = 0;
  double load = 1;
};

/// Which flows are on which links, both ways round, so that adding and removing a flow costs
/// O(its links).
class FlowTable {
 public:
  explicit FlowTable(std::uint32_t num_links) : flows_on_link_(num_links), competing_(num_links) {}

  /// Adds a flow that is on no link yet.
  FlowRow Append(const FlowDemand& demand);

  void PutOnLinks(FlowRow flow);

  /// The row stays until Clear.
  void TakeOffLinks(FlowRow flow);

  /// Forgets all rows; no flow may be on a link.
  void Clear();

  [[nodiscard]] TableFlow& flow(FlowRow flow) { return flows_[flow]; }

  [[nodiscard]] const TableFlow& flow(FlowRow flow) const { return flows_[flow]; }

  [[nodiscard]] std::span<const TableUse> uses(FlowRow flow) const {
    return {uses_.data() + flows_[flow].first_use, flows_[flow].num_uses};
  }

  [[nodiscard]] std::span<const FlowOnLink> flows_on_link(LinkId link) const {
    return flows_on_link_[link];
  }

  /// Flows on a link, with their multiplicity.
  [[nodiscard]] double competing(LinkId link) const { return competing_[link]; }

  /// Flows that are on links.
  [[nodiscard]] std::span<const FlowRow> active() const { return active_; }

  [[nodiscard]] std::size_t num_rows() const { return flows_.size(); }

  [[nodiscard]] std::uint32_t num_links() const {
    return static_cast<std::uint32_t>(flows_on_link_.size());
  }

 private:
  std::vector<TableFlow> flows_;
  std::vector<TableUse> uses_;
  std::vector<std::vector<FlowOnLink>> flows_on_link_;
  std::vector<double> competing_;
  std::vector<FlowRow> active_;
};

}  // namespace orrery::network
