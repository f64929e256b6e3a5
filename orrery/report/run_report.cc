#include "orrery/report/run_report.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/value.h"
#include "orrery/base/math/statistics.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMaxBars = 32;
constexpr std::size_t kMaxTableRanks = 16;
constexpr std::size_t kMaxNotes = 24;
constexpr draw::Quantity kTime = draw::Quantity::kNanoseconds;

draw::StackedBar BarOf(const RankTime& rank) {
  draw::StackedBar bar{.label = rank.label};
  for (const std::int64_t part_ns : rank.part_ns) {
    bar.values.push_back(static_cast<double>(part_ns));
  }
  bar.note = draw::FormatDuration({TotalNs(rank)});
  return bar;
}

// The mean of the ranks' shares, as long as the mean rank.
draw::StackedBar MeanBar(const RunReport& report) {
  std::int64_t sum_ns = 0;
  for (const RankTime& rank : report.rank_times) {
    sum_ns += TotalNs(rank);
  }
  const std::int64_t mean_ns = sum_ns / static_cast<std::int64_t>(report.rank_times.size());
  draw::StackedBar bar{.label = "mean", .note = draw::FormatDuration({mean_ns})};
  for (const double share : MeanShares(report)) {
    bar.values.push_back(share * static_cast<double>(mean_ns));
  }
  return bar;
}

draw::StackedBars BarsOf(const RunReport& report) {
  draw::StackedBars chart{.series = PartSeries(),
                          .quantity = kTime,
                          .description = "How each rank spent its time",
                          .title_along = "rank"};
  for (const RankTime& rank : report.rank_times) {
    chart.bars.push_back(BarOf(rank));
  }
  return chart;
}

std::string LabelOfExtreme(const RunReport& report, std::size_t part, bool largest) {
  const auto by_part = [part](const RankTime& rank) { return rank.part_ns[part]; };
  const auto found = largest ? std::ranges::max_element(report.rank_times, {}, by_part)
                             : std::ranges::min_element(report.rank_times, {}, by_part);
  return found->label;
}

draw::Spread SpreadOf(const RunReport& report, std::size_t part) {
  std::vector<double> values;
  for (const RankTime& rank : report.rank_times) {
    values.push_back(static_cast<double>(rank.part_ns[part]));
  }
  draw::Spread spread{.series = PartSeries()[part],
                      .smallest = Quantile(values, 0),
                      .lower_quartile = Quantile(values, 0.25),
                      .median = Median(values),
                      .upper_quartile = Quantile(values, 0.75),
                      .largest = Quantile(values, 1)};
  if (spread.largest > 0) {
    spread.note = "median " + draw::QuantityText(spread.median, kTime) +
                  (spread.smallest == spread.largest
                       ? " on all"
                       : fmt::format(" · least {}, most {}", LabelOfExtreme(report, part, false),
                                     LabelOfExtreme(report, part, true)));
  }
  return spread;
}

std::string SpreadOverRanks(const RunReport& report) {
  draw::SpreadChart chart{.quantity = kTime,
                          .description = "Spread of each part of the time over ranks"};
  for (std::size_t part = 0; part < kNumParts; ++part) {
    chart.rows.push_back(SpreadOf(report, part));
  }
  return draw::RenderSpreadChart(chart);
}

Document::Picture FewRanks(const RunReport& report) {
  draw::StackedBars chart = BarsOf(report);
  if (report.rank_times.size() > 1) {
    chart.bars.insert(chart.bars.begin(), MeanBar(report));
    chart.bars.front().stands_apart = true;
  }
  return {.svg = draw::RenderStackedBars(chart), .legend = PartSeries()};
}

std::vector<Document::Picture> ManyRanks(const RunReport& report) {
  draw::StackedBars mean = BarsOf(report);
  mean.bars = {MeanBar(report)};
  mean.has_axis = false;
  return {{.svg = draw::RenderStackedBars(mean), .legend = PartSeries()},
          {.heading = "Spread over ranks",
           .svg = SpreadOverRanks(report),
           .caption = "A bar up to the median rank, a line from the rank with least to the rank "
                      "with most, thick over the middle half of the ranks."},
          {.heading = "Rank by rank", .svg = draw::RenderStackedColumns(BarsOf(report))}};
}

std::vector<Value> CellsOf(std::string label, const RankTime& rank) {
  const std::int64_t total_ns = TotalNs(rank);
  std::vector<Value> cells{std::move(label)};
  for (const std::int64_t part_ns : rank.part_ns) {
    cells.push_back(total_ns == 0
                        ? Value()
                        : Value(static_cast<double>(part_ns) / static_cast<double>(total_ns)));
  }
  cells.emplace_back(total_ns);
  return cells;
}

// All ranks where they fit, else those with least, median and most compute.
Document::Table RankTable(const RunReport& report) {
  Document::Table table{.columns = {AsText("")}};
  for (const char* const part : {"compute", "transfer", "waiting", "memory", "idle"}) {
    table.columns.push_back({"", part, Unit::kShare});
  }
  table.columns.push_back({"", "on the GPU", Unit::kNanoseconds});
  if (report.rank_times.size() <= kMaxTableRanks) {
    for (const RankTime& rank : report.rank_times) {
      table.rows.push_back(CellsOf(rank.label, rank));
    }
    return table;
  }
  std::vector<const RankTime*> ranks;
  for (const RankTime& rank : report.rank_times) {
    ranks.push_back(&rank);
  }
  std::ranges::stable_sort(ranks, {}, [](const RankTime* rank) { return rank->part_ns[0]; });
  for (const auto& [which, rank] :
       {std::pair("least compute", ranks.front()), std::pair("median", ranks[ranks.size() / 2]),
        std::pair("most compute", ranks.back())}) {
    table.rows.push_back(CellsOf(fmt::format("{} ({})", rank->label, which), *rank));
  }
  return table;
}

