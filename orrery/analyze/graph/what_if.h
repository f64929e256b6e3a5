#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/replay.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze {

/// Which transfers a faster network changes.
enum class NetworkScope : std::uint8_t { kAll, kInsideNode, kAcrossNodes, kOneGroup };

struct NetworkChange {
  double speedup = 1.0;
  NetworkScope scope = NetworkScope::kAll;
  std::int64_t latency_ns = 0;      // the part of each transfer that does not change
  std::int64_t ranks_per_node = 0;  // of kInsideNode and kAcrossNodes
  std::uint32_t group = 0;          // of kOneGroup: MatchedCollectives::groups
};

/// Which activities a change concerns: those that fulfil all that is set.
struct ActivityFilter {
  std::string_view kernel = {};         // part of the kernel's name
  std::string_view from_operator = {};  // part of the name of an operator around its launch
  std::optional<trace::KernelClass> kernel_class = {};
  bool only_compute = false;
};

/// A question to a recorded step: change some weights, then ask for the new times. Changes add up.
/// Factors are of time: 0.5 is twice as fast. Scaled weights are rounded to the nanosecond, halves
/// up.
class WhatIf {
 public:
  /// Both must outlive the question.
  WhatIf(const RunView& run, const DependencyGraph& graph);

  WhatIf& SpeedUpNetwork(const NetworkChange& change);
  WhatIf& ScaleActivities(const ActivityFilter& filter, double factor);

  /// All time along and between threads, gaps included.
  WhatIf& ScaleHost(double factor);

  /// The own time of operators and calls whose name has this part.
  WhatIf& ScaleHostEvents(std::string_view name, double factor);

  WhatIf& SetLaunchLatency(std::int64_t latency_ns);

  /// Shortens host and compute time of a rank between collectives of a group so that it needs as
  /// long as the median of the group's ranks.
  WhatIf& RemoveLateness(std::int32_t rank);

  WhatIf& RemoveStragglers();

  /// Takes away the part of each transfer during which its rank computes nothing.
  WhatIf& OverlapPerfectly();

  /// Takes away delays that no edge explains.
  WhatIf& RemoveUnexplained();

  [[nodiscard]] std::vector<std::int64_t> Times() const {
    return Replay(graph_, weight_ns_, options_);
  }

  [[nodiscard]] std::int64_t StepNs() const;

  [[nodiscard]] const std::vector<std::int64_t>& weight_ns() const { return weight_ns_; }

 private:
  const RunView& run_;
  const DependencyGraph& graph_;
  std::vector<std::int64_t> weight_ns_;
  ReplayOptions options_;
};

/// Returns nanoseconds times a factor, halves up.
[[nodiscard]] std::int64_t ScaleNs(std::int64_t duration_ns, double factor);

}  // namespace orrery::analyze
