#include "orrery/export/chrome_events.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/export/event_args.h"
#include "orrery/export/json_writer.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/tables.h"

namespace orrery::exporting {
namespace {

// A process or thread id that is text is a name already.
bool IsText(std::string_view id) {
  return id.starts_with('"');
}

template <typename Value>
void WriteMetadata(ChromeEvents& events, std::string_view what, std::string_view place,
                   std::string_view key, const Value& value) {
  events.Begin("\"ph\":\"M\",\"name\":\"", what, "\",", place, ",\"ts\":0.000,\"args\":{\"", key,
               "\":", value, "}}");
}

void WriteProcess(const ChromeProcess& process, ChromeEvents& events) {
  const std::string place = "\"pid\":" + process.pid + ",\"tid\":0";
  if (!IsText(process.pid) && !process.name.empty()) {
    WriteMetadata(events, "process_name", place, "name", JsonText{process.name});
  }
  if (!process.labels.empty()) {
    WriteMetadata(events, "process_labels", place, "labels", JsonText{process.labels});
  }
  WriteMetadata(events, "process_sort_index", place, "sort_index", process.sort_index);
}

void WriteThread(const ChromeThread& thread, ChromeEvents& events) {
  if (!IsText(thread.tid) && !thread.name.empty()) {
    WriteMetadata(events, "thread_name", thread.place, "name", JsonText{thread.name});
  }
  WriteMetadata(events, "thread_sort_index", thread.place, "sort_index", thread.sort_index);
}

void WriteSlice(const ChromeRank& rank, const SliceNames& names, const PlacedSlice& slice,
                ChromeEvents& events) {
  JsonWriter& json = events.json();
  events.Begin("\"ph\":\"X\",\"cat\":", JsonText{names.Category(slice)}, ",\"name\":");
  if (slice.kind == SliceKind::kWait) {
    json.Write("\"wait\"");
  } else {
    rank.strings.Write(json, names.Name(slice));
  }
  events.Place(rank.rows.Thread(slice.track, slice.lane).place, slice.begin_ns);
  json.Write(",\"dur\":", JsonMicroseconds{slice.end_ns - slice.begin_ns}, ",\"args\":{");
  JsonArgs args(json, rank.strings);
  VisitSliceArgs(rank.trace, names, slice, args);
  json.Write("}}");
}

// The place of a track without lanes, or of the thread for rows that name no track.
const std::string& PlaceOf(const ChromeRank& rank, RowId track) {
  return rank.rows.Thread(DrawnTracks(rank.trace).Of(track)).place;
}

// Opens an instant event up to its arguments. Without a track it concerns everything.
void BeginInstant(const ChromeRank& rank, std::string_view category, StringId name, RowId track,
                  std::int64_t at_ns, ChromeEvents& events) {
  events.Begin("\"ph\":\"i\",\"s\":", track == kNoRow ? "\"g\"" : "\"t\"",
               ",\"cat\":", JsonText{category}, ",\"name\":");
  rank.strings.Write(events.json(), name);
  events.Place(PlaceOf(rank, track), at_ns);
  events.json().Write(",\"args\":{");
}

void WriteInstants(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Instants& table = rank.trace.instants;
  for (RowId row = 0; row < table.size(); ++row) {
    BeginInstant(rank, rank.trace.Text(table.category[row]), table.name[row], table.track[row],
                 table.begin_ns[row], events);
    events.json().Write(rank.trace.Text(table.extra[row]), "}}");
  }
}

void WriteMemoryEvents(const ChromeRank& rank, ChromeEvents& events) {
  const trace::MemoryEvents& table = rank.trace.memory_events;
  for (RowId row = 0; row < table.size(); ++row) {
    BeginInstant(rank, "cpu_instant_event", table.name[row], table.track[row], table.begin_ns[row],
                 events);
    JsonArgs args(events.json(), rank.strings);
    VisitMemoryEventArgs(rank.trace, row, args);
    events.json().Write("}}");
  }
}

// Opens a counter event up to its values; viewers identify a counter by process and name.
void BeginCounter(std::string_view name, std::string_view place, std::int64_t at_ns,
                  ChromeEvents& events) {
  events.Begin("\"ph\":\"C\",\"name\":", JsonText{name});
  events.Place(place, at_ns);
  events.json().Write(",\"args\":{");
}

// The memory that the allocator holds, as a curve above the events.
void WriteMemoryCounters(const ChromeRank& rank, ChromeEvents& events) {
  const trace::MemoryEvents& table = rank.trace.memory_events;
  for (RowId row = 0; row < table.size(); ++row) {
    if (table.total_allocated_bytes[row] < 0) {
      continue;
    }
    BeginCounter(MemoryCounterName(rank.trace, row), PlaceOf(rank, table.track[row]),
                 table.begin_ns[row], events);
    JsonArgs values(events.json(), rank.strings);
    values.Integer("allocated", table.total_allocated_bytes[row]);
    KnownInteger(values, "reserved", table.total_reserved_bytes[row]);
    events.json().Write("}}");
  }
}

// Kineto has the counters of a device under a process of their own.
std::string CounterPlace(const ChromeRank& rank, RowId row) {
  const std::int32_t device = rank.trace.counters.device[row];
  const RowId track = rank.trace.counters.track[row];
  if (track == kNoRow && device >= 0 && rank.like_kineto) {
    return fmt::format("\"pid\":\"GPU {} Counters\",\"tid\":0", device);
  }
  return PlaceOf(rank, track);
}

std::string CounterName(const ChromeRank& rank, RowId row) {
  const std::string_view name = rank.trace.Text(rank.trace.counters.name[row]);
  const std::int32_t device = rank.trace.counters.device[row];
  return device >= 0 && !rank.like_kineto ? fmt::format("GPU {} {}", device, name)
                                          : std::string(name);
}

void WriteCounters(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Counters& table = rank.trace.counters;
  for (RowId row = 0; row < table.size(); ++row) {
    BeginCounter(CounterName(rank, row), CounterPlace(rank, row), table.begin_ns[row], events);
    // The value has an empty key, as in Kineto: viewers then show the counter's name alone.
    events.json().Write("\"\":", table.value[row], "}}");
  }
}

struct ArrowEnd {
  std::string_view place;
  std::int64_t at_ns = 0;
};

struct Arrow {
  std::string_view category;
  std::string_view name;
  std::int64_t id = 0;
  ArrowEnd from;
  ArrowEnd to;
};

void WriteArrowEnd(const Arrow& arrow, const ArrowEnd& end, std::string_view phase,
                   ChromeEvents& events) {
  events.Begin(phase, "\"id\":", arrow.id, ",\"cat\":", JsonText{arrow.category},
               ",\"name\":", JsonText{arrow.name});
  events.Place(end.place, end.at_ns);
  events.json().Write("}");
}

void WriteArrow(const Arrow& arrow, ChromeEvents& events) {
  WriteArrowEnd(arrow, arrow.from, "\"ph\":\"s\",", events);
  WriteArrowEnd(arrow, arrow.to, "\"ph\":\"f\",\"bp\":\"e\",", events);
}

// Returns the begin of a row of `table`.
template <typename Table>
ArrowEnd BeginOf(const ChromeRank& rank, const Table& table, SliceKind kind, RowId row) {
  const RowId track = DrawnTracks(rank.trace).Of(table.track[row]);
  return {rank.rows.Thread(track, rank.layout.LaneOf(kind, row)).place, table.begin_ns[row]};
}

void WriteLaunches(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const trace::Activities& activities = rank.trace.activities;
  for (RowId row = 0; row < activities.size(); ++row) {
    const RowId launch = activities.launch[row];
    if (launch != kNoRow) {
      WriteArrow({.category = "ac2g",
                  .name = "ac2g",
                  .id = ids.Take(rank.like_kineto ? activities.correlation[row] : -1),
                  .from = BeginOf(rank, rank.trace.runtime_calls, SliceKind::kRuntimeCall, launch),
                  .to = BeginOf(rank, activities, SliceKind::kActivity, row)},
                 events);
    }
  }
}

void WriteForwardBackward(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const trace::HostOps& ops = rank.trace.host_ops;
  for (RowId row = 0; row < ops.size(); ++row) {
    const RowId forward = ops.forward_op[row];
    if (forward != kNoRow) {
      WriteArrow({.category = "fwdbwd",
                  .name = "fwdbwd",
                  .id = ids.Take(-1),
                  .from = BeginOf(rank, ops, SliceKind::kHostOp, forward),
                  .to = BeginOf(rank, ops, SliceKind::kHostOp, row)},
                 events);
    }
  }
}

void WriteOtherFlows(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  const trace::Flows& flows = rank.trace.flows;
  for (RowId row = 0; row < flows.size(); ++row) {
    WriteArrow({.category = rank.trace.Text(flows.category[row]),
                .name = rank.trace.Text(flows.name[row]),
                .id = ids.Take(-1),
                .from = {PlaceOf(rank, flows.begin_track[row]), flows.begin_ns[row]},
                .to = {PlaceOf(rank, flows.end_track[row]), flows.end_ns[row]}},
               events);
  }
}

}  // namespace

void WriteRowNames(const ChromeRows& rows, ChromeEvents& events) {
  std::vector<bool> process_is_used(rows.processes.size(), false);
  for (const ChromeThread& thread : rows.threads) {
    process_is_used[thread.process] = process_is_used[thread.process] || thread.is_used;
  }
  for (std::size_t i = 0; i < rows.processes.size(); ++i) {
    if (process_is_used[i]) {
      WriteProcess(rows.processes[i], events);
    }
  }
  for (const ChromeThread& thread : rows.threads) {
    if (thread.is_used) {
      WriteThread(thread, events);
    }
  }
}

void WriteRank(const ChromeRank& rank, FlowIds& ids, ChromeEvents& events) {
  WriteRowNames(rank.rows, events);
  const SliceNames names(rank.trace);
  for (const std::vector<std::uint32_t>& slice_of_row : rank.layout.slice_of_row) {
    for (const std::uint32_t slice : slice_of_row) {
      if (slice != RankLayout::kNotDrawn) {
        WriteSlice(rank, names, rank.layout.slices[slice], events);
      }
    }
  }
  WriteInstants(rank, events);
  WriteMemoryEvents(rank, events);
  WriteMemoryCounters(rank, events);
  WriteCounters(rank, events);
  if (rank.like_kineto) {
    for (const std::int64_t correlation : rank.trace.activities.correlation) {
      ids.Reserve(correlation);
    }
  }
  WriteLaunches(rank, ids, events);
  WriteForwardBackward(rank, ids, events);
  WriteOtherFlows(rank, ids, events);
}

}  // namespace orrery::exporting