void AddHead(const RunReport& report, Document& document) {
  std::ranges::copy(report.facts, std::back_inserter(document.AddSection().blocks));
  std::ranges::copy(report.head, std::back_inserter(document.AddSection().blocks));
}

void AddFindings(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Findings");
  section.Say(report.findings.empty()
                  ? "Nothing stands out."
                  : "Most important first, with the share of the step's time that each is about.");
  std::ranges::copy(report.findings, std::back_inserter(section.blocks));
}

void AddMetrics(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Metrics");
  section.tab = "metrics";
  if (report.metrics.empty()) {
    section.Say("No metrics were requested.");
    return;
  }
  Document::Table known{
      .columns = {AsText("metric"), AsNumber("value"), AsText("unit"), AsText("", "meaning", 0)},
      .max_shown = SIZE_MAX,
      .has_filter = true,
      .fold = "All metrics"};
  Document::Table missing{.heading = "metrics that do not apply",
                          .columns = {AsText("metric"), AsText("", "reason", 0)},
                          .max_shown = SIZE_MAX,
                          .fold = "Which, and why"};
  for (const MetricRow& metric : report.metrics) {
    if (metric.value) {
      known.rows.push_back({metric.name, *metric.value, metric.unit, metric.meaning});
    } else {
      missing.rows.push_back({metric.name, "n/a: " + metric.reason});
    }
  }
  if (!missing.rows.empty()) {
    known.caption = fmt::format("{} of {} apply to this run (--list PATH says why others do not).",
                                known.rows.size(), report.metrics.size());
  }
  section.Add(std::move(known));
  if (!missing.rows.empty()) {
    Document::Section& others = document.AddSection();
    others.shown = Shown::kInHtml;
    others.Add(std::move(missing));
  }
}

std::vector<std::string> ShownNotes(std::vector<std::string> notes) {
  if (notes.size() > kMaxNotes) {
    const std::size_t more = notes.size() - kMaxNotes + 1;
    notes.resize(kMaxNotes - 1);
    notes.push_back(fmt::format("… and {} more (orrery info lists all)", more));
  }
  return notes;
}

}  // namespace

const std::vector<draw::Series>& PartSeries() {
  static const std::vector<draw::Series> kSeries{
      {.name = "compute", .style = "compute"},
      {.name = "communication: transfer", .style = "transfer"},
      {.name = "communication: waiting", .style = "waiting"},
      {.name = "memory", .style = "memory"},
      {.name = "idle", .style = "idle"}};
  return kSeries;
}

void AddBreakdown(const RunReport& report, Document& document) {
  if (report.rank_times.empty()) {
    document.AddSection("Where the time goes").Say("The run has no device activity.");
    return;
  }
  Document::Section& section =
      document.AddSection(fmt::format("Where the time goes ({})", report.steps));
  std::vector<Document::Picture> pictures =
      report.rank_times.size() > kMaxBars ? ManyRanks(report) : std::vector{FewRanks(report)};
  pictures.front().caption =
      "Time on the GPU: of each selected step from its first activity to that of the next step. "
      "Communication counts where no compute hides it, split into waiting for the last rank to "
      "arrive and transfer.";
  for (Document::Picture& picture : pictures) {
    section.Add(std::move(picture));
  }
  section.Add(RankTable(report));
  if (!report.communication.empty()) {
    section.Say(OverlapText(report));
  }
}

void AddTimeline(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("One step over ranks");
  section.shown = Shown::kInHtml;
  if (!report.timeline || report.timeline->rows.empty()) {
    section.Say("The run has no device activity in a step.");
    return;
  }
  const StepTimeline& timeline = *report.timeline;
  std::vector<draw::Series> busy = PartSeries();
  busy.pop_back();
  const draw::TimelineChart chart{.series = busy,
                                  .background = PartSeries().back(),
                                  .rows = timeline.rows,
                                  .end_ns = timeline.length_ns,
                                  .description = "What each rank does along one step"};
  const std::size_t per_row = draw::RowLayout::For(timeline.rows.size()).items_per_row;
  section.Add(Document::Picture{
      .svg = draw::RenderTimeline(chart),
      .caption = fmt::format(
          "{}: the work on all GPUs spans {}. {}", timeline.step,
          draw::FormatDuration({timeline.length_ns}),
          per_row == 1 ? "One row per rank."
                       : fmt::format("Each row stands for {} ranks and shows what most of them do.",
                                     per_row)),
      .legend = PartSeries(),
      .perfetto = "orrery convert PATH run.pftrace"});
}

Document FindingsDocument(const RunReport& report) {
  Document document{.title = report.title, .kind = "Orrery run report"};
  AddHead(report, document);
  AddFindings(report, document);
  return document;
}

Document RunDocument(const RunReport& report) {
  Document document{.title = report.title, .kind = "Orrery run report"};
  AddHead(report, document);
  Document::Section& tiles = document.AddSection();
  tiles.shown = Shown::kInHtml;
  std::ranges::copy(report.figures, std::back_inserter(tiles.blocks));
  AddFindings(report, document);
  AddBreakdown(report, document);
  AddKernels(report, document);
  AddTimeline(report, document);
  AddCollectives(report, document);
  AddCriticalPath(report, document);
  AddArrivals(report, document);
  AddStragglerCost(report, document);
  AddMetrics(report, document);
  document.AddSection().Add(
      Document::List{"", "Notes: what could not be read or used", ShownNotes(report.notes)});
  return document;
}

}  // namespace orrery::report
