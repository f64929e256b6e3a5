#include "orrery/memory/overhead.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using memory::OverheadPart;
using memory::OverheadSummary;
using trace::OverheadPhase;

struct RunOverhead {
  std::string title;
  memory::OverheadSummary summary;
  std::int64_t step_ns = 0;                     // 0: no steps
  std::optional<memory::PlainTime> plain = {};  // against a run without recording

  /// The factor by which the program took longer; nothing where its time without recording is
  /// unknown.
  [[nodiscard]] Value OverExecution() const;
};

Value RatioCell(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? Value() : Value(ShareOf(part, whole));
}

Value OverheadOverFirst(const RunOverhead& run, const RunOverhead& first) {
  if (!run.plain || !first.plain || first.plain->recorded_ns <= first.plain->plain_ns) {
    return {};
  }
  return ShareOf(run.plain->recorded_ns - run.plain->plain_ns,
                 first.plain->recorded_ns - first.plain->plain_ns);
}

Value RunOverhead::OverExecution() const {
  return plain ? Value(plain->Slowdown())
               : RatioCell(summary.WholeNs(), summary.Of(OverheadPhase::kExecution).total_ns);
}

Document::Table RunTable(const std::vector<RunOverhead>& runs, double tolerance_percent) {
  Document::Table table{
      .key = "runs",
      .heading = "what recording cost",
      .columns = {AsText("run", "recording"), AsTime("total_ns", "total"),
                  AsRatio("over_execution", "over execution"),
                  AsTime("plain_ns", "without recording"),
                  AsRatio("overhead_over_first", "overhead over the first's"),
                  AsRatio("over_first", "total over the first's"),
                  AsTime("parts_ns", "sum of parts"), AsTime("rest_ns", "not explained"),
                  AsText("agrees", "parts and total"), AsTime("step_ns", "per step"),
                  AsRatio("step_over_first", "per step over the first's")},
      .caption =
          fmt::format("Total and parts are measured on their own; they agree when they are at "
                      "most {} % of the total apart. A recorder measures what it does on the "
                      "CPU, and adds up threads that work side by side; what patched kernels "
                      "take longer shows in the step alone: the "
                      "median of all but the first.",
                      tolerance_percent)};
  for (const RunOverhead& run : runs) {
    const OverheadSummary& summary = run.summary;
    const bool has_total = summary.total_ns.has_value();
    table.rows.push_back({run.title, has_total ? Value(*summary.total_ns) : Value(),
                          run.OverExecution(), run.plain ? Value(run.plain->plain_ns) : Value(),
                          OverheadOverFirst(run, runs.front()),
                          RatioCell(summary.WholeNs(), runs.front().summary.WholeNs()),
                          summary.SumOfParts(), has_total ? Value(summary.RestNs()) : Value(),
                          std::string(!has_total                          ? "no total"
                                      : summary.Agrees(tolerance_percent) ? "agree"
                                                                          : "differ"),
                          run.step_ns == 0 ? Value() : Value(run.step_ns),
                          RatioCell(run.step_ns, run.step_ns == 0 ? 0 : runs.front().step_ns)});
  }
  return table;
}

Document::Table PartTable(const std::vector<RunOverhead>& runs) {
  Document::Table table{.key = "parts",
                        .heading = "what recorders measured of themselves",
                        .columns = {AsText("run", "recording"), AsText("part", "part"),
                                    AsTime("total_ns", "time"), AsShare("share", "of the total"),
                                    AsCount("count", "times"), AsBytes("bytes", "bytes")}};
  for (const RunOverhead& run : runs) {
    const std::int64_t whole_ns = run.summary.WholeNs();
    for (std::size_t part = 0; part < memory::kNumOverheadParts; ++part) {
      const OverheadPart& row = run.summary.parts[part];
      table.rows.push_back(
          {run.title, std::string(memory::OverheadPhaseName(static_cast<OverheadPhase>(part))),
           row.total_ns, ShareOf(row.total_ns, whole_ns), row.count, row.bytes});
    }
    if (run.summary.total_ns) {
      table.rows.push_back({run.title, std::string("not explained"), run.summary.RestNs(),
                            ShareOf(run.summary.RestNs(), whole_ns)});
    }
  }
  return table;
}

