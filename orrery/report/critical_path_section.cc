#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/chart/timeline_chart.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/parts.h"
#include "orrery/report/path_summary.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMaxRows = 10;

std::vector<draw::Series> SeriesOf(const std::vector<ClassTime>& classes) {
  std::vector<draw::Series> series;
  for (const ClassTime& one : classes) {
    series.push_back(
        {.name = ClassName(one.path_class), .style = std::string(PathClassStyle(one.path_class))});
  }
  return series;
}

std::string ClassBar(const CriticalPath& path, const std::vector<ClassTime>& classes) {
  draw::StackedBar bar{.label = "path", .note = draw::FormatDuration({path.length_ns})};
  for (const ClassTime& one : classes) {
    bar.values.push_back(static_cast<double>(one.time_ns));
  }
  return draw::RenderStackedBars({.series = SeriesOf(classes),
                                  .bars = {bar},
                                  .quantity = draw::Quantity::kNanoseconds,
                                  .description = "The critical path by class",
                                  .has_axis = false});
}

// Only ranks that the path visits have a row.
std::map<std::int32_t, std::size_t> RowOfRank(const CriticalPath& path) {
  std::map<std::int32_t, std::size_t> rows;
  for (const Hop& hop : path.hops) {
    rows[hop.rank] = 0;
  }
  std::size_t next = 0;
  for (auto& [rank, row] : rows) {
    row = next++;
  }
  return rows;
}

void AddHop(const Hop& hop, std::size_t row, std::uint8_t series, draw::TimelineChart& chart) {
  chart.rows[row].slices.push_back({.begin_ns = hop.begin_ns,
                                    .end_ns = hop.begin_ns + hop.duration_ns,
                                    .series = series,
                                    .tip = hop.name});
}

draw::TimelineChart ChartOf(const CriticalPath& path, const std::vector<ClassTime>& classes) {
  draw::TimelineChart chart{.series = SeriesOf(classes),
                            .background = {.name = "not on the path", .style = "empty"},
                            .rows = {},
                            .end_ns = path.length_ns,
                            .description = "On which rank the critical path runs",
                            .slices_first = true};
  const std::map<std::int32_t, std::size_t> row_of_rank = RowOfRank(path);
  for (const auto& [rank, row] : row_of_rank) {
    chart.rows.push_back({.label = fmt::format("rank {}", rank), .slices = {}});
  }
  std::size_t last_row = row_of_rank.at(path.hops.front().rank);
  for (const Hop& hop : path.hops) {
    const std::size_t row = row_of_rank.at(hop.rank);
    const auto series = std::ranges::find(classes, hop.path_class, &ClassTime::path_class);
    if (series != classes.end()) {
      AddHop(hop, row, static_cast<std::uint8_t>(series - classes.begin()), chart);
    }
    if (row != last_row) {
      chart.jumps.push_back({.time_ns = hop.begin_ns, .from_row = last_row, .to_row = row});
    }
    last_row = row;
  }
  return chart;
}

double ShareOf(std::int64_t time_ns, const CriticalPath& path) {
  return static_cast<double>(time_ns) / static_cast<double>(path.length_ns);
}

Document::Table HopTable(const CriticalPath& path) {
  Document::Table table{.key = "",
                        .heading = "What it is made of",
                        .columns = {{"", "what"},
                                    {"", "class"},
                                    {"", "hops", Unit::kCount},
                                    {"", "time", Unit::kNanoseconds},
                                    {"", "of the path", Unit::kShare},
                                    {"", "longest", Unit::kNanoseconds, 0, Shown::kInHtml},
                                    {"", "on rank", Unit::kNumber, 0, Shown::kInHtml},
                                    {"", "at", Unit::kNanoseconds, 0, Shown::kInHtml}}};
  for (const HopSum& sum : LargestSums(path, kMaxRows)) {
    const Hop& hop = *sum.longest;
    table.rows.push_back({hop.name.empty() ? "–" : hop.name, ClassName(hop.path_class), sum.count,
                          sum.time_ns, ShareOf(sum.time_ns, path), hop.duration_ns, hop.rank,
                          hop.begin_ns});
  }
  return table;
}

std::string ClassesText(const CriticalPath& path, const std::vector<ClassTime>& classes) {
  std::string text;
  for (const ClassTime& time : classes) {
    text += fmt::format("{}{} {:.1f} %", text.empty() ? "" : " · ", ClassName(time.path_class),
                        100 * ShareOf(time.time_ns, path));
  }
  return text;
}

std::string ChangesText(std::int64_t num_changes) {
  return num_changes == 0   ? "stays on one rank"
         : num_changes == 1 ? "changes rank once"
                            : fmt::format("changes rank {} times", draw::FormatCount(num_changes));
}

}  // namespace

void AddCriticalPath(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Critical path");
  if (!report.critical_path || report.critical_path->hops.empty() ||
      report.critical_path->length_ns <= 0) {
    section.Say("No critical path was computed for this run.");
    return;
  }
  const CriticalPath& path = *report.critical_path;
  const std::vector<ClassTime> classes = TimeByClass(path);
  section.Say(fmt::format(
      "{}: from its first event on a host to its last on a device the path takes {} and {}.",
      path.step, draw::FormatDuration({path.length_ns}), ChangesText(path.num_rank_changes)));
  section.Say(ClassesText(path, classes));
  section.Add(Document::Picture{
      .heading = "",
      .svg = ClassBar(path, classes),
      .caption = "The chain of work that decided when the step ended: only making something on it "
                 "faster makes the step faster. Waiting is never on it: where a rank waits, the "
                 "path runs on the rank that is waited for.",
      .legend = SeriesOf(classes)});
  section.Add(Document::Picture{.heading = "On which rank it runs",
                                .svg = draw::RenderTimeline(ChartOf(path, classes))});
  section.Add(HopTable(path));
}

}  // namespace orrery::report
