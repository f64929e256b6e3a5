#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/export/event_args.h"
#include "orrery/export/memory_counters.h"
#include "orrery/export/perfetto_rank.h"

namespace orrery::exporting::perfetto {
namespace {

using trace::Trace;

enum class PointKind : std::uint8_t { kMemory, kCounter, kInstant, kArrowBegin, kArrowEnd };

struct Point {
  std::int64_t at_ns;
  PointKind kind;
  RowId row;

  friend bool operator<(const Point& lhs, const Point& rhs) {
    return std::tie(lhs.at_ns, lhs.kind, lhs.row) < std::tie(rhs.at_ns, rhs.kind, rhs.row);
  }
};

void AddPoints(const std::vector<std::int64_t>& times, PointKind kind, std::vector<Point>& points) {
  for (RowId row = 0; row < times.size(); ++row) {
    points.push_back({times[row], kind, row});
  }
}

std::vector<Point> PointsInOrder(const Trace& trace) {
  std::vector<Point> points;
  AddPoints(trace.memory_events.begin_ns, PointKind::kMemory, points);
  AddPoints(trace.counters.begin_ns, PointKind::kCounter, points);
  AddPoints(trace.instants.begin_ns, PointKind::kInstant, points);
  AddPoints(trace.flows.begin_ns, PointKind::kArrowBegin, points);
  AddPoints(trace.flows.end_ns, PointKind::kArrowEnd, points);
  std::sort(points.begin(), points.end());
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

  void StartMark(RowId track, StringId name, std::string_view category) {
    sequence_.Start(event::kInstant, rank_.tracks.Lane(drawn_.Of(track)));
    sequence_.Category(category);
    sequence_.Name(name);
  }

  void WriteMemory(const Point& point) {
    const trace::MemoryEvents& table = rank_.trace.memory_events;
    StartMark(table.track[point.row], table.name[point.row], "cpu_instant_event");
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
    // Viewers cannot draw what is no number.
    if (!std::isfinite(table.value[point.row])) {
      return;
    }
    sequence_.Start(event::kCounter, rank_.tracks.Counter(name, table.device[point.row], false));
    sequence_.Counter(table.value[point.row]);
    Finish(point);
  }

  void WriteInstant(const Point& point) {
    const trace::Instants& table = rank_.trace.instants;
    StartMark(table.track[point.row], table.name[point.row],
              rank_.trace.Text(table.category[point.row]));
    Finish(point);
  }

  void WriteArrowEnd(const Point& point) {
    const trace::Flows& table = rank_.trace.flows;
    const bool begins = point.kind == PointKind::kArrowBegin;
    StartMark(begins ? table.begin_track[point.row] : table.end_track[point.row],
              table.name[point.row], rank_.trace.Text(table.category[point.row]));
    const std::uint64_t id = FlowId(rank_, FlowUse::kOther, point.row);
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

void WritePoints(const Rank& rank, Sequence& sequence) {
  PointWriter writer(rank, sequence);
  for (const Point& point : PointsInOrder(rank.trace)) {
    writer.Write(point);
  }
}

}  // namespace orrery::exporting::perfetto
