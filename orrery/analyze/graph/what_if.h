#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/speedup.h"

namespace orrery::analyze {

/// Returns the median, the mean of two in the middle with halves up; there must be a value.
[[nodiscard]] std::int64_t MedianNs(std::vector<std::int64_t> values_ns);

/// Returns the time of each node with other weights (by edge): the latest of its edges plus its
/// recorded residual. With the graph's own weights every time is as recorded. With
/// `rendezvous_at_median` a rendezvous takes the median instead of the latest time of its members,
/// and later members start then. The recorded order on every lane is kept; contention between
/// kernels is not modelled.
[[nodiscard]] std::vector<std::int64_t> Replay(const DependencyGraph& graph,
                                               std::span<const std::int64_t> weight_ns,
                                               bool rendezvous_at_median = false);

struct NetworkChange {
  double speedup = 1.0;
  std::int64_t latency_ns = 0;      // the part of each transfer that does not change
  std::int64_t ranks_per_node = 0;  // above 0: only transfers inside a node change
};

/// Selects activities that match every criterion that is set.
struct ActivityFilter {
  std::string_view kernel = {};         // part of the kernel's name
  std::string_view from_operator = {};  // part of the name of an operator around its launch
  std::optional<trace::KernelClass> kernel_class = {};
  std::optional<trace::Part> part = {};  // compute kernels: kGemm, kAttention, kOptimizer, kOther
  bool only_compute = false;
};

/// Returns false for parts that a recording does not tell apart: NICs, links, FLOP/s and HBM.
[[nodiscard]] bool IsOfRecordedStep(trace::Part part);

/// Changes the weights of a recorded step and replays it. Changes accumulate. Factors scale time:
/// 0.5 is twice as fast. Scaled weights are rounded to the nanosecond, halves up.
class WhatIf {
 public:
  /// Both must outlive this object.
  WhatIf(const RunView& run, const DependencyGraph& graph);

  WhatIf& SpeedUpNetwork(const NetworkChange& change);
  WhatIf& ScaleActivities(const ActivityFilter& filter, double factor);

  /// All time along and between threads, gaps included.
  WhatIf& ScaleHost(double factor);

  WhatIf& SetLaunchLatency(std::int64_t latency_ns);

  /// Shortens host and compute time of a rank between collectives of a group so that it needs as
  /// long as the median of the group's ranks.
  WhatIf& RemoveLateness(std::int32_t rank);

  WhatIf& RemoveStragglers();

  /// Applies the speedup of a part that IsOfRecordedStep. `latency_ns` is the part of each transfer
  /// that a faster network does not shorten (KeptLatencyNs).
  WhatIf& Apply(const trace::Speedup& speedup, std::int64_t latency_ns);

  /// Removes the part of each transfer during which its rank computes nothing.
  WhatIf& OverlapPerfectly();

  [[nodiscard]] std::vector<std::int64_t> Times() const {
    return Replay(graph_, weight_ns_, rendezvous_at_median_);
  }

  /// Returns the length of the critical path with the changes.
  [[nodiscard]] std::int64_t PathNs() const;

  [[nodiscard]] const std::vector<std::int64_t>& weight_ns() const { return weight_ns_; }

 private:
  const RunView& run_;
  const DependencyGraph& graph_;
  std::vector<std::int64_t> weight_ns_;
  bool rendezvous_at_median_ = false;
};

/// Returns which share of the step time (or recorded span) is saved where the critical path takes
/// `path_ns` in a replay; below 0: it costs. The step is shorter by what the path saves; where the
/// path is longer than the step, because steps overlap, both change in proportion.
[[nodiscard]] double SavedShare(const RunView& run, const DependencyGraph& graph,
                                std::int64_t path_ns);

/// Returns the step time (or recorded span) that is left.
[[nodiscard]] double ReplayedSeconds(const RunView& run, const DependencyGraph& graph,
                                     std::int64_t path_ns);

/// The step time that a replay of the graph's step saves without the lateness of a rank: of this
/// rank alone, and together with all ranks before it.
struct SavedTime {
  std::int64_t alone_ns = 0;
  std::int64_t together_ns = 0;
};

/// Returns it for the first of `ranks`, three at most, that were last at a collective; empty where
/// the run has no step that all ranks have.
[[nodiscard]] std::vector<SavedTime> SavedWithoutLateness(const RunView& run,
                                                          const std::vector<RankArrivals>& ranks);

/// Returns the part of an all-reduce that a faster network does not shorten: the fitted latency of
/// its ring steps; 0 where there are too few to fit one.
[[nodiscard]] std::int64_t KeptLatencyNs(const RunView& run);

}  // namespace orrery::analyze
