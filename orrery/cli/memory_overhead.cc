#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/cli/memory_tool.h"
#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/number_format.h"
#include "orrery/memory/overhead.h"

namespace orrery::cli {
namespace {

using memory::OverheadPart;
using memory::OverheadSummary;
using report::MemoryPage;
using report::MemoryTable;
using report::MemoryUnit;
using trace::OverheadPhase;

/// What a recorded run took.
struct RunOverhead {
  std::string title;
  OverheadSummary summary;
  std::int64_t step_ns = 0;  // 0: no steps
};

double Ratio(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Ranks run side by side: the slowest counts.
RunOverhead OverheadOfRun(const MemoryRun& run) {
  RunOverhead slowest{
      .title = run.title, .summary = memory::OverheadOf(*run.ranks.front()), .step_ns = 0};
  for (const trace::Trace* const rank : run.ranks) {
    slowest.step_ns = std::max(slowest.step_ns, memory::RecordedStepNs(*rank).value_or(0));
    const OverheadSummary summary = memory::OverheadOf(*rank);
    if (summary.WholeNs() > slowest.summary.WholeNs()) {
      slowest.summary = summary;
    }
  }
  return slowest;
}

Table::Cell RatioCell(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? Table::Cell() : Table::Cell(Ratio(part, whole));
}

MemoryTable RunTable(const std::vector<RunOverhead>& runs, double tolerance_percent) {
  MemoryTable table{.key = "runs",
                    .heading = "what recording cost",
                    .columns = {{"run", "recording", MemoryUnit::kText},
                                {"total_ns", "total", MemoryUnit::kNanoseconds},
                                {"over_execution", "over execution", MemoryUnit::kRatio},
                                {"over_first", "over the first", MemoryUnit::kRatio},
                                {"parts_ns", "sum of parts", MemoryUnit::kNanoseconds},
                                {"rest_ns", "not explained", MemoryUnit::kNanoseconds},
                                {"agrees", "parts and total", MemoryUnit::kText},
                                {"step_ns", "a step", MemoryUnit::kNanoseconds},
                                {"step_over_first", "over the first's", MemoryUnit::kRatio}},
                    .caption = fmt::format(
                        "Total and parts are measured on their own; they agree when they are at "
                        "most {} % of the total apart. A recorder measures what it does on the "
                        "host, and adds up threads that work side by side; what patched kernels "
                        "take longer shows in the step alone: the "
                        "median of all but the first.",
                        tolerance_percent)};
  for (const RunOverhead& run : runs) {
    const OverheadSummary& summary = run.summary;
    const bool has_total = summary.total_ns.has_value();
    table.rows.push_back(
        {run.title, has_total ? Table::Cell(*summary.total_ns) : Table::Cell(),
         RatioCell(summary.WholeNs(), summary.Of(OverheadPhase::kExecution).total_ns),
         RatioCell(summary.WholeNs(), runs.front().summary.WholeNs()), summary.SumOfParts(),
         has_total ? Table::Cell(summary.RestNs()) : Table::Cell(),
         std::string(!has_total                          ? "no total"
                     : summary.Agrees(tolerance_percent) ? "agree"
                                                         : "differ"),
         run.step_ns == 0 ? Table::Cell() : Table::Cell(run.step_ns),
         RatioCell(run.step_ns, run.step_ns == 0 ? 0 : runs.front().step_ns)});
  }
  return table;
}

MemoryTable PartTable(const std::vector<RunOverhead>& runs) {
  MemoryTable table{.key = "parts",
                    .heading = "where the time went",
                    .columns = {{"run", "recording", MemoryUnit::kText},
                                {"part", "part", MemoryUnit::kText},
                                {"total_ns", "time", MemoryUnit::kNanoseconds},
                                {"share", "of the total", MemoryUnit::kShare},
                                {"count", "times", MemoryUnit::kCount},
                                {"bytes", "bytes", MemoryUnit::kBytes}}};
  for (const RunOverhead& run : runs) {
    const std::int64_t whole_ns = run.summary.WholeNs();
    for (std::size_t part = 0; part < memory::kNumOverheadParts; ++part) {
      const OverheadPart& row = run.summary.parts[part];
      table.rows.push_back(
          {run.title, std::string(memory::OverheadPhaseName(static_cast<OverheadPhase>(part))),
           row.total_ns, Ratio(row.total_ns, whole_ns), row.count, row.bytes});
    }
    if (run.summary.total_ns) {
      table.rows.push_back({run.title, std::string("not explained"), run.summary.RestNs(),
                            Ratio(run.summary.RestNs(), whole_ns)});
    }
  }
  return table;
}

const std::vector<draw::Series>& PartSeries() {
  static const std::vector<draw::Series> kSeries = {
      {.name = "execution", .style = "compute"}, {.name = "collection", .style = "transfer"},
      {.name = "transfer", .style = "memory"},   {.name = "analysis", .style = "optimizer"},
      {.name = "waiting", .style = "launch"},    {.name = "not explained", .style = "other"}};
  return kSeries;
}

report::MemoryPicture PictureOf(const std::vector<RunOverhead>& runs) {
  draw::StackedBars bars{.series = PartSeries(),
                         .bars = {},
                         .quantity = draw::Quantity::kNanoseconds,
                         .description = "Parts of what recordings took"};
  for (const RunOverhead& run : runs) {
    draw::StackedBar bar{
        .label = run.title, .values = {}, .note = draw::FormatDuration({run.summary.WholeNs()})};
    for (const OverheadPart& part : run.summary.parts) {
      bar.values.push_back(static_cast<double>(part.total_ns));
    }
    bar.values.push_back(static_cast<double>(std::max<std::int64_t>(run.summary.RestNs(), 0)));
    bars.bars.push_back(std::move(bar));
  }
  return {.heading = "Where the time of recordings went",
          .svg = bars.bars.empty() ? "" : draw::RenderStackedBars(bars),
          .caption = "Parts as they were measured, and what no part explains.",
          .legend = bars.series};
}

class OverheadTool : public MemoryTool {
 public:
  [[nodiscard]] std::string_view name() const override { return "overhead"; }

  [[nodiscard]] std::string_view line() const override {
    return "what recording cost, in parts; several recordings of a program side by side";
  }

  [[nodiscard]] std::vector<memory::Need> needs() const override {
    return {memory::Need::kOverheads};
  }

  [[nodiscard]] Reads reads() const override { return Reads::kRuns; }

  void AddOptions(CLI::App& verb) override {
    verb.add_option("--tolerance", tolerance_percent_,
                    "how many percent of the total its parts may be off")
        ->capture_default_str()
        ->check(CLI::Range(0.0, 100.0));
  }

  [[nodiscard]] Result<MemoryPage> Run(const MemoryInput& input) const override {
    std::vector<RunOverhead> runs;
    MemoryPage page;
    for (const MemoryRun& run : input.runs) {
      runs.push_back(OverheadOfRun(run));
      const OverheadSummary& summary = runs.back().summary;
      if (summary.total_ns && !summary.Agrees(tolerance_percent_)) {
        page.sentences.push_back(
            fmt::format("{}: parts and total differ by {}: a part is {}.", run.title,
                        draw::FormatDuration({std::abs(summary.RestNs())}),
                        summary.RestNs() < 0 ? "counted twice, or parts overlap" : "missing"));
      }
    }
    const OverheadSummary& first = runs.front().summary;
    page.facts = {{"total_ns", "total of the first", first.WholeNs(), MemoryUnit::kNanoseconds},
                  {"over_execution", "over its execution",
                   RatioCell(first.WholeNs(), first.Of(OverheadPhase::kExecution).total_ns),
                   MemoryUnit::kRatio}};
    page.tables = {RunTable(runs, tolerance_percent_), PartTable(runs)};
    page.pictures = {PictureOf(runs)};
    return page;
  }

 private:
  double tolerance_percent_ = 5;
};

}  // namespace

std::unique_ptr<MemoryTool> MakeOverheadTool() {
  return std::make_unique<OverheadTool>();
}

}  // namespace orrery::cli
