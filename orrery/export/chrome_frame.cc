#include "orrery/export/chrome_frame.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "orrery/export/json_args.h"

namespace orrery::exporting {
namespace {

using trace::Trace;
using trace::TraceSet;

// Keys that we write ourselves, so that those of the file are left out.
constexpr auto kOwnKeys = std::to_array<std::string_view>(
    {"schemaVersion", "deviceProperties", "computeProperties", "distributedInfo", "displayTimeUnit",
     "baseTimeNanoseconds", "traceEvents", "traceName", "orrery"});

bool IsOwnKey(std::string_view key) {
  return std::find(kOwnKeys.begin(), kOwnKeys.end(), key) != kOwnKeys.end();
}

// Writes an array or object with an element for each of `count` indices.
template <typename WriteElement>
void WriteList(JsonWriter& json, std::size_t count, WriteElement&& write_element) {
  for (std::size_t i = 0; i < count; ++i) {
    json.Raw(i == 0 ? "" : ", ");
    write_element(i);
  }
}

void KnownCount(JsonArgs& fields, std::string_view key, std::int64_t value) {
  if (value >= 0) {
    fields.Integer(key, value);
  }
}

void WriteDevice(const Trace& trace, RowId row, JsonStrings& strings, JsonWriter& json) {
  const trace::Devices::Row device = trace.devices.At(row);
  json.Raw("{");
  JsonArgs fields(json, strings, trace.strings);
  fields.Integer("id", device.id);
  fields.Text("name", device.name);
  KnownCount(fields, "totalGlobalMem", device.memory_bytes);
  KnownCount(fields, "computeMajor", device.compute_major);
  KnownCount(fields, "computeMinor", device.compute_minor);
  KnownCount(fields, "numSms", device.multiprocessors);
  fields.Fields(device.extra);
  json.Raw("}");
}

void WriteDevices(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  json.Raw("[");
  WriteList(json, trace.devices.size(),
            [&](std::size_t row) { WriteDevice(trace, static_cast<RowId>(row), strings, json); });
  json.Raw("]");
}

void WriteGroup(const Trace& trace, RowId row, JsonStrings& strings, JsonWriter& json) {
  const trace::ProcessGroups::Row group = trace.process_groups.At(row);
  json.Raw("{");
  JsonArgs fields(json, strings, trace.strings);
  fields.Text("pg_name", group.name);
  fields.Text("pg_desc", group.description);
  fields.Text("backend_config", group.backend);
  KnownCount(fields, "pg_size", group.num_ranks);
  // A list that was cut is not JSON; on-demand files have the list as a string, too.
  if (group.ranks_cut != 0) {
    fields.Text("ranks", group.ranks);
  } else {
    fields.Json("ranks", group.ranks);
  }
  json.Raw("}");
}

// What the file itself had under this key, with more than we have columns for.
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
    return json.Raw(original);
  }
  json.Raw("{");
  JsonArgs fields(json, strings, trace.strings);
  if (!trace.info.backend.empty()) {
    fields.Words("backend", trace.info.backend);
  }
  KnownCount(fields, "rank", trace.info.rank);
  KnownCount(fields, "world_size", trace.info.world_size);
  const std::size_t num_groups = trace.process_groups.size();
  if (num_groups > 0) {
    fields.Integer("pg_count", static_cast<std::int64_t>(num_groups));
    json.Raw(", \"pg_config\": [");
    WriteList(json, num_groups,
              [&](std::size_t row) { WriteGroup(trace, static_cast<RowId>(row), strings, json); });
    json.Raw("]");
  }
  json.Raw("}");
}

void WriteMetadataValue(const Trace& trace, RowId row, JsonStrings& strings, JsonWriter& json) {
  strings.Write(json, trace.metadata.key[row]);
  json.Raw(": ");
  if (trace.metadata.is_json[row] != 0) {
    json.Raw(trace.Text(trace.metadata.value[row]));
  } else {
    strings.Write(json, trace.metadata.value[row]);
  }
}

// Writes what the file said about itself, without the keys that we write ourselves; returns
// whether there was anything.
bool WriteMetadata(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  bool any = false;
  for (RowId row = 0; row < trace.metadata.size(); ++row) {
    if (!IsOwnKey(trace.Text(trace.metadata.key[row]))) {
      json.Raw(any ? ",\n" : "");
      WriteMetadataValue(trace, row, strings, json);
      any = true;
    }
  }
  return any;
}

bool HasDistributedInfo(const Trace& trace) {
  return trace.info.rank >= 0 || trace.info.world_size >= 0 || !trace.info.backend.empty() ||
         !trace.process_groups.empty();
}

void WriteSingleRank(const Trace& trace, JsonWriter& json) {
  JsonStrings strings(trace.strings);
  json.Raw("\"deviceProperties\": ");
  WriteDevices(trace, strings, json);
  json.Raw(",\n");
  if (HasDistributedInfo(trace)) {
    json.Raw("\"distributedInfo\": ");
    WriteDistributedInfo(trace, strings, json);
    json.Raw(",\n");
  }
  // The keys of a single file come back at the top, where Kineto has them.
  if (WriteMetadata(trace, strings, json)) {
    json.Raw(",\n");
  }
}

