#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/text/table.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/speedup.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {

/// The division of matched collectives' durations into waiting for others and moving data. The time
/// of a member is its wait and then its transfer; `transfer_ns` of the collective is the shortest
/// duration of a member, which needs no common clock.
struct CollectiveWaits {
  std::vector<std::int64_t> wait_ns;          // of each row of MatchedCollectives::members
  std::vector<std::int64_t> drain_ns;         // of that, for the drain of a pipeline: DrainWaits
  std::vector<std::int64_t> last_arrival_ns;  // of each instance
  std::vector<std::int64_t> transfer_ns;      // of each instance
  std::vector<std::uint32_t> last_member;     // of each instance: ties go to the lower rank
  /// Of each instance: 1 when it may enter statistics: matched without doubt, timed by kernels, and
  /// no member ended before all had arrived.
  std::vector<std::uint8_t> is_reliable;
  std::int64_t num_doubtful = 0;  // instances that are not
  /// [rank][row of Collectives]: the row of MatchedCollectives::members, or kNoRow. Rows
  /// that one coalesced call served share a member.
  std::vector<std::vector<RowId>> member_of_row;

  /// Returns how long a collective of a rank waited; 0 when it is unmatched or doubtful.
  [[nodiscard]] std::int64_t WaitOfRow(const trace::MatchedCollectives& matched,
                                       std::uint32_t rank_index, RowId row) const;

  /// Returns how much of that is for the drain of the rank's pipeline.
  [[nodiscard]] std::int64_t DrainOfRow(std::uint32_t rank_index, RowId row) const;
};

/// Splits by kind of operation: collectives whose outputs need every input wait for the last
/// member, a pair of send and receive for the later of the two (not when the send was buffered),
/// rooted operations for the root where it is known.
[[nodiscard]] CollectiveWaits SplitWaits(const trace::TraceSet& set,
                                         const trace::MatchedCollectives& matched);

class GraphHolder;
class StragglerHolder;

enum class LinkDirection : std::uint8_t { kBoth, kSent, kReceived };

/// Steps with `first` <= number < `end`.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t end = 0;
};

struct AnalyzeOptions {
  std::optional<StepRange> steps = {};   // none: all but the first and the last
  std::vector<std::int32_t> ranks = {};  // whose devices count; none: all
  std::int64_t min_bytes = 1 << 20;      // of messages whose bandwidth counts
  std::int64_t launch_gap_ns = 30'000;   // a shorter gap is the cost of launching
  trace::AlignClocks align = trace::AlignClocks::kIfItMatters;
  std::vector<trace::Speedup> what_if = {};  // see IsOfRecordedStep
  bool distribute_by_time = false;           // `traffic_distribution`: by time instead of bytes
  std::optional<std::int64_t> link = {};
  LinkDirection direction = LinkDirection::kBoth;
  std::int32_t gpu = 0;
  std::int32_t top = 1;
  bool nccl_only = false;
  int threads = 0;
};

/// A table read with the traces: counters, serving results, gate logs.
struct Measurement {
  std::string format;
  std::string file;
  const Table* rows = nullptr;
};

/// One selected step on one device, on the device's own time: from the first activity that the
/// step launched to the first one of the next step, so that windows tile the time.
struct Window {
  Interval time;
  std::int64_t last_end_ns = 0;  // of what the step launched
  RowId step = kNoRow;           // Steps of the rank; kNoRow: the whole recording
  std::int64_t number = -1;      // of the step
  std::int64_t marker_ns = 0;    // duration of the marker on the host
};

/// The division of a window's time. The first four are parts that sum to `window_ns`.
struct Breakdown {
  std::int64_t compute_ns = 0;                // some compute kernel runs
  std::int64_t exposed_communication_ns = 0;  // communication and no compute kernel
  std::int64_t exposed_memory_ns = 0;         // memcpys and memsets alone
  std::int64_t idle_ns = 0;
  std::int64_t window_ns = 0;
  std::int64_t communication_ns = 0;      // some communication kernel runs
  std::int64_t kernel_sum_ns = 0;         // durations added, clipped to the window
  std::int64_t communication_sum_ns = 0;  // … of communication kernels

