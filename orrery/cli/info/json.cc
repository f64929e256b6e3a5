#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/cli/info/output.h"
#include "orrery/draw/json_writer.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/summary.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using draw::JsonWriter;

void WriteProblems(JsonWriter& json, const trace::ProblemLog& problems) {
  json.Key("problems").BeginArray();
  for (const trace::Problem& problem : problems.all()) {
    json.BeginObject();
    json.Key("what").String(problem.what);
    json.Key("count").Integer(problem.count);
    json.Key("lost").Bool(problem.severity == trace::Severity::kLoss);
    if (!problem.first.empty()) {
      json.Key("first").String(problem.first);
    }
    json.EndObject();
  }
  json.EndArray();
}

void WriteText(JsonWriter& json, std::string_view key, std::string_view value) {
  json.Key(key);
  value.empty() ? json.Null() : json.String(value);
}

void WriteNumber(JsonWriter& json, std::string_view key, std::int64_t value) {
  json.Key(key);
  value < 0 ? json.Null() : json.Integer(value);
}

void WriteFiles(JsonWriter& json, const std::vector<std::string>& files) {
  json.Key("files").BeginArray();
  for (const std::string& file : files) {
    json.String(file);
  }
  json.EndArray();
}

std::string_view OriginName(trace::TimeOrigin origin) {
  switch (origin) {
    case trace::TimeOrigin::kEpoch:
      return "epoch";
    case trace::TimeOrigin::kRecordingStart:
      return "recording";
    case trace::TimeOrigin::kUnknown:
      break;
  }
  return "unknown";
}

void WriteGroups(JsonWriter& json, const trace::Trace& rank) {
  json.Key("process_groups").BeginArray();
  for (RowId row = 0; row < rank.process_groups.size(); ++row) {
    json.BeginObject();
    WriteText(json, "name", rank.Text(rank.process_groups.name[row]));
    WriteText(json, "description", rank.Text(rank.process_groups.description[row]));
    WriteText(json, "backend", rank.Text(rank.process_groups.backend[row]));
    WriteNumber(json, "size", rank.process_groups.num_ranks[row]);
    WriteText(json, "ranks", rank.Text(rank.process_groups.ranks[row]));
    json.EndObject();
  }
  json.EndArray();
}

void WriteRank(JsonWriter& json, const trace::Trace& rank) {
  const trace::Span span = trace::RecordedSpan(rank);
  json.BeginObject();
  WriteNumber(json, "rank", rank.info.rank);
  WriteNumber(json, "world_size", rank.info.world_size);
  WriteFiles(json, rank.info.files);
  json.Key("format").String(rank.info.format);
  WriteText(json, "version", rank.info.format_version);
  WriteText(json, "gpu", trace::DeviceName(rank));
  WriteText(json, "host", rank.info.host_name);
  json.Key("time_origin").String(OriginName(rank.info.time_origin));
  json.Key("begin_ns").Integer(span.begin_ns);
  json.Key("span_ns").Integer(span.duration_ns());
  json.Key("steps").Integer(static_cast<std::int64_t>(rank.steps.size()));
  json.Key("counts").BeginObject();
  for (const trace::NamedCount& count : trace::CountRows(rank)) {
    json.Key(count.name).Integer(count.count);
  }
  json.EndObject();
  WriteGroups(json, rank);
  WriteCoverage(json, rank);
  WriteProblems(json, rank.problems);
  json.EndObject();
}

// Measurements are not a rank's, but are listed with the ranks, as one without a number.
void WriteTable(JsonWriter& json, const ingest::MeasurementTable& table) {
  json.BeginObject();
  json.Key("rank").Null();
  WriteFiles(json, {table.file});
  json.Key("format").String(table.format);
  json.Key("counts").BeginObject();
  json.Key("rows").Integer(static_cast<std::int64_t>(table.rows.num_rows()));
  json.EndObject();
  json.Key("columns").BeginArray();
  for (std::size_t column = 0; column < table.rows.num_columns(); ++column) {
    json.String(table.rows.column_name(column));
  }
  json.EndArray();
  WriteProblems(json, table.problems);
  json.EndObject();
}

}  // namespace

std::string InfoJson(const ingest::Run& run) {
  JsonWriter json;
  json.BeginObject();
  json.Key("ranks").BeginArray();
  for (const trace::Trace& rank : run.set.ranks) {
    WriteRank(json, rank);
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    WriteTable(json, table);
  }
  json.EndArray();
  WriteText(json, "card", run.set.card ? run.set.card->file : std::string());
  json.Key("skipped").BeginArray();
  for (const ingest::SkippedFile& skipped : run.skipped) {
    json.BeginObject();
    json.Key("file").String(skipped.file);
    json.Key("why").String(skipped.why);
    json.EndObject();
  }
  json.EndArray();
  json.Key("partial").Bool(run.is_partial());
  WriteProblems(json, run.set.problems);
  json.EndObject();
  return json.Finish();
}

}  // namespace orrery::cli