std::string_view OriginName(trace::TimeOrigin origin) {
  switch (origin) {
    case trace::TimeOrigin::kEpoch:
      return "1970";
    case trace::TimeOrigin::kRecordingStart:
      return "start of the recording";
    case trace::TimeOrigin::kUnknown:
      break;
  }
  return "unknown";
}

// Only the name: the folder says more about the machine than about the run.
std::string_view FileName(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

void WriteFiles(const Trace& trace, JsonWriter& json) {
  json.Raw(", \"files\": [");
  WriteList(json, trace.info.files.size(),
            [&](std::size_t i) { json.String(FileName(trace.info.files[i])); });
  json.Raw("]");
}

void WriteProblem(const trace::Problem& problem, JsonWriter& json) {
  json.Raw("{\"what\": ");
  json.String(problem.what);
  json.Raw(", \"count\": ");
  json.Integer(problem.count);
  json.Raw(problem.severity == trace::Severity::kLoss ? ", \"lost\": true}" : ", \"lost\": false}");
}

void WriteProblems(const trace::ProblemLog& problems, JsonWriter& json) {
  json.Raw(", \"problems\": [");
  WriteList(json, problems.all().size(),
            [&](std::size_t i) { WriteProblem(problems.all()[i], json); });
  json.Raw("]");
}

// Which threads are further lanes of which.
void WriteLanes(const ChromeRows& rows, JsonWriter& json) {
  json.Raw(", \"lanes\": [");
  bool any = false;
  for (std::size_t track = 0; track < rows.first_thread_of_track.size(); ++track) {
    const std::size_t first = rows.first_thread_of_track[track];
    const std::size_t end = track + 1 < rows.first_thread_of_track.size()
                                ? rows.first_thread_of_track[track + 1]
                                : rows.threads.size();
    for (std::size_t thread = first + 1; thread < end; ++thread) {
      json.Raw(any ? ", {" : "{");
      json.Raw(rows.threads[thread].place);
      json.Raw(",\"of\":");
      json.Raw(rows.threads[first].tid);
      json.Raw("}");
      any = true;
    }
  }
  json.Raw("]");
}

void KnownText(JsonArgs& fields, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    fields.Words(key, text);
  }
}

void WriteRankInfo(const Trace& trace, std::size_t rank_index, JsonStrings& strings,
                   JsonWriter& json) {
  JsonArgs fields(json, strings, trace.strings);
  fields.Integer("rank", RankNumber(trace, rank_index));
  KnownCount(fields, "world_size", trace.info.world_size);
  KnownText(fields, "format", trace.info.format);
  KnownText(fields, "format_version", trace.info.format_version);
  KnownText(fields, "producer", trace.info.producer);
  KnownText(fields, "host_name", trace.info.host_name);
  fields.Words("times_since", OriginName(trace.info.time_origin));
  if (!trace.graph_nodes.empty()) {
    fields.Integer("graph_nodes_not_written", static_cast<std::int64_t>(trace.graph_nodes.size()));
  }
}

// What a single rank has at the top of the file.
void WriteRankFrame(const Trace& trace, JsonStrings& strings, JsonWriter& json) {
  json.Raw(", \"deviceProperties\": ");
  WriteDevices(trace, strings, json);
  json.Raw(", \"distributedInfo\": ");
  WriteDistributedInfo(trace, strings, json);
  json.Raw(", \"metadata\": {");
  WriteMetadata(trace, strings, json);
  json.Raw("}");
}

void WriteRank(const TraceSet& set, std::size_t rank_index, const ChromeRows& rows,
               JsonWriter& json) {
  const Trace& trace = set.ranks[rank_index];
  JsonStrings strings(trace.strings);
  json.Raw("\n {");
  WriteRankInfo(trace, rank_index, strings, json);
  WriteFiles(trace, json);
  WriteProblems(trace.problems, json);
  WriteLanes(rows, json);
  if (set.ranks.size() != 1) {
    WriteRankFrame(trace, strings, json);
  }
  json.Raw("}");
}

}  // namespace

bool HasEpochTimes(const TraceSet& set) {
  return std::any_of(set.ranks.begin(), set.ranks.end(), [](const Trace& trace) {
    return trace.info.time_origin == trace::TimeOrigin::kEpoch;
  });
}

void WriteFrameHead(const TraceSet& set, std::int64_t base_ns, JsonWriter& json) {
  json.Raw("{\n\"schemaVersion\": 1,\n");
  if (set.ranks.size() == 1) {
    WriteSingleRank(set.ranks.front(), json);
  }
  json.Raw("\"displayTimeUnit\": \"ms\",\n");
  if (HasEpochTimes(set)) {
    json.Raw("\"baseTimeNanoseconds\": ");
    json.Integer(base_ns);
    json.Raw(",\n");
  }
}

void WriteFrameTail(const TraceSet& set, const std::vector<ChromeRows>& rows, std::int64_t base_ns,
                    JsonWriter& json) {
  json.Raw(",\n\"orrery\": {\"version\": \"" ORRERY_VERSION "\", \"base_ns\": ");
  json.Integer(base_ns);
  WriteProblems(set.problems, json);
  json.Raw(", \"ranks\": [");
  WriteList(json, set.ranks.size(), [&](std::size_t i) { WriteRank(set, i, rows[i], json); });
  json.Raw("]}\n}\n");
}

}  // namespace orrery::exporting
