#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

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

struct TableUse {
  FlowRow flow = 0;
  LinkId link = 0;
  std::uint32_t next = 0;      // use on the same link; kNoUse for the last
  std::uint32_t previous = 0;  // kNoUse for the first
  double load = 1;             // times the flow's level is what all flows of the class take
};

inline constexpr std::uint32_t kNoUse = ~std::uint32_t{0};

/// The flows on each link and the links of each flow. Uses of a link are a list through the one
/// array of uses, so that adding and removing a flow costs O(its links) and allocates nothing.
class FlowTable {
 public:
  FlowTable(std::uint32_t num_links, bool counts_flows)
      : first_use_(num_links, kNoUse), num_on_link_(counts_flows ? num_links : 0, 0.0) {}

  /// Adds a flow that is on no link yet; its links are `links`, not those of the demand.
  FlowRow Append(std::span<const LinkUse> links, const FlowDemand& demand);
  FlowRow Append(std::span<const LinkId> links, const FlowDemand& demand);

  void PutOnLinks(FlowRow flow);

  /// The row stays until Clear.
  void TakeOffLinks(FlowRow flow);

  void TakeAllOffLinks();
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

struct CongestionModel;

/// Keeps the levels of the flows of a table max-min fair while flows are added and removed.
///
/// A set of flows, at first the new ones and those limited by a link that changed, is filled
/// against what all others hold. The result is the max-min fair one if every flow has a
/// full link on which no flow has a higher level, or is at its cap (Bertsekas and Gallager, Data
/// Networks, 6.5.2). Where that fails, the flows concerned join the set and it is filled again.
/// The set only grows, so this ends; when it has half of all flows, all are filled at once.
///
/// Filling raises all levels together. While many links become full at one level, rounds over a
/// list of open links are cheapest; then a heap of links by level takes over. Levels of links only
/// rise, so an entry of the heap is looked at again instead of being moved. When all flows are
/// filled, a link with one flow is no more than a cap of that flow.
class FairFilling {
 public:
  /// `loses_goodput` has a byte for each link; both may be empty.
  FairFilling(FlowTable& table, std::vector<double> capacity_of_link,
              const CongestionModel* congestion, std::vector<std::uint8_t> loses_goodput);

  void FlowAdded(FlowRow flow) { Join(flow); }

  void FlowRemoved(FlowRow flow);

  [[nodiscard]] bool is_stale() const { return !set_.empty() || !changed_links_.empty(); }

  /// A flow that was filled, with its level before; the new one is in the table.
  struct Filled {
    FlowRow flow;
    double old_level;
  };

  /// To be called after all flows were taken off their links, in place of FlowRemoved for each.
  void AllFlowsRemoved() { ForgetChanges(); }

  /// Makes the table fair again and returns the flows that were filled.
  [[nodiscard]] std::span<const Filled> Refill();

 private:
  enum Mark : std::uint8_t { kOutside, kFrozen, kOpen };  // kFrozen and kOpen: in the set

  // A link during a filling. Small, for a filling of all flows touches all links.
  struct OpenLink {
    double rest = 0;
    double load = 0;          // of open flows
    std::uint32_t open = 0;   // flows
    std::uint32_t round = 0;  // of the refill for which the link was looked at

    double Level() const;
  };

  // The additional state of a link with some flows outside the set.
  struct SharedLink {
    double fixed_rest = 0;  // capacity minus the rates of flows outside the set
    double set_load = 0;    // of the flows in the set
    std::uint32_t num_fixed = 0;
    std::uint32_t num_set = 0;
    double full_level = 0;     // at which it became the bottleneck of flows; infinite when of none
    double highest_level = 0;  // of flows in the set
  };

  // A level that a flow cannot exceed, whatever others do: its own cap, or that of a link on which
  // it is alone.
  struct Cap {
    double level = 0;
    FlowRow flow = 0;
    LinkId link = kNoLink;

    auto operator<=>(const Cap&) const = default;
  };

  void Join(FlowRow row) {
    if (mark_.size() < table_->num_rows()) {
      mark_.resize(table_->num_rows(), kOutside);
    }
    if (mark_[row] == kOutside) {
      mark_[row] = kFrozen;
      set_.push_back(row);
    }
  }

  void JoinAll();
  void JoinLimitedBy(LinkId link);
  void JoinViolated(LinkId link);
  void JoinOverloaded();
  void Absorb();
  void AbsorbAll();
  void AbsorbAmongAll(FlowRow flow);
  void AbsorbShared(FlowRow flow);
  void OpenShared(LinkId link);

  void ForgetChanges();

  bool IsMostOfAll() const { return set_.size() * 2 > table_->active().size(); }

  bool HasNewcomers() const { return num_absorbed_ < set_.size(); }

  double Capacity(LinkId link) const {
    return congestion_ == nullptr ? capacity_[link] : CongestedCapacity(link);
  }

  double CongestedCapacity(LinkId link) const;

  void Fill();
  void BeginFill();
  void BeginSharedFill();
  void FillInRounds();
  void FillByHeap();
  double CompactOpenLinks();
  bool FreezeCapped(double up_to_level);
  void FreezeLink(LinkId link, double level);
  void Freeze(FlowRow flow, double level, LinkId bottleneck);

  FlowTable* table_;
  std::vector<double> capacity_;
  const CongestionModel* congestion_;
  std::vector<std::uint8_t> loses_goodput_;

  std::vector<OpenLink> open_;
  std::vector<SharedLink> shared_;
  std::vector<LinkId> set_links_;  // links of flows in the set
  std::vector<LinkId> changed_links_;
  std::vector<std::uint8_t> is_changed_;  // by link
  std::vector<FlowRow> set_;
  std::vector<Filled> filled_;
  std::size_t num_absorbed_ = 0;  // flows of the set that are in the sums of their links
  bool has_all_ = false;
  std::uint32_t round_ = 0;

  std::vector<Mark> mark_;    // by row
  std::size_t num_open_ = 0;  // flows
  std::vector<LinkId> open_links_;
  std::vector<std::pair<double, LinkId>> heap_;
  std::vector<Cap> caps_;  // of the set, ascending
  std::size_t next_cap_ = 0;
};

}  // namespace orrery::network
