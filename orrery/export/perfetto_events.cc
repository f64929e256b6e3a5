#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/export/event_args.h"
#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/row_index.h"

namespace orrery::exporting::perfetto {
namespace {

// Ids of arrows, unique in the file: those of different ranks and kinds never meet.
enum class FlowKind : std::uint64_t { kLaunch, kBackward, kOther };

std::uint64_t FlowId(const Rank& rank, FlowKind kind, RowId row) {
  return ((rank.index * 4 + static_cast<std::uint64_t>(kind) + 1) << 32U) | row;
}

class SliceWriter {
 public:
  SliceWriter(const Rank& rank, Sequence& sequence)
      : rank_(rank),
        sequence_(sequence),
        names_(rank.trace),
        launched_(rank.trace.activities.launch, rank.trace.runtime_calls.size()),
        backward_(rank.trace.host_ops.forward_op, rank.trace.host_ops.size()) {}

  void Write() {
    const std::span<const PlacedSlice> slices = rank_.layout.slices;
    WalkEdges(
        slices.size(), [&](std::size_t i) -> const PlacedSlice& { return slices[i]; },
        [&](std::size_t i) { Begin(slices[i]); },
        [&](std::size_t i) {
          sequence_.Start(event::kSliceEnd, TrackOf(slices[i]));
          sequence_.Write(Stamp(slices[i].end_ns));
        });
  }

 private:
  [[nodiscard]] std::uint64_t Stamp(std::int64_t at_ns) const {
    return static_cast<std::uint64_t>(at_ns - rank_.zero_ns);
  }

  [[nodiscard]] std::uint64_t TrackOf(const PlacedSlice& slice) const {
    return rank_.tracks.Lane(slice.track, slice.lane);
  }

  void Begin(const PlacedSlice& slice) {
    sequence_.Start(event::kSliceBegin, TrackOf(slice));
    sequence_.Category(names_.Category(slice));
    if (slice.kind == SliceKind::kWait) {
      sequence_.Name("wait");
    } else {
      sequence_.Name(names_.Name(slice));
    }
    VisitSliceArgs(rank_.trace, names_, slice, sequence_);
    AddFlows(slice);
    sequence_.Write(Stamp(slice.begin_ns));
  }

  void AddFlows(const PlacedSlice& slice) {
    if (slice.kind == SliceKind::kRuntimeCall) {
      StartFlows(launched_.Of(slice.row), FlowKind::kLaunch);
    }
    if (slice.kind == SliceKind::kActivity && rank_.trace.activities.launch[slice.row] != kNoRow) {
      sequence_.TerminatingFlow(FlowId(rank_, FlowKind::kLaunch, slice.row));
    }
    if (slice.kind == SliceKind::kHostOp) {
      StartFlows(backward_.Of(slice.row), FlowKind::kBackward);
      if (rank_.trace.host_ops.forward_op[slice.row] != kNoRow) {
        sequence_.TerminatingFlow(FlowId(rank_, FlowKind::kBackward, slice.row));
      }
    }
  }

  void StartFlows(std::span<const RowId> targets, FlowKind kind) {
    flow_ids_.clear();
    for (const RowId target : targets) {
      flow_ids_.push_back(FlowId(rank_, kind, target));
    }
    sequence_.Flows(flow_ids_);
  }

  const Rank& rank_;
  Sequence& sequence_;
  SliceNames names_;
  trace::RowsByTarget launched_;  // activities by runtime call
  trace::RowsByTarget backward_;  // backward operators by forward operator
  std::vector<std::uint64_t> flow_ids_;
};

enum class PointKind : std::uint8_t { kMemory, kCounter, kInstant, kArrowBegin, kArrowEnd };

struct Point {
  std::int64_t at_ns;
  PointKind kind;
  RowId row;