// Parts of the time of each program (Figure 10); no rows where no plain time is known.
Document::Table PieceTable(const std::vector<RunOverhead>& runs) {
  Document::Table table{
      .key = "pieces",
      .heading = "where the time of recorded programs went",
      .columns = {AsText("run", "recording"), AsText("piece", "of"), AsText("part", "part"),
                  AsTime("part_ns", "time"), AsShare("share", "share")},
      .caption =
          "Execution: without recording. Transfer, analysis and waiting: as the "
          "recorder measured them. Collection: what these leave."};
  for (const RunOverhead& run : runs) {
    if (!run.plain) {
      continue;
    }
    const auto parts = memory::PartsOfPiece(run.summary, *run.plain);
    const std::int64_t whole_ns = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
    const bool is_step = run.plain->piece == memory::TimedPiece::kStep;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      table.rows.push_back(
          {run.title, std::string(is_step ? "step" : "all launches"),
           std::string(memory::OverheadPhaseName(static_cast<OverheadPhase>(part))), parts[part],
           ShareOf(parts[part], whole_ns)});
    }
  }
  return table;
}

// Ranks run side by side: the slowest counts.
RunOverhead OverheadOfRun(const MemoryRun& run, std::optional<std::int64_t> plain_ns) {
  RunOverhead slowest{
      .title = run.title, .summary = memory::OverheadOf(*run.ranks.front()), .step_ns = 0};
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    const trace::Trace& rank = *run.ranks[i];
    slowest.step_ns = std::max(slowest.step_ns, memory::RecordedStepNs(rank).value_or(0));
    const OverheadSummary summary = memory::OverheadOf(rank);
    if (summary.WholeNs() > slowest.summary.WholeNs()) {
      slowest.summary = summary;
    }
    const trace::Trace* const times = i < run.times.size() ? run.times[i] : nullptr;
    const auto plain = plain_ns           ? memory::PlainTimeFrom(*plain_ns, rank)
                       : times != nullptr ? memory::PlainTimeFrom(*times, rank)
                                          : std::nullopt;
    if (plain && (!slowest.plain || plain->recorded_ns > slowest.plain->recorded_ns)) {
      slowest.plain = plain;
    }
  }
  return slowest;
}

const std::vector<draw::Series>& PartSeries() {
  static const std::vector<draw::Series> kSeries = {
      {.name = "execution", .style = "compute"}, {.name = "collection", .style = "transfer"},
      {.name = "transfer", .style = "memory"},   {.name = "analysis", .style = "optimizer"},
      {.name = "waiting", .style = "launch"},    {.name = "not explained", .style = "other"}};
  return kSeries;
}

Document::Picture PictureOf(const std::vector<RunOverhead>& runs) {
  draw::StackedBars bars{.series = PartSeries(),
                         .quantity = draw::Quantity::kNanoseconds,
                         .description = "Parts of what recordings took"};
  for (const RunOverhead& run : runs) {
    draw::StackedBar bar{.label = run.title, .note = draw::FormatDuration({run.summary.WholeNs()})};
    for (const OverheadPart& part : run.summary.parts) {
      bar.values.push_back(static_cast<double>(part.total_ns));
    }
    bar.values.push_back(static_cast<double>(std::max<std::int64_t>(run.summary.RestNs(), 0)));
    bars.bars.push_back(std::move(bar));
  }
  return {
      .heading = "What recorders measured of themselves",
      .svg = bars.bars.empty() ? "" : draw::RenderStackedBars(bars),
      .caption = "On the CPU, threads that work side by side added up; and what no part explains.",
      .legend = bars.series};
}

// The columns of Figure 10.
Document::Picture SharePicture(const std::vector<RunOverhead>& runs) {
  draw::StackedBars bars{.series = {PartSeries().begin(), PartSeries().end() - 1},
                         .quantity = draw::Quantity::kPercent,
                         .description = "Shares of the time of a recorded program",
                         .has_axis = false};
  for (const RunOverhead& run : runs) {
    if (!run.plain) {
      continue;
    }
    const auto parts = memory::PartsOfPiece(run.summary, *run.plain);
    const auto whole =
        static_cast<double>(std::accumulate(parts.begin(), parts.end(), std::int64_t{0}));
    draw::StackedBar bar{.label = run.title, .note = fmt::format("{:.1f}×", run.plain->Slowdown())};
    for (const std::int64_t part_ns : parts) {
      bar.values.push_back(100 * static_cast<double>(part_ns) / whole);
    }
    bars.bars.push_back(std::move(bar));
  }
  return {.heading = "Where the time of recorded programs went",
          .svg = draw::RenderStackedBars(bars),
          .caption =
              "Shares of the time that a step (or all launches) took while it was recorded, and "
              "how many times longer that is than without. "
              "Execution is its time without recording; collection is what nothing else "
              "explains: patched instructions and callbacks.",
          .legend = bars.series};
}

