#include <string>
#include <string_view>

#include <fmt/format.h>

#include "orrery/export/chrome_events.h"
#include "orrery/export/event_args.h"
#include "orrery/export/json_args.h"
#include "orrery/export/memory_counters.h"

namespace orrery::exporting {
namespace {


// Opens an instant event up to its arguments.
void BeginInstant(const ChromeRank& rank, std::string_view category, StringId name, RowId track,
                  std::int64_t at_ns, ChromeEvents& events) {
  const DrawnTracks tracks(rank.trace);
  JsonWriter& json = events.Begin();
  // Without a track the mark concerns everything.
  json.Raw(track == kNoRow ? "\"ph\":\"i\",\"s\":\"g\",\"cat\":"
                                  : "\"ph\":\"i\",\"s\":\"t\",\"cat\":");
  json.String(category);
  json.Raw(",\"name\":");
  rank.strings.Write(json, name);
  json.Raw(",");
  json.Raw(rank.rows.Thread(tracks.Of(track)).place);
  events.Time(at_ns);
  json.Raw(",\"args\":{");
}

void WriteInstants(const ChromeRank& rank, ChromeEvents& events) {
  const trace::Instants& table = rank.trace.instants;
  for (RowId row = 0; row < table.size(); ++row) {
    BeginInstant(rank, rank.trace.Text(table.category[row]), table.name[row], table.track[row],
                 table.begin_ns[row], events);
    events.json().Raw(rank.trace.Text(table.extra[row]));
    events.json().Raw("}}");
  }
}

void WriteMemoryEvents(const ChromeRank& rank, ChromeEvents& events) {
  const trace::MemoryEvents& table = rank.trace.memory_events;
  for (RowId row = 0; row < table.size(); ++row) {
    BeginInstant(rank, "cpu_instant_event", table.name[row], table.track[row], table.begin_ns[row],
                 events);
    JsonArgs args(events.json(), rank.strings, rank.trace.strings);
    VisitMemoryEventArgs(rank.trace, row, args);
    events.json().Raw("}}");
  }
}

// Opens a counter event up to its values; a counter belongs to a process and its name.
void BeginCounter(std::string_view name, std::string_view place, std::int64_t at_ns,
                  ChromeEvents& events) {
  JsonWriter& json = events.Begin();
  json.Raw("\"ph\":\"C\",\"name\":");
  json.String(name);
  json.Raw(",");
  json.Raw(place);
  events.Time(at_ns);
  json.Raw(",\"args\":{");
}

// What the allocator holds, drawn as a curve beside the events.
void WriteMemoryCounters(const ChromeRank& rank, ChromeEvents& events) {
  const trace::MemoryEvents& table = rank.trace.memory_events;
  const DrawnTracks tracks(rank.trace);
  for (RowId row = 0; row < table.size(); ++row) {
    if (table.total_allocated_bytes[row] < 0) {
      continue;
    }
    const std::string& place = rank.rows.Thread(tracks.Of(table.track[row])).place;
    BeginCounter(MemoryCounterName(rank.trace, row), place, table.begin_ns[row], events);
    JsonArgs values(events.json(), rank.strings, rank.trace.strings);
    values.Integer("allocated", table.total_allocated_bytes[row]);
    KnownInteger(values, "reserved", table.total_reserved_bytes[row]);
    events.json().Raw("}}");
  }
}

// Kineto has counters of a device under a process of their own.
std::string CounterPlace(const ChromeRank& rank, RowId row) {
  const DrawnTracks tracks(rank.trace);
  const std::int32_t device = rank.trace.counters.device[row];
  const RowId track = rank.trace.counters.track[row];
  if (track == kNoRow && device >= 0 && rank.like_kineto) {
    return fmt::format("\"pid\":\"GPU {} Counters\",\"tid\":0", device);
  }
  return rank.rows.Thread(tracks.Of(track)).place;
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
    events.json().Raw("\"\":");
    events.json().Double(table.value[row]);
    events.json().Raw("}}");
  }
}

}  // namespace

void WritePoints(const ChromeRank& rank, ChromeEvents& events) {
  WriteInstants(rank, events);
  WriteMemoryEvents(rank, events);
  WriteMemoryCounters(rank, events);
  WriteCounters(rank, events);
}

}  // namespace orrery::exporting
