#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/flow_network.h"
#include "orrery/collective/flow_plan.h"
#include "orrery/collective/request.h"
#include "orrery/network/congestion.h"
#include "orrery/network/flow_simulation.h"
#include "orrery/network/placement.h"

namespace orrery::collective {

/// The latencies of a collective.
struct HopLatencies {
  std::int64_t start_ps = 0;  // once
  std::int64_t intra_ps = 0;  // of a hop inside an island
  std::int64_t inter_ps = 0;  // of a hop between islands

  /// Picoseconds.
  [[nodiscard]] double Of(const Hops& hops) const;
};

/// Returns the latencies of a placement's links inside islands and between consecutive islands. The
/// start latency of the library is unknown.
[[nodiscard]] Result<HopLatencies> LinkLatencies(const network::Placement& placement,
                                                 FlowNetwork& network);

/// A transfer of another job on the same links.
struct OtherFlow {
  network::GpuId from = 0;
  network::GpuId to = 0;
  double bytes = 0;
  std::int64_t start_ps = 0;  // the collective starts at 0
};

struct FlowLevelOptions {
  FlowPlanOptions plan{};
  WireShares shares{};
  std::optional<HopLatencies> latencies{};               // default: those of the links
  const network::CongestionModel* congestion = nullptr;  // none when null
  double merge_ends_within = 0;                          // see FlowSimulationOptions
  std::span<const OtherFlow> other_traffic{};
};

struct FlowLevelTime {
  double seconds = 0;
  /// The slowest link for the bytes of the collective and other traffic, of those that the
  /// collective used: "nic3 → leaf0". Empty if it used none.
  std::string bottleneck;
  double bottleneck_share = 0;  // share of the time that the collective itself kept it busy
};

/// Returns the time of a collective from its flows. Without other traffic and congestion no
/// simulation is needed: flows of a stage have equal bytes, so max-min sharing gives those on the
/// most loaded link the lowest rate until they end together, and a stage takes as long as its most
/// loaded link. O(links of all paths); else a FlowSimulation. Fails if ranks cannot reach each
/// other or the algorithm does not support the collective.
[[nodiscard]] Result<FlowLevelTime> FlowLevelTimeOf(const Request& request, Algorithm algorithm,
                                                    const network::Placement& placement,
                                                    FlowNetwork& network,
                                                    const FlowLevelOptions& options = {});

/// A collective in progress in a simulation with other traffic. The owner of the simulation
/// advances it and passes ended flows to every run:
///
/// CollectiveRun run(plan, latencies, shares, network, simulation);
/// ORRERY_TRY_STATUS(run.Start(start_ps)); while (!run.end_ps()) {
/// ORRERY_TRY_STATUS(run.Take(simulation.Advance())); }
///
/// The latency of a stage precedes its bytes. All arguments must outlive the run.
class CollectiveRun {
 public:
  CollectiveRun(const FlowPlan& plan, const HopLatencies& latencies, const WireShares& shares,
                FlowNetwork& network, network::FlowSimulation& simulation);

  /// Adds the bytes of the run on each link to `load_of_link`, scaled to its full bandwidth.
  void CountInto(std::vector<double>& load_of_link) { load_of_link_ = &load_of_link; }

  /// Adds the flows of the first stage; `start_ps` is now or later.
  [[nodiscard]] Status Start(std::int64_t start_ps);

  /// Processes ended flows, including those of others; adds the next stage when one is complete.
  [[nodiscard]] Status Take(std::span<const network::FlowEnd> ended);

  /// The end of the collective; nothing while it is in progress.
  [[nodiscard]] std::optional<std::int64_t> end_ps() const { return end_ps_; }

 private:
  /// Adds the next stage that has flows; ends when there is none.
  [[nodiscard]] Status AddStages(std::int64_t start_ps);
  [[nodiscard]] Status AddFlows(const FlowPlan::Stage& stage, std::int64_t start_ps);

  const FlowPlan& plan_;
  HopLatencies latencies_;
  WireShares shares_;
  FlowNetwork& network_;
  network::FlowSimulation& simulation_;
  std::vector<double>* load_of_link_ = nullptr;
  std::size_t stage_ = 0;
  network::FlowId first_flow_ = 0;  // of the stage
  network::FlowId end_flow_ = 0;
  std::size_t unfinished_ = 0;
  std::int64_t last_end_ps_ = 0;
  std::optional<std::int64_t> end_ps_;
};

}  // namespace orrery::collective
