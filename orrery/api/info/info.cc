#include "orrery/api/info.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/api/cancellation.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/overhead.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

std::optional<std::string> TextIfAny(std::string_view text) {
  return text.empty() ? std::nullopt : std::optional<std::string>(text);
}

std::optional<std::int64_t> NumberIfKnown(std::int64_t number) {
  return number < 0 ? std::nullopt : std::optional(number);
}

std::vector<InfoProblem> ProblemsOf(const trace::ProblemLog& log) {
  std::vector<InfoProblem> problems;
  for (const trace::Problem& problem : log.all()) {
    problems.push_back({.what = problem.what,
                        .count = problem.count,
                        .lost = problem.severity == trace::Severity::kLoss,
                        .first = problem.first});
  }
  return problems;
}

std::string_view OriginName(trace::TimeOrigin origin) {
  return origin == trace::TimeOrigin::kEpoch            ? "epoch"
         : origin == trace::TimeOrigin::kRecordingStart ? "recording"
                                                        : "unknown";
}

std::vector<InfoGroup> GroupsOf(const trace::Trace& rank) {
  const trace::ProcessGroups& groups = rank.process_groups;
  std::vector<InfoGroup> list;
  for (RowId row = 0; row < groups.size(); ++row) {
    list.push_back({.name = TextIfAny(rank.Text(groups.name[row])),
                    .description = TextIfAny(rank.Text(groups.description[row])),
                    .backend = TextIfAny(rank.Text(groups.backend[row])),
                    .size = NumberIfKnown(groups.num_ranks[row]),
                    .ranks = TextIfAny(rank.Text(groups.ranks[row]))});
  }
  return list;
}

InfoCoverage CoverageOf(const trace::Trace& rank) {
  InfoCoverage coverage;
  const memory::LaunchCoverage seen = memory::CoverageOf(rank);
  for (std::size_t i = 0; i < memory::kNumCoverages; ++i) {
    const auto kind = static_cast<trace::Coverage>(i);
    coverage.kernels.emplace_back(
        memory::CoverageName(kind),
        InfoLaunches{.count = seen.Of(kind).num_launches, .time_ns = seen.Of(kind).time_ns});
  }
  for (RowId row = 0; row < rank.coverage_counts.size(); ++row) {
    coverage.counts.push_back(
        {.kind = std::string(memory::CoverageKindName(rank.coverage_counts.kind[row])),
         .name = std::string(rank.Text(rank.coverage_counts.name[row])),
         .count = rank.coverage_counts.count[row]});
  }
  for (RowId row = 0; row < rank.overheads.size(); ++row) {
    coverage.overhead.push_back(
        {.phase = std::string(memory::OverheadPhaseName(rank.overheads.phase[row])),
         .total_ns = rank.overheads.total_ns[row],
         .count = rank.overheads.count[row],
         .bytes = rank.overheads.bytes[row]});
  }
  return coverage;
}

InfoRank RankOf(const trace::Trace& rank) {
  const trace::Span span = trace::RecordedSpan(rank);
  InfoRank entry{.rank = NumberIfKnown(rank.info.rank),
                 .world_size = NumberIfKnown(rank.info.world_size),
                 .files = rank.info.files,
                 .format = rank.info.format,
                 .version = TextIfAny(rank.info.format_version),
                 .gpu = TextIfAny(trace::DeviceName(rank)),
                 .host = TextIfAny(rank.info.host_name),
                 .time_origin = std::string(OriginName(rank.info.time_origin)),
                 .begin_ns = span.begin_ns,
                 .span_ns = span.duration_ns(),
                 .steps = static_cast<std::int64_t>(rank.steps.size()),
                 .process_groups = GroupsOf(rank),
                 .problems = ProblemsOf(rank.problems)};
  for (const trace::NamedCount& count : trace::CountRows(rank)) {
    entry.counts.emplace_back(count.name, count.count);
  }
  if (!rank.observations.empty() || !rank.coverage_counts.empty() || !rank.overheads.empty()) {
    entry.coverage = CoverageOf(rank);
  }
  return entry;
}

InfoTable TableOf(const ingest::MeasurementTable& table) {
  InfoTable entry{.files = {table.file},
                  .format = table.format,
                  .counts = {{"rows", static_cast<std::int64_t>(table.rows.num_rows())}},
                  .problems = ProblemsOf(table.problems)};
  for (std::size_t column = 0; column < table.rows.num_columns(); ++column) {
    entry.columns.emplace_back(table.rows.column_name(column));
  }
  return entry;
}

InfoResult ResultOf(std::shared_ptr<const ingest::Run> run) {
  InfoResult result{.is_partial = run->is_partial(), .problems = ProblemsOf(run->set.problems)};
  for (const trace::Trace& rank : run->set.ranks) {
    result.ranks.push_back(RankOf(rank));
  }
  for (const ingest::MeasurementTable& table : run->tables) {
    result.tables.push_back(TableOf(table));
  }
  if (run->set.card) {
    result.card = TextIfAny(run->set.card->file);
  }
  for (const ingest::SkippedFile& file : run->skipped) {
    result.skipped.push_back({.file = file.file, .why = file.why});
  }
  result.run = std::move(run);
  return result;
}

}  // namespace

Result<InfoResult> Info(const Session& /*session*/, const InfoRequest& request) {
  return RunCancellable(request.call, [&]() -> Result<InfoResult> {
    ORRERY_TRY(std::shared_ptr<const ingest::Run> run,
               ReadOnce(request.run, request.shared, request.call.progress));
    return ResultOf(std::move(run));
  });
}

}  // namespace orrery::api
