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
#include "orrery/draw/text_table.h"
#include "orrery/report/page.h"
#include "orrery/report/parts.h"
#include "orrery/report/path_summary.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

constexpr std::size_t kMaxRows = 15;
constexpr std::size_t kMaxNameWidth = 160;

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

std::string HopTable(const CriticalPath& path) {
  HtmlTable table{.columns = {{"what"},
                              {"class"},
                              {"hops", true},
                              {"in all", true},
                              {"of the path", true},
                              {"longest", true},
                              {"on rank", true},
                              {"at", true}},
                  .rows = {},
                  .style = "hops"};
  for (const HopSum& sum : LargestSums(path, kMaxRows)) {
    const Hop& hop = *sum.longest;
    const double share =
        100 * static_cast<double>(sum.time_ns) / static_cast<double>(path.length_ns);
    table.rows.push_back({hop.name.empty() ? "–" : draw::Truncated(hop.name, kMaxNameWidth),
                          ClassName(hop.path_class), draw::FormatCount(sum.count),
                          draw::FormatDuration({sum.time_ns}), fmt::format("{:.1f} %", share),
                          draw::FormatDuration({hop.duration_ns}), std::to_string(hop.rank),
                          draw::FormatDuration({hop.begin_ns})});
  }
  return RenderTable(table);
}

std::string ChangesText(std::int64_t num_changes) {
  return num_changes == 0   ? "stays on one rank"
         : num_changes == 1 ? "changes rank once"
                            : fmt::format("changes rank {} times", draw::FormatCount(num_changes));
}

std::string Summary(const CriticalPath& path) {
  return fmt::format(
      "{}: the chain of work that decided when the step ended takes {} and {}. Only making "
      "something "
      "on it faster makes the step faster. Waiting is never on it: where a rank waits, the path "
      "runs "
      "on the rank that is waited for.",
      path.step, draw::FormatDuration({path.length_ns}), ChangesText(path.num_rank_changes));
}

}  // namespace

std::string CriticalPathSection(const RunReport& report) {
  constexpr std::string_view kHeading = "Critical path";
  if (!report.critical_path || report.critical_path->hops.empty()) {
    return Section("path", kHeading, Caption("No critical path was computed for this run."));
  }
  const CriticalPath& path = *report.critical_path;
  const std::vector<ClassTime> classes = TimeByClass(path);
  return Section("path", kHeading,
                 Caption(Summary(path)) + draw::RenderLegend(SeriesOf(classes)) +
                     Framed(ClassBar(path, classes)) + "<h3>On which rank it runs</h3>\n" +
                     Framed(draw::RenderTimeline(ChartOf(path, classes))) +
                     "<h3>What it is made of</h3>\n" + HopTable(path));
}

}  // namespace orrery::report
