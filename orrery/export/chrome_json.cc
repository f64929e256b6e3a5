#include "orrery/export/chrome_json.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"
#include "orrery/export/chrome_events.h"
#include "orrery/export/collective_spans.h"
#include "orrery/export/event_args.h"
#include "orrery/export/json_writer.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {
namespace {

using trace::Trace;
using trace::TraceSet;

// Keys that we write ourselves; those of the recorded file are left out.
constexpr auto kOwnKeys = std::to_array<std::string_view>(
    {"schemaVersion", "deviceProperties", "computeProperties", "distributedInfo", "displayTimeUnit",
     "baseTimeNanoseconds", "traceEvents", "traceName", "orrery"});

// Writes an array with an element for each of `count` indices.
template <typename WriteElement>
void WriteArray(JsonWriter& json, std::size_t count, WriteElement&& write_element) {
  json.Write("[");
  for (std::size_t i = 0; i < count; ++i) {
    json.Write(i == 0 ? "" : ", ");
    write_element(static_cast<RowId>(i));
  }
  json.Write("]");
}

void WriteDevices(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  WriteArray(json, trace.devices.size(), [&](RowId row) {
    const trace::Devices::Row device = trace.devices.At(row);
    json.Write("{");
    JsonArgs fields(json, strings);
    fields.Integer("id", device.id);
    fields.Text("name", device.name);
    KnownInteger(fields, "totalGlobalMem", device.memory_bytes);
    KnownInteger(fields, "computeMajor", device.compute_major);
    KnownInteger(fields, "computeMinor", device.compute_minor);
    KnownInteger(fields, "numSms", device.multiprocessors);
    fields.Fields(device.extra);
    json.Write("}");
  });
}

void WriteGroup(const Trace& trace, RowId row, JsonStrings& strings, JsonWriter& json) {
  const trace::ProcessGroups::Row group = trace.process_groups.At(row);
  json.Write("{");
  JsonArgs fields(json, strings);
  fields.Text("pg_name", group.name);
  fields.Text("pg_desc", group.description);
  fields.Text("backend_config", group.backend);
  KnownInteger(fields, "pg_size", group.num_ranks);
  // A truncated list is not JSON; on-demand files have the list as a string, too.
  if (group.ranks_cut != 0) {
    fields.Text("ranks", group.ranks);
  } else {
    fields.Json("ranks", group.ranks);
  }
  json.Write("}");
}

// The recorded value of this key, with more fields than we have columns for.
std::string_view OriginalDistributedInfo(const Trace& trace) {
  for (RowId row = 0; row < trace.metadata.size(); ++row) {
    if (trace.Text(trace.metadata.key[row]) == "distributedInfo" &&
        trace.metadata.is_json[row] != 0) {
      return trace.Text(trace.metadata.value[row]);
    }
  }
  return {};
}

void WriteDistributedInfo(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  if (const std::string_view original = OriginalDistributedInfo(trace); !original.empty()) {
    return json.Write(original);
  }
  json.Write("{");
  JsonArgs fields(json, strings);
  if (!trace.info.backend.empty()) {
    fields.Words("backend", trace.info.backend);
  }
  KnownInteger(fields, "rank", trace.info.rank);
  KnownInteger(fields, "world_size", trace.info.world_size);
  const std::size_t num_groups = trace.process_groups.size();
  if (num_groups > 0) {
    fields.Integer("pg_count", static_cast<std::int64_t>(num_groups));
    json.Write(", \"pg_config\": ");
    WriteArray(json, num_groups, [&](RowId row) { WriteGroup(trace, row, strings, json); });
  }
  json.Write("}");
}

// Writes the metadata of the recorded file, without the keys that we write ourselves; returns
// whether there was any.
bool WriteMetadata(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  bool any = false;
  for (RowId row = 0; row < trace.metadata.size(); ++row) {
    if (std::ranges::find(kOwnKeys, trace.Text(trace.metadata.key[row])) == kOwnKeys.end()) {
      json.Write(any ? ",\n" : "");
      strings.Write(json, trace.metadata.key[row]);
      json.Write(": ");
      if (trace.metadata.is_json[row] != 0) {
        json.Write(trace.Text(trace.metadata.value[row]));
      } else {
        strings.Write(json, trace.metadata.value[row]);
      }
      any = true;
    }
  }
  return any;
}

void WriteSingleRank(const Trace& trace, JsonWriter& json) {
  JsonStrings strings(trace.strings);
  json.Write("\"deviceProperties\": ");
  WriteDevices(trace, strings, json);
  json.Write(",\n");
  if (trace.info.rank >= 0 || trace.info.world_size >= 0 || !trace.info.backend.empty() ||
      !trace.process_groups.empty()) {
    json.Write("\"distributedInfo\": ");
    WriteDistributedInfo(trace, strings, json);
    json.Write(",\n");
  }
  // The keys of a single file come back at the top, where Kineto has them.
  if (WriteMetadata(trace, strings, json)) {
    json.Write(",\n");
  }
}

// In the order of TimeOrigin.
constexpr auto kOriginNames =
    std::to_array<std::string_view>({"unknown", "1970", "start of the recording"});

void WriteProblems(const trace::ProblemLog& problems, JsonWriter& json) {
  json.Write(", \"problems\": ");
  WriteArray(json, problems.all().size(), [&](std::size_t i) {
    const trace::Problem& problem = problems.all()[i];
    const bool is_loss = problem.severity == trace::Severity::kLoss;
    json.Write("{\"what\": ", JsonText{problem.what}, ", \"count\": ", problem.count,
               ", \"lost\": ", is_loss ? "true" : "false");
    if (!problem.first.empty()) {
      json.Write(", \"first\": ", JsonText{problem.first});
    }
    json.Write("}");
  });
}

// The threads that are further lanes of other threads.
void WriteLanes(const ChromeRows& rows, JsonWriter& json) {
  json.Write(", \"lanes\": [");
  bool any = false;
  for (std::size_t track = 0; track < rows.first_thread_of_track.size(); ++track) {
    const std::size_t first = rows.first_thread_of_track[track];
    const std::size_t end = track + 1 < rows.first_thread_of_track.size()
                                ? rows.first_thread_of_track[track + 1]
                                : rows.threads.size();
    for (std::size_t thread = first + 1; thread < end; ++thread) {
      json.Write(any ? ", {" : "{", rows.threads[thread].place, ",\"of\":", rows.threads[first].tid,
                 "}");
      any = true;
    }
  }
  json.Write("]");
}

// In the order of TrackKind.
constexpr auto kTrackKindNames = std::to_array<std::string_view>({"host", "device", "other"});

// The processes of one of several ranks, and its tracks as they were, each with its threads.
void WriteTracks(const Trace& trace, const ChromeRows& rows, JsonStrings& strings,
                 JsonWriter& json) {
  json.Write(", \"pids\": ");
  WriteArray(json, rows.processes.size(), [&](RowId row) { json.Write(rows.processes[row].pid); });
  json.Write(", \"tracks\": ");
  WriteArray(json, trace.tracks.size(), [&](RowId row) {
    const trace::Tracks::Row track = trace.tracks.At(row);
    const std::size_t first = rows.first_thread_of_track[row];
    json.Write("{\"pid\": ", rows.processes[rows.threads[first].process].pid, ", \"tids\": ");
    WriteArray(json, rows.first_thread_of_track[row + 1] - first,
               [&](RowId lane) { json.Write(rows.threads[first + lane].tid); });
    json.Write(", ");
    JsonArgs fields(json, strings);
    fields.Words("kind", kTrackKindNames[static_cast<std::size_t>(track.kind)]);
    fields.Integer("process", track.process);
    fields.Integer("thread", track.thread);
    fields.Integer("device", track.device);
    fields.Text("process_name", track.process_name);
    fields.Text("name", track.name);
    json.Write("}");
  });
}

// The order of a rank's groups, each as its name and members.
void WriteGroupOrder(const Trace& trace, JsonWriter& json) {
  json.Write(", \"groups\": ");
  WriteArray(json, trace.process_groups.size(), [&](RowId row) {
    json.Write("[", JsonText{trace.Text(trace.process_groups.name[row])}, ", ",
               JsonText{trace.Text(trace.process_groups.ranks[row])}, "]");
  });
}

void WriteClock(const trace::RankClock& clock, JsonWriter& json) {
  json.Write(", \"clock\": {\"offset_ns\": ", clock.offset_ns,
             ", \"drift_ps_per_s\": ", clock.drift_ps_per_s,
             ", \"drift_origin_ns\": ", clock.drift_origin_ns, "}");
}

void WriteCard(const trace::WorkloadCard& card, JsonWriter& json) {
  json.Write(", \"card\": {\"file\": ", JsonText{card.file}, ", \"values\": {");
  std::string_view separator;
  for (const auto& [path, value] : card.values) {
    json.Write(separator, JsonText{path}, ": ", JsonText{value});
    separator = ", ";
  }
  json.Write("}}");
}

void WriteRankInfo(const Trace& trace, std::int64_t rank, JsonStrings& strings, JsonWriter& json) {
  JsonArgs fields(json, strings);
  fields.Integer("rank", rank);
  KnownInteger(fields, "world_size", trace.info.world_size);
  for (const auto& [key, text] : {std::pair("format", &trace.info.format),
                                  {"format_version", &trace.info.format_version},
                                  {"producer", &trace.info.producer},
                                  {"host_name", &trace.info.host_name}}) {
    if (!text->empty()) {
      fields.Words(key, *text);
    }
  }
  fields.Words("times_since", kOriginNames[static_cast<std::size_t>(trace.info.time_origin)]);
  if (!trace.graph_nodes.empty()) {
    fields.Integer("graph_nodes_not_written", static_cast<std::int64_t>(trace.graph_nodes.size()));
  }
}

void WriteRankEntry(const TraceSet& set, std::size_t rank_index, const ChromeRows& rows,
                    const trace::ClockAlignment& alignment, JsonWriter& json) {
  const Trace& trace = set.ranks[rank_index];
  JsonStrings strings(trace.strings);
  json.Write("\n {");
  WriteRankInfo(trace, trace::RankOf(set, rank_index), strings, json);
  json.Write(", \"files\": ");
  WriteArray(json, trace.info.files.size(), [&](std::size_t i) {
    // Without the folder, which describes the machine rather than the run.
    const std::string_view path = trace.info.files[i];
    json.Write(JsonText{path.substr(path.rfind('/') + 1)});
  });
  WriteProblems(trace.problems, json);
  WriteLanes(rows, json);
  if (rank_index < alignment.ranks.size() && alignment.ranks[rank_index].apply) {
    WriteClock(alignment.ranks[rank_index], json);
  }
  if (set.ranks.size() != 1) {
    WriteTracks(trace, rows, strings, json);
    WriteGroupOrder(trace, json);
    // The keys that a single rank has at the top of the file.
    json.Write(", \"deviceProperties\": ");
    WriteDevices(trace, strings, json);
    json.Write(", \"distributedInfo\": ");
    WriteDistributedInfo(trace, strings, json);
    json.Write(", \"metadata\": {");
    WriteMetadata(trace, strings, json);
    json.Write("}");
  }
  json.Write("}");
}

// Writes the keys before the events, from the opening bracket on, for readers of Kineto.
void WriteFrameHead(const TraceSet& set, std::int64_t base_ns, JsonWriter& json) {
  json.Write("{\n\"schemaVersion\": 1,\n");
  if (set.ranks.size() == 1) {
    WriteSingleRank(set.ranks.front(), json);
  } else {
    // Before the events: their rows are then told apart by process.
    json.Write("\"orreryRanks\": ", set.ranks.size(), ",\n");
  }
  json.Write("\"displayTimeUnit\": \"ms\",\n");
  if (HasEpochTimes(set)) {
    json.Write("\"baseTimeNanoseconds\": ", base_ns, ",\n");
  }
}

// Writes what follows the events: the key "orrery" and the closing bracket.
void WriteFrameTail(const TraceSet& set, const std::vector<ChromeRows>& rows, std::int64_t base_ns,
                    const trace::ClockAlignment& alignment, JsonWriter& json) {
  json.Write(",\n\"orrery\": {\"version\": \"" ORRERY_VERSION "\", \"base_ns\": ", base_ns);
  WriteProblems(set.problems, json);
  if (set.card) {
    WriteCard(*set.card, json);
  }
  json.Write(", \"ranks\": ");
  WriteArray(json, set.ranks.size(),
             [&](std::size_t i) { WriteRankEntry(set, i, rows[i], alignment, json); });
  json.Write("}\n}\n");
}

// The rows of the process: a thread for each group and lane, numbered from 1.
ChromeRows RowsOf(const std::vector<CollectiveRow>& rows, std::int64_t pid, std::int64_t rank_end) {
  ChromeRows result;
  const std::string pid_text = pid < 0 ? "\"collectives\"" : fmt::format("{}", pid);
  result.processes.push_back(
      {.pid = pid_text, .name = "collectives", .labels = {}, .sort_index = 10 * rank_end});
  for (const CollectiveRow& row : rows) {
    result.first_thread_of_track.push_back(result.threads.size());
    for (Lane lane = 0; lane < row.num_lanes; ++lane) {
      const auto tid = static_cast<std::int64_t>(result.threads.size()) + 1;
      result.threads.push_back({.process = 0,
                                .tid = fmt::format("{}", tid),
                                .name = LaneTitle("group " + row.group, lane),
                                .sort_index = tid,
                                .place = fmt::format("\"pid\":{},\"tid\":{}", pid_text, tid)});
    }
  }
  return result;
}

void WriteArgs(const TraceSet& set, const CollectiveSpan& span, const CollectiveMetrics& metrics,
               JsonWriter& json) {
  json.Write("\"members\": [");
  for (std::size_t i = 0; i < span.members.size(); ++i) {
    json.Write(i == 0 ? "" : ", ", trace::RankOf(set, span.members[i].rank_index));
  }
  json.Write("], \"last rank\": ",
             trace::RankOf(set, span.members[metrics.last_member].rank_index));
  json.Write(", \"wait sum (us)\": ", JsonMicroseconds{metrics.wait_sum_ns});
  json.Write(", \"transfer (us)\": ", JsonMicroseconds{metrics.transfer_ns});
  if (span.bytes >= 0) {
    json.Write(", \"bytes\": ", span.bytes);
  }
  if (metrics.bus_bytes_per_second >= 0) {
    json.Write(", \"busbw (GB/s)\": ", metrics.bus_bytes_per_second / 1e9);
  }
}

void WriteSlice(const TraceSet& set, const CollectiveSpan& span, const CollectiveMetrics& metrics,
                const std::string& place, ChromeEvents& events) {
  JsonWriter& json = events.json();
  events.Begin("\"ph\":\"X\",\"cat\":\"orrery_collective\",\"name\":", JsonText{span.name});
  events.Place(place, metrics.begin_ns);
  json.Write(",\"dur\":", JsonMicroseconds{metrics.end_ns - metrics.begin_ns}, ",\"args\":{");
  WriteArgs(set, span, metrics, json);
  json.Write("}}");
}

// Writes a process "collectives" with number `pid` (below zero: a name instead, as Kineto does for
// rows that are not a process) and a thread for each group: one slice for each collective, from the
// first arrival to the last end.
void WriteCollectives(const TraceSet& set, std::span<const CollectiveSpan> collectives,
                      std::int64_t pid, ChromeEvents& events) {
  const std::vector<CollectiveRow> rows = LayOutCollectives(collectives);
  if (rows.empty()) {
    return;
  }
  std::int64_t end_of_ranks = 0;
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    end_of_ranks = std::max<std::int64_t>(end_of_ranks, trace::RankOf(set, i) + 1);
  }
  const ChromeRows places = RowsOf(rows, pid, end_of_ranks);
  WriteRowNames(places, events);
  for (std::size_t row = 0; row < rows.size(); ++row) {
    for (const CollectiveRow::Slice& slice : rows[row].slices) {
      const auto track = static_cast<RowId>(row);
      WriteSlice(set, collectives[slice.span], slice.metrics,
                 places.Thread(track, slice.lane).place, events);
    }
  }
}

}  // namespace