  auto operator<=>(const Point&) const = default;
};

void AddPoints(const std::vector<std::int64_t>& times, PointKind kind, std::vector<Point>& points) {
  for (RowId row = 0; row < times.size(); ++row) {
    points.push_back({times[row], kind, row});
  }
}

std::vector<Point> PointsInOrder(const trace::Trace& trace) {
  std::vector<Point> points;
  AddPoints(trace.memory_events.begin_ns, PointKind::kMemory, points);
  AddPoints(trace.counters.begin_ns, PointKind::kCounter, points);
  AddPoints(trace.instants.begin_ns, PointKind::kInstant, points);
  AddPoints(trace.flows.begin_ns, PointKind::kArrowBegin, points);
  AddPoints(trace.flows.end_ns, PointKind::kArrowEnd, points);
  std::ranges::sort(points);
  return points;
}

class PointWriter {
 public:
  PointWriter(const Rank& rank, Sequence& sequence)
      : rank_(rank), drawn_(rank.trace), sequence_(sequence) {}

  void Write(const Point& point) {
    switch (point.kind) {
      case PointKind::kMemory:
        return WriteMemory(point);
      case PointKind::kCounter:
        return WriteCounter(point);
      case PointKind::kInstant:
        return WriteInstant(point);
      case PointKind::kArrowBegin:
      case PointKind::kArrowEnd:
        return WriteArrowEnd(point);
    }
  }

 private:
  void Finish(const Point& point) {
    sequence_.Write(static_cast<std::uint64_t>(point.at_ns - rank_.zero_ns));
  }

  void StartInstant(RowId track, StringId name, std::string_view category) {
    sequence_.Start(event::kInstant, rank_.tracks.Lane(drawn_.Of(track)));
    sequence_.Category(category);
    sequence_.Name(name);
  }

  void WriteMemory(const Point& point) {
    const trace::MemoryEvents& table = rank_.trace.memory_events;
    StartInstant(table.track[point.row], table.name[point.row], "cpu_instant_event");
    VisitMemoryEventArgs(rank_.trace, point.row, sequence_);
    Finish(point);
    WriteMemoryCounter(point, "allocated", table.total_allocated_bytes[point.row]);
    WriteMemoryCounter(point, "reserved", table.total_reserved_bytes[point.row]);
  }

  void WriteMemoryCounter(const Point& point, std::string_view what, std::int64_t bytes) {
    if (bytes < 0) {
      return;
    }
    const std::string name = MemoryCounterName(rank_.trace, point.row) + " " + std::string(what);
    const std::int32_t device = rank_.trace.memory_events.device[point.row];
    sequence_.Start(event::kCounter, rank_.tracks.Counter(name, device, true));
    sequence_.Counter(bytes);
    Finish(point);
  }

  void WriteCounter(const Point& point) {
    const trace::Counters& table = rank_.trace.counters;
    const std::string_view name = rank_.trace.Text(table.name[point.row]);
    // Viewers cannot draw infinities and NaN.
    if (!std::isfinite(table.value[point.row])) {
      return;
    }
    sequence_.Start(event::kCounter, rank_.tracks.Counter(name, table.device[point.row], false));
    sequence_.Counter(table.value[point.row]);
    Finish(point);
  }

  void WriteInstant(const Point& point) {
    const trace::Instants& table = rank_.trace.instants;
    StartInstant(table.track[point.row], table.name[point.row],
                 rank_.trace.Text(table.category[point.row]));
    Finish(point);
  }

  void WriteArrowEnd(const Point& point) {
    const trace::Flows& table = rank_.trace.flows;
    const bool begins = point.kind == PointKind::kArrowBegin;
    StartInstant(begins ? table.begin_track[point.row] : table.end_track[point.row],
                 table.name[point.row], rank_.trace.Text(table.category[point.row]));
    const std::uint64_t id = FlowId(rank_, FlowKind::kOther, point.row);
    if (begins) {
      sequence_.Flows({&id, 1});
    } else {
      sequence_.TerminatingFlow(id);
    }
    Finish(point);
  }

  const Rank& rank_;
  DrawnTracks drawn_;
  Sequence& sequence_;
};

}  // namespace

void WriteSlices(const Rank& rank, Sequence& sequence) {
  SliceWriter(rank, sequence).Write();
}

void WritePoints(const Rank& rank, Sequence& sequence) {
  PointWriter writer(rank, sequence);
  for (const Point& point : PointsInOrder(rank.trace)) {
    writer.Write(point);
  }
}

}  // namespace orrery::exporting::perfetto
