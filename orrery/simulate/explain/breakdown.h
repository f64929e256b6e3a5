#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"

namespace orrery::simulate {

using analyze::TimeKind;

struct TimeShare {
  TimeKind kind = TimeKind::kCompute;
  std::string what;  // a category or a dimension; empty for the other kinds
  std::int64_t ps = 0;

  bool operator==(const TimeShare&) const = default;
};

/// A share for programs: "compute.products", "exposed.tp", "wait.dp", "bubble", "host", "idle",
/// "optimizer".
[[nodiscard]] std::string ShareKey(const TimeShare& share);

/// The group of all ranks as a dimension: of a job, that of the grad-norm all-reduce.
inline constexpr std::string_view kAllRanks = "all";

/// The dimension of messages between the stages of a pipeline.
inline constexpr std::string_view kPipeline = "pp";

/// A share for people: "GEMMs", "tp communication, exposed", "pipeline bubble", …
[[nodiscard]] std::string ShareText(const TimeShare& share);

/// "tp communication", "global synchronisation".
[[nodiscard]] std::string CommunicationText(std::string_view dimension);

/// Parts of the time of a step on one rank class; the shares add up to the step.
struct Breakdown {
  RankClassId rank_class = 0;
  std::int64_t step_ps = 0;
  std::vector<TimeShare> shares;  // by kind, then by name; none is empty

  /// The sum over what it is spent for.
  [[nodiscard]] std::int64_t TotalPs(TimeKind kind) const;

  /// The shares by kind, those of a kind largest first.
  [[nodiscard]] std::vector<TimeShare> LargestFirst() const;
};

/// The time of kernels and of exposed communication inside a stage, without messages between
/// stages and without waiting.
[[nodiscard]] std::int64_t BusyPs(const Breakdown& breakdown);

/// Work of a GPU from one instant to another.
struct TimeSlice {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  TimeKind kind = TimeKind::kCompute;
  std::string what;           // as in TimeShare
  bool communicates = false;  // communication runs or waits, and no kernel runs

  bool operator==(const TimeSlice&) const = default;
};

/// The dimension of a role: "tp", "pp".
[[nodiscard]] std::string DimensionOf(const workload::Program& program, std::uint32_t role);

/// Returns true if some rank class talks to other stages of a pipeline, so that it may wait in a
/// bubble.
[[nodiscard]] bool HasPipeline(const RankClasses& rank_classes);

/// Divides the time from 0 to the end of all classes. A pause belongs to the host until the task
/// that ends it is handed over, and after the last task of the streams while the host still works.
/// O(tasks · log tasks).
[[nodiscard]] Breakdown BreakdownOf(const RankClasses& rank_classes, const Timeline& timeline,
                                    RankClassId rank_class);

/// For each program that ranks run, in order: its class with the most kernel time, of equals the
/// first.
[[nodiscard]] std::vector<RankClassId> SlowestOfPrograms(const RankClasses& rank_classes,
                                                         const Timeline& timeline);

/// The same along time: slices in order that follow each other, from `begin_ps` on.
[[nodiscard]] std::vector<TimeSlice> SlicesOf(const RankClasses& rank_classes,
                                              const Timeline& timeline, RankClassId rank_class,
                                              std::int64_t begin_ps = 0);

/// Communication of one rank in a step along one dimension of its plan.
struct DimensionTotal {
  std::string dimension;  // "tp", "dp", …
  std::int64_t calls = 0;
  std::int64_t bytes = 0;         // as collective::Request counts
  std::int64_t transfer_ps = 0;   // while data moves
  std::int64_t wait_ps = 0;       // until the last member has arrived
  std::int64_t exposed_ps = 0;    // of both, what no kernel hides; of "pp" only the moving
  std::int64_t contended_ps = 0;  // of the transfer, lost to others on the same links

  bool operator==(const DimensionTotal&) const = default;
};

/// Adds up the communication of the rank class of a breakdown, most exposed first. Groups of one
/// rank are left out.
[[nodiscard]] std::vector<DimensionTotal> DimensionTotals(const RankClasses& rank_classes,
                                                          const Timeline& timeline,
                                                          const Breakdown& breakdown);

/// Means over all ranks.
struct RankMeans {
  /// Communication runs and no kernel does: what `orrery analyze` calls exposed on the traces of
  /// the same simulation. Waiting for a stage of the pipeline counts when a message or a collective
  /// is awaited for it.
  std::int64_t exposed_ps = 0;
  std::int64_t bubble_ps = 0;

  bool operator==(const RankMeans&) const = default;
};

[[nodiscard]] RankMeans MeansOf(const RankClasses& rank_classes, const Timeline& timeline);

}  // namespace orrery::simulate
