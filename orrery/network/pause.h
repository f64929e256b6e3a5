#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/network/fair_filling.h"
#include "orrery/network/topology.h"

namespace orrery::network {

/// Two links that a flow takes one after the other.
struct LinkPair {
  LinkId before = 0;
  LinkId after = 0;

  auto operator<=>(const LinkPair&) const = default;
};

/// The effect of pause frames (PFC) on flows that share links max-min fair.
///
/// A flow that gets less on a link than it could send makes the switch in front of that link pause
/// the links from which the flow arrives. A paused link holds back all that is on it, in order of
/// arrival: each flow gets the same part of what it would have there if only that link were short,
/// so that the flow which causes the pause gets what the full link gives it. Others on the paused
/// link are victims, and make links in front of it pause in turn.
///
/// Levels only fall, so none is above its max-min fair one; what victims leave is not given to
/// others. A round spreads pauses by one link, so that it ends after as many rounds as a path has
/// links, unless buffers wait for each other in a cycle.
class PauseSpread {
 public:
  /// The table must outlive it.
  PauseSpread(const FlowTable& table, std::vector<double> capacity_of_link);

  /// Says which links lead to which on the paths of a row; must outlive it. Without, a row is a
  /// victim only.
  void SetPairs(FlowRow flow, std::span<const LinkPair> pairs);

  /// Follows the levels of the table; returns the flows on links whose level changed, with their
  /// level before.
  [[nodiscard]] std::span<const FairFilling::Filled> Refresh();

  /// The level of a flow with pauses.
  [[nodiscard]] double LevelOf(FlowRow flow) const { return rows_[flow].level; }

 private:
  struct Row {
    double level = 0;
    double shown_level = -1;  // that Refresh returned last
    std::span<const LinkPair> pairs;
    std::vector<LinkId> held_at;  // links that give it less than it could send
  };

  // A flow that makes a link in front of the one that holds it pause.
  struct Cause {
    LinkId link = 0;
    FlowRow flow = 0;
  };

  // The level at which a paused link limits a flow.
  struct Limit {
    FlowRow flow = 0;
    LinkId link = 0;
    double level = 0;
  };

  // The load that a flow offers to a link.
  struct Offer {
    FlowRow flow = 0;
    double load = 0;
    double level = 0;
  };

  [[nodiscard]] bool IsHeld(FlowRow flow) const;
  [[nodiscard]] bool IsBottleneck(FlowRow flow, LinkId link) const;
  [[nodiscard]] bool IsHeldAt(FlowRow flow, LinkId link) const;
  void FindBottlenecks();
  void FindCauses();
  void AddCausesOf(FlowRow flow);
  void PauseLink(std::span<const Cause> causes);
  [[nodiscard]] double FairLevel(LinkId link);
  bool ApplyLimits();

  const FlowTable& table_;
  std::vector<double> capacity_;
  std::vector<Row> rows_;
  std::vector<FlowRow> held_;  // ascending
  std::vector<Cause> causes_;
  std::vector<Limit> limits_;
  std::vector<Offer> offers_;
  std::vector<std::uint64_t> reached_;  // by link: the walk that came to it
  std::uint64_t walk_ = 0;
  std::vector<FairFilling::Filled> changed_;
};

}  // namespace orrery::network
