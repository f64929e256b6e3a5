#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {

/// Counts up over the lifetime of a simulation.
using FlowId = std::uint64_t;

struct CongestionModel;

struct FlowSpec {
  double bytes = 0;
  std::int64_t start_ps = 0;  // when the first byte is sent; add latencies to it or to the end
  double weight = 1;
  double cap_bytes_per_second = std::numeric_limits<double>::infinity();
  double multiplicity = 1;  // of a class of equal flows over the same links, each of `bytes`
};

struct FlowEnd {
  FlowId flow = 0;
  std::int64_t time_ps = 0;
};

struct FlowSimulationOptions {
  /// When set, links of the kind kNetwork lose goodput as flows compete for them.
  const CongestionModel* congestion = nullptr;
  /// A flow that would end within this share of its age after others ends with them: 0 is exact;
  /// 0.01 makes all-to-all over hashed paths cheap.
  double merge_ends_within = 0;
};

/// Counts of work, for benchmarks and tests of complexity.
struct FlowSimulationWork {
  std::uint64_t updates = 0;       // times at which rates changed
  std::uint64_t filled_flows = 0;  // flows whose rates were computed, over all updates
};

/// Flows over links, max-min fair at every moment, in integer picoseconds as the simulator's clock.
/// An end is rounded up to a picosecond, or to the nearest when it is nearer than 1e-12 of its
/// span, so that noise of the last digit does not split what ends together.
///
/// Incremental: when flows start or end, only flows whose rate changes are filled again. A set of
/// flows is filled against what the others hold; then every flow must have a full link on which
/// none is faster, or be at its cap, which makes the result the max-min fair one. Flows next to a
/// violation join the set, until none is left. Bytes are advanced only when a rate changes.
/// Traffic on disjoint links costs O(path length + log flows) for each flow.
///
/// Deterministic: the same calls give the same answers; flows that end together are returned in the
/// order of their ids.
class FlowSimulation {
 public:
  explicit FlowSimulation(const Topology& topology, FlowSimulationOptions options = {});
  /// For tests and other networks: `capacity_of_link` in bytes per second, all above zero.
  explicit FlowSimulation(std::span<const double> capacity_of_link);
  FlowSimulation(FlowSimulation&&) noexcept;
  FlowSimulation& operator=(FlowSimulation&&) noexcept;
  ~FlowSimulation();

  /// Adds a flow that starts now or later; ids count up from 0. A flow without bytes, or without
  /// links and cap, ends when it starts.
  FlowId Add(std::span<const LinkUse> uses, const FlowSpec& spec);
  FlowId Add(std::span<const LinkId> path, const FlowSpec& spec);

  [[nodiscard]] std::int64_t now_ps() const;
  [[nodiscard]] std::optional<std::int64_t> NextEventPs();

  /// Advances to the next time at which flows end and returns them; empty when all have ended.
  /// Flows may be added between calls, with a start not before the ends that were returned.
  std::span<const FlowEnd> Advance();

  /// Runs until all flows have ended and returns the time of each, by id; 0 for flows that had
  /// ended before.
  std::vector<std::int64_t> Run();

  /// The present rate of a flow in bytes per second; 0 before its start and after its end.
  [[nodiscard]] double rate(FlowId flow);

  [[nodiscard]] const FlowSimulationWork& work() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace orrery::network