std::string PlainSentence(const RunOverhead& run, bool is_given) {
  if (!run.plain) {
    return fmt::format(
        "{}: its time without recording is not known: the run of --times has neither "
        "steps nor launches in common with it.",
        run.title);
  }
  const memory::PlainTime& plain = *run.plain;
  const bool is_step = plain.piece == memory::TimedPiece::kStep;
  std::string text = fmt::format(
      "{}: {} with recording, {} without, {}.", run.title,
      draw::FormatDuration({plain.recorded_ns}), draw::FormatDuration({plain.plain_ns}),
      is_step    ? "for a step: the median of all but the first"
      : is_given ? "from the first to the last launch"
                 : "from the first to the last launch, memcpy or memset that both runs have");
  if (plain.has_first_step) {
    text += " A single step also loads kernels; record three or more for a better comparison.";
  }
  return text;
}

struct OverheadOptions {
  double tolerance_percent = 5;
  std::vector<double> plain_ms = {};
};

void AddSentences(const MemoryRun& run, const RunOverhead& overhead, const OverheadOptions& options,
                  MemoryToolResult& page) {
  const bool has_times = std::ranges::any_of(run.times, std::identity());
  if (!options.plain_ms.empty() || has_times) {
    page.sentences.push_back(PlainSentence(overhead, !options.plain_ms.empty()));
  }
  const OverheadSummary& summary = overhead.summary;
  if (summary.total_ns && !summary.Agrees(options.tolerance_percent)) {
    page.sentences.push_back(
        fmt::format("{}: parts and total differ by {}: a part is {}.", run.title,
                    draw::FormatDuration({std::abs(summary.RestNs())}),
                    summary.RestNs() < 0 ? "counted twice, or parts overlap" : "missing"));
  }
}

std::vector<Document::Fact> FactsOf(const std::vector<RunOverhead>& runs) {
  const RunOverhead& first = runs.front();
  const std::optional<memory::PlainTime>& plain = first.plain;
  const bool is_step = plain && plain->piece == memory::TimedPiece::kStep;
  const std::string piece = is_step ? "a step" : "all launches";
  return {{"total_ns", "total of the first, by its recorder", first.summary.WholeNs(),
           Unit::kNanoseconds},
          {"recorded_ns", piece + " with recording", plain ? Value(plain->recorded_ns) : Value(),
           Unit::kNanoseconds},
          {"plain_ns", piece + " without", plain ? Value(plain->plain_ns) : Value(),
           Unit::kNanoseconds},
          {"over_execution", "over its execution", first.OverExecution(), Unit::kRatio}};
}

Result<MemoryToolResult> PageOf(const MemoryInput& input, const OverheadOptions& options) {
  if (options.plain_ms.size() > 1 && options.plain_ms.size() != input.runs.size()) {
    return InvalidInput(
        "--plain-ms: {} times for {} recordings; give one for all of them, or "
        "one for each, in their order",
        options.plain_ms.size(), input.runs.size());
  }
  std::vector<RunOverhead> runs;
  MemoryToolResult page;
  for (const MemoryRun& run : input.runs) {
    const std::vector<double>& plain_ms = options.plain_ms;
    std::optional<std::int64_t> plain_ns;
    if (!plain_ms.empty()) {
      plain_ns = std::llround(1e6 * plain_ms[plain_ms.size() == 1 ? 0 : runs.size()]);
    }
    runs.push_back(OverheadOfRun(run, plain_ns));
    AddSentences(run, runs.back(), options, page);
  }
  page.facts = FactsOf(runs);
  page.tables = {RunTable(runs, options.tolerance_percent), PartTable(runs)};
  page.pictures = {PictureOf(runs)};
  if (std::ranges::any_of(runs, [](const RunOverhead& run) { return run.plain.has_value(); })) {
    page.tables.insert(page.tables.begin() + 1, PieceTable(runs));
    page.pictures.insert(page.pictures.begin(), SharePicture(runs));
  }
  return page;
}

}  // namespace

MemoryTool OverheadTool(const MemoryRequest& request) {
  const OverheadOptions options{.tolerance_percent = request.tolerance,
                                .plain_ms = request.plain_ms};
  return {.name = "overhead",
          .line = "what recording cost, in parts; several recordings of a program side by side",
          .first_field = "tolerance",
          .last_field = "plain_ms",
          .needs = {memory::Need::kOverheads},
          .reads = MemoryTool::Reads::kRuns,
          .joins_times = false,
          .run_whole = [options](const MemoryInput& input) { return PageOf(input, options); }};
}

}  // namespace orrery::api