Status WriteChromeJson(const TraceSet& set, std::span<const CollectiveSpan> collectives,
                       ByteSink& sink, const trace::ClockAlignment& alignment) {
  // Times of unknown origin stay as they are: a base would claim a date.
  const std::int64_t base_ns =
      HasEpochTimes(set) ? FloorToSecond(EarliestTime(set, collectives)) : 0;
  const bool like_kineto = set.ranks.size() == 1;
  const auto waits = WaitsByRank(set.ranks.size(), collectives);
  JsonWriter json(sink);
  ChromeEvents events(json, base_ns);
  FlowIds flow_ids;
  std::vector<ChromeRows> rows;  // of the ranks written so far
  std::int64_t next_pid = 1;     // process 0 is the idle process to Perfetto
  WriteFrameHead(set, base_ns, json);
  json.Write("\"traceEvents\": [");
  // One rank after the other, so that only one layout is in memory.
  for (std::size_t i = 0; i < set.ranks.size(); ++i) {
    const Trace& trace = set.ranks[i];
    const RankLayout layout = LayOutRank(trace, waits[i]);
    rows.push_back(like_kineto ? KinetoRows(trace, layout)
                               : RankRows(trace, layout, trace::RankOf(set, i), next_pid));
    next_pid += static_cast<std::int64_t>(rows.back().processes.size());
    JsonStrings strings(trace.strings);
    WriteRank({trace, layout, rows.back(), strings, like_kineto}, flow_ids, events);
  }
  WriteCollectives(set, collectives, like_kineto ? -1 : next_pid, events);
  json.Write("\n]");
  WriteFrameTail(set, rows, base_ns, alignment, json);
  return json.Flush();
}

}  // namespace orrery::exporting
