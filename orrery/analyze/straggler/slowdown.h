#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/base/error.h"

namespace orrery::analyze {

/// The worker that runs operations: one recorded rank, with its data-parallel rank and pipeline
/// stage if the recording has them.
struct StragglerWorker {
  std::int32_t rank = 0;
  std::int32_t dp_rank = -1;
  std::int32_t stage = -1;
};

/// The graph of a step without launch delays (every residual is 0), and which operation each edge
/// stands for.
struct OperationGraph {
  DependencyGraph graph;
  std::vector<std::uint32_t> edge_class;   // OperationSteps::classes; kNoLabel: keeps its weight
  std::vector<std::uint32_t> edge_worker;  // OperationSteps::workers
};

/// One step: by edge of its graph what was measured, and what is ideal.
struct OperationStep {
  std::size_t graph = 0;  // OperationSteps::graphs
  std::int64_t number = -1;
  std::int64_t measured_ns = 0;  // the whole step, launch delays included
  std::vector<std::int64_t> weight_ns = {};
  std::vector<std::int64_t> ideal_ns = {};
};

/// Steps of a run as operations of a few classes on workers. The ideal duration of an operation is
/// one for all workers: the mean for compute, the median for communication, whose duration is the
/// transfer from the last arrival in its group on. The definitions of "Understanding Stragglers in
/// Large Model Training Using What-if Analysis": docs/design/0015-stragglers.md.
struct OperationSteps {
  std::vector<std::string> classes;
  std::vector<StragglerWorker> workers;
  std::vector<OperationGraph> graphs;
  std::vector<OperationStep> steps;
};

/// The time of a step in three replays.
struct StepSlowdown {
  std::int64_t number = -1;
  std::int64_t measured_ns = 0;  // as recorded (t_base)
  std::int64_t nodelay_ns = 0;   // no launch delays (t_nodelay)
  std::int64_t ideal_ns = 0;     // and ideal durations (t_noblk)
};

/// The part of the slowdown that a set of workers explains.
struct SlowdownShare {
  std::vector<std::size_t> workers;  // StragglerSlowdown::workers
  double fixed_ns = 0;               // mean step where only they are ideal (trem)
  double alone_ns = 0;               // mean step where all others are ideal (tadd)
  std::optional<double> removed;     // of the slowdown, without theirs: M_W, M_S (rem)
  std::optional<double> added;       // of the slowdown, theirs alone (add)
};

/// The cost of stragglers. A slowdown is a mean step over the ideal mean step; of a class, a stage,
/// a data-parallel rank or a worker: with its measured durations, all others ideal.
struct StragglerSlowdown {
  std::vector<StepSlowdown> steps;
  double measured_ns = 0;  // means over the steps
  double nodelay_ns = 0;
  double ideal_ns = 0;
  double slowdown = 1;         // nodelay / ideal (S, blocking_slowdown)
  double launch_slowdown = 1;  // measured / nodelay

  std::vector<std::string> classes;
  std::vector<double> by_class;
  std::vector<std::int32_t> stages;
  std::vector<double> by_stage;
  std::vector<std::int32_t> dp_ranks;
  std::vector<double> by_dp_rank;
  std::vector<StragglerWorker> workers;
  /// The lower slowdown of the worker's stage and data-parallel rank if both are known, as
  /// published; else that of the worker itself. Nothing: not replayed, since other workers took
  /// longer.
  std::vector<std::optional<double>> by_worker;

  SlowdownShare worst_workers;              // the worst 3 %, rounded up (M_W)
  std::optional<SlowdownShare> last_stage;  // (M_S); nothing where there is one stage, or unknown

  /// The class of operations and the worker that cost most, those that come first among equals.
  [[nodiscard]] const std::string& WorstClass() const;
  [[nodiscard]] const StragglerWorker& WorstWorker() const;
};

/// Replays every step with ideal durations for all, for all but one class, and so on. One pass over
/// the edges for each; replays in parallel, and the same result for any number of threads. Fails
/// where the operations take no time.
[[nodiscard]] Result<StragglerSlowdown> MeasureStragglers(const OperationSteps& operations,
                                                          int threads);

/// Returns the mean, rounded to the nanosecond; there must be a value.
[[nodiscard]] std::int64_t MeanNs(const std::vector<std::int64_t>& values_ns);

/// Sets the time of every node to the earliest that its edges allow: no launch delays.
void RemoveDelays(DependencyGraph& graph);

}  // namespace orrery::analyze
