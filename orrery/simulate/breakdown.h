#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/simulate/engine.h"
#include "orrery/simulate/rank_classes.h"

namespace orrery::simulate {

/// What a GPU does at an instant; of several the first in this order counts.
enum class TimeKind : std::uint8_t {
  kCompute,    // a kernel runs; by its category
  kOptimizer,  // a kernel of the optimizer runs
  kTransfer,   // nothing but communication runs; by its dimension
  kBubble,     // waits for a stage of the pipeline, or has nothing to do in one
  kWait,       // waits for other members of a group; by its dimension
  kHost,       // the next task is not launched yet
  kIdle,       // nothing runs between kernels, where there is no pipeline
};

/// "compute", "optimizer", "transfer", "bubble", "wait", "host", "idle".
[[nodiscard]] std::string_view Name(TimeKind kind);

struct TimeShare {
  TimeKind kind = TimeKind::kCompute;
  std::string what;  // a category or a dimension; empty for the other kinds
  std::int64_t ps = 0;

  bool operator==(const TimeShare&) const = default;
};

/// Where the time of a step goes on one rank class; the shares add up to the step.
struct Breakdown {
  RankClassId rank_class = 0;
  std::int64_t step_ps = 0;
  std::vector<TimeShare> shares;  // by kind, then by name; none is empty

  /// The sum over what it is spent for.
  [[nodiscard]] std::int64_t TotalPs(TimeKind kind) const;
};

struct BreakdownOptions {
  std::optional<RankClassId> rank_class = std::nullopt;  // SlowestRankClass unless it says so
  int repetition = 0;
};

/// What a GPU does from one instant to another.
struct TimeSlice {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  TimeKind kind = TimeKind::kCompute;
  std::string what;           // as in TimeShare
  bool communicates = false;  // communication runs or waits, and no kernel runs

  bool operator==(const TimeSlice&) const = default;
};

/// The first word of a role's name: "tp", "pp" of "pp forward 0".
[[nodiscard]] std::string DimensionOf(const workload::Program& program, std::uint32_t role);

/// Whether some rank class talks to other stages of a pipeline, so that it may wait in a bubble.
[[nodiscard]] bool HasPipeline(const RankClasses& rank_classes);

/// The rank class that ends last; of several the one with most kernel time, then the first.
[[nodiscard]] RankClassId SlowestRankClass(const RankClasses& rank_classes,
                                           const Timeline& timeline, int repetition = 0);

/// Divides the time from the end of the repetition before (of all classes) to the end of this one.
/// A pause belongs to the host until the task that ends it is handed over, and after the last task
/// of the streams while the host still works. O(tasks · log tasks).
[[nodiscard]] Breakdown BreakdownOf(const RankClasses& rank_classes, const Timeline& timeline,
                                    const BreakdownOptions& options = {});

/// The same along time: slices in order that follow each other from the begin of the repetition to
/// its end.
[[nodiscard]] std::vector<TimeSlice> SlicesOf(const RankClasses& rank_classes,
                                              const Timeline& timeline,
                                              const BreakdownOptions& options = {});

/// Time in which communication runs and no kernel does, by rank class, in the first repetition.
[[nodiscard]] std::vector<std::int64_t> ExposedPsOfRankClasses(const RankClasses& rank_classes,
                                                               const Timeline& timeline);

/// What one rank communicates in a step along one dimension of its plan.
struct DimensionTotal {
  std::string dimension;  // "tp", "dp", …
  std::int64_t calls = 0;
  std::int64_t bytes = 0;        // as collective::Request counts
  std::int64_t transfer_ps = 0;  // while data moves
  std::int64_t wait_ps = 0;      // until the last member has arrived
  std::int64_t exposed_ps = 0;   // of both, what no kernel hides; of "pp" only the moving

  bool operator==(const DimensionTotal&) const = default;
};

/// Adds up the communication of the rank class of a breakdown, most exposed first. Groups of one
/// rank are left out.
[[nodiscard]] std::vector<DimensionTotal> DimensionTotals(const RankClasses& rank_classes,
                                                          const Timeline& timeline,
                                                          const Breakdown& breakdown);

/// Time in which communication runs and no kernel does, the mean over all ranks: what
/// `orrery analyze` calls exposed on the traces of the same simulation. Waiting for a stage of the
/// pipeline counts when a message is awaited for it.
[[nodiscard]] std::int64_t MeanExposedPs(const RankClasses& rank_classes, const Timeline& timeline);

}  // namespace orrery::simulate