  [[nodiscard]] std::int64_t busy_ns() const { return window_ns - idle_ns; }

  [[nodiscard]] std::int64_t hidden_communication_ns() const {
    return communication_ns - exposed_communication_ns;
  }

  Breakdown& operator+=(const Breakdown& other);
  bool operator==(const Breakdown&) const = default;
};

/// One device of one rank with what the selected steps did on it.
struct DeviceView {
  std::uint32_t rank_index = 0;  // TraceSet::ranks
  std::int32_t rank = 0;
  std::int32_t device = -1;
  std::vector<RowId> activities;      // all of the device, in order of begin
  std::vector<Window> windows;        // of the selected steps
  std::vector<Breakdown> breakdowns;  // of each window
  Breakdown total;                    // over the windows
  // Clipped to the windows.
  IntervalSet compute;
  IntervalSet communication;
  IntervalSet memory;
};

/// The input of all metrics: a run whose collectives are matched, clocks aligned, kernels
/// classified and steps selected. Made by ViewRun.
struct RunView {
  const trace::TraceSet* set = nullptr;
  AnalyzeOptions options;
  trace::MatchedCollectives matched;
  trace::ClockAlignment alignment;
  CollectiveWaits waits;
  std::vector<Measurement> measurements;
  std::vector<std::vector<trace::KernelClass>> classes;  // [rank][activity]
  std::vector<IntervalSet> selected;                     // [rank]: the windows of its devices
  std::vector<DeviceView> devices;              // of the chosen ranks, in order of rank and device
  std::shared_ptr<GraphHolder> graph;           // see GraphOf; shared, so that views can be copied
  std::shared_ptr<StragglerHolder> stragglers;  // see StragglersOf

  [[nodiscard]] const trace::Trace& TraceOf(const DeviceView& device) const {
    return set->ranks[device.rank_index];
  }

  [[nodiscard]] trace::KernelClass ClassOf(const DeviceView& device, RowId activity) const {
    return classes[device.rank_index][activity];
  }

  /// Returns true if a matched collective may enter statistics: it is reliable and its first member
  /// began in a selected step.
  [[nodiscard]] bool Counts(std::size_t instance) const;

  [[nodiscard]] bool IsSelected(std::uint32_t rank_index, std::int64_t begin_ns) const;
};

/// Prepares a run for the metrics: aligns its clocks (changing its times), matches collectives,
/// classifies kernels, selects steps. `set` must outlive the view. Linear in the events; ranks are
/// prepared in parallel.
[[nodiscard]] RunView ViewRun(trace::TraceSet& set, std::vector<Measurement> measurements,
                              const AnalyzeOptions& options);

/// The same for a run whose clocks are aligned already.
[[nodiscard]] RunView ViewRun(const trace::TraceSet& set, trace::AlignedRun aligned,
                              std::vector<Measurement> measurements, const AnalyzeOptions& options);

/// Returns the places in TraceSet::ranks of the chosen ranks, in order of rank.
[[nodiscard]] std::vector<std::uint32_t> ChosenRanks(const RunView& run);

/// Returns whether a step is selected on a rank with these steps (metrics.md 1.3: all but the first
/// and the last when there are more than two).
[[nodiscard]] std::vector<RowId> SelectedSteps(const trace::Trace& trace,
                                               const AnalyzeOptions& options);

/// Calls `visit(row)` for each activity of a device that begins in a selected window, in order of
/// time.
template <typename Visit>
void ForEachSelected(const RunView& run, const DeviceView& device, Visit&& visit) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  std::size_t window = 0;
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = activities.begin_ns[row];
    while (window < device.windows.size() && device.windows[window].time.end_ns <= begin_ns) {
      ++window;
    }
    if (window < device.windows.size() && device.windows[window].time.begin_ns <= begin_ns) {
      visit(row);
    }
  }
}

}  // namespace orrery::analyze
