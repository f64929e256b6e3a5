#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/cli/info/document.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/overhead.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/summary.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

Value TextOrNull(std::string_view text) {
  return text.empty() ? Value() : Value(text);
}

Value NumberOrNull(std::int64_t number) {
  return number < 0 ? Value() : Value(number);
}

Value ListOf(const std::vector<std::string>& texts) {
  Value list = Value::List();
  for (const std::string& text : texts) {
    list.Add(text);
  }
  return list;
}

Value ProblemsOf(const trace::ProblemLog& problems) {
  Value list = Value::List();
  for (const trace::Problem& problem : problems.all()) {
    Value entry = Value::Object();
    entry.Set("what", problem.what)
        .Set("count", problem.count)
        .Set("lost", problem.severity == trace::Severity::kLoss);
    if (!problem.first.empty()) {
      entry.Set("first", problem.first);
    }
    list.Add(std::move(entry));
  }
  return list;
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

Value GroupsOf(const trace::Trace& rank) {
  const trace::ProcessGroups& groups = rank.process_groups;
  Value list = Value::List();
  for (RowId row = 0; row < groups.size(); ++row) {
    list.Add(Value::Object()
                 .Set("name", TextOrNull(rank.Text(groups.name[row])))
                 .Set("description", TextOrNull(rank.Text(groups.description[row])))
                 .Set("backend", TextOrNull(rank.Text(groups.backend[row])))
                 .Set("size", NumberOrNull(groups.num_ranks[row]))
                 .Set("ranks", TextOrNull(rank.Text(groups.ranks[row]))));
  }
  return list;
}

// How well the recorder observed kernels, and what the recording cost.
Value CoverageOf(const trace::Trace& rank) {
  Value kernels = Value::Object();
  const memory::LaunchCoverage seen = memory::CoverageOf(rank);
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const auto coverage = static_cast<trace::Coverage>(i);
    kernels.Set(memory::CoverageName(coverage), Value::Object()
                                                    .Set("count", seen.Of(coverage).num_launches)
                                                    .Set("time_ns", seen.Of(coverage).time_ns));
  }
  Value counts = Value::List();
  for (RowId row = 0; row < rank.coverage_counts.size(); ++row) {
    counts.Add(Value::Object()
                   .Set("kind", memory::CoverageKindName(rank.coverage_counts.kind[row]))
                   .Set("name", rank.Text(rank.coverage_counts.name[row]))
                   .Set("count", rank.coverage_counts.count[row]));
  }
  Value overhead = Value::List();
  for (RowId row = 0; row < rank.overheads.size(); ++row) {
    overhead.Add(Value::Object()
                     .Set("phase", memory::OverheadPhaseName(rank.overheads.phase[row]))
                     .Set("total_ns", rank.overheads.total_ns[row])
                     .Set("count", rank.overheads.count[row])
                     .Set("bytes", rank.overheads.bytes[row]));
  }
  return Value::Object()
      .Set("kernels", std::move(kernels))
      .Set("counts", std::move(counts))
      .Set("overhead", std::move(overhead));
}

Value RankOf(const trace::Trace& rank) {
  const trace::Span span = trace::RecordedSpan(rank);
  Value counts = Value::Object();
  for (const trace::NamedCount& count : trace::CountRows(rank)) {
    counts.Set(count.name, count.count);
  }
  Value entry = Value::Object();
  entry.Set("rank", NumberOrNull(rank.info.rank))
      .Set("world_size", NumberOrNull(rank.info.world_size))
      .Set("files", ListOf(rank.info.files))
      .Set("format", rank.info.format)
      .Set("version", TextOrNull(rank.info.format_version))
      .Set("gpu", TextOrNull(trace::DeviceName(rank)))
      .Set("host", TextOrNull(rank.info.host_name))
      .Set("time_origin", OriginName(rank.info.time_origin))
      .Set("begin_ns", span.begin_ns)
      .Set("span_ns", span.duration_ns())
      .Set("steps", rank.steps.size())
      .Set("counts", std::move(counts))
      .Set("process_groups", GroupsOf(rank));
  if (!rank.observations.empty() || !rank.coverage_counts.empty() || !rank.overheads.empty()) {
    entry.Set("coverage", CoverageOf(rank));
  }
  entry.Set("problems", ProblemsOf(rank.problems));
  return entry;
}

// Measurements are not a rank's, but are listed with the ranks, as one without a number.
Value MeasurementsOf(const ingest::MeasurementTable& table) {
  Value columns = Value::List();
  for (std::size_t column = 0; column < table.rows.num_columns(); ++column) {
    columns.Add(table.rows.column_name(column));
  }
  return Value::Object()
      .Set("rank", Value())
      .Set("files", ListOf({table.file}))
      .Set("format", table.format)
      .Set("counts", Value::Object().Set("rows", table.rows.num_rows()))
      .Set("columns", std::move(columns))
      .Set("problems", ProblemsOf(table.problems));
}

}  // namespace

Value InfoData(const ingest::Run& run) {
  Value ranks = Value::List();
  for (const trace::Trace& rank : run.set.ranks) {
    ranks.Add(RankOf(rank));
  }
  for (const ingest::MeasurementTable& table : run.tables) {
    ranks.Add(MeasurementsOf(table));
  }
  Value skipped = Value::List();
  for (const ingest::SkippedFile& file : run.skipped) {
    skipped.Add(Value::Object().Set("file", file.file).Set("why", file.why));
  }
  return Value::Object()
      .Set("ranks", std::move(ranks))
      .Set("card", TextOrNull(run.set.card ? run.set.card->file : std::string()))
      .Set("skipped", std::move(skipped))
      .Set("partial", run.is_partial())
      .Set("problems", ProblemsOf(run.set.problems));
}

}  // namespace orrery::cli
