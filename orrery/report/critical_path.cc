#include "orrery/analyze/graph/critical_path.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::report {
namespace {

using analyze::DependencyGraph;
using analyze::NodeId;
using analyze::RunView;

// Translates hops of the graph; where a node is of no rank, the path is still on the last one.
class PathWriter {
 public:
  PathWriter(const RunView& run, const DependencyGraph& graph) : run_(run), graph_(graph) {}

  // The work of an edge, then the delay that nothing explains.
  void Add(const analyze::Hop& hop) {
    const std::int64_t begin_ns = graph_.time_ns[hop.from] - graph_.time_ns.front();
    MoveTo(hop.to);
    Append(begin_ns, hop.weight_ns, graph_.edge_class[hop.edge],
           std::string(analyze::HopName(run_, graph_, hop)));
    if (hop.residual_ns > 0) {
      Append(begin_ns + hop.weight_ns, hop.residual_ns,
             graph_.ResidualClass(hop.to, hop.residual_ns), NameOfStart(hop.to));
    }
  }

  [[nodiscard]] std::vector<Hop> Finish() { return std::move(hops_); }

 private:
  void MoveTo(NodeId node) {
    const std::uint32_t place = graph_.node_place[node];
    if (place != DependencyGraph::kNoPlace) {
      rank_ = trace::RankOf(*run_.set, graph_.rank_index[place]);
    }
  }

  void Append(std::int64_t begin_ns, std::int64_t duration_ns, analyze::TimeClass time_class,
              std::string name) {
    if (duration_ns > 0) {
      hops_.push_back({.begin_ns = begin_ns,
                       .duration_ns = duration_ns,
                       .rank = rank_,
                       .path_class = std::string(analyze::TimeClassName(time_class)),
                       .name = std::move(name)});
    }
  }

  [[nodiscard]] std::string NameOfStart(NodeId node) const {
    if (!analyze::IsDeviceNode(graph_.node_kind[node])) {
      return {};
    }
    const trace::Trace& trace = run_.set->ranks[graph_.rank_index[graph_.node_place[node]]];
    return "before " + std::string(trace.Text(trace.activities.name[graph_.node_row[node]]));
  }

  const RunView& run_;
  const DependencyGraph& graph_;
  std::int32_t rank_ = 0;
  std::vector<Hop> hops_;
};

void Add(const Hop& hop, HopSum& sum) {
  ++sum.count;
  sum.time_ns += hop.duration_ns;
  if (sum.longest == nullptr || hop.duration_ns > sum.longest->duration_ns) {
    sum.longest = &hop;
  }
}

constexpr std::size_t kMaxRows = 10;

struct ClassStyle {
  std::string_view path_class;
  std::string_view style;
};

constexpr std::array kClassStyles{
    ClassStyle{"compute", "compute"},
    ClassStyle{"transfer", "transfer"},
    ClassStyle{"communication", "transfer"},
    ClassStyle{"memory", "memory"},
    ClassStyle{"host", "host"},
    ClassStyle{"host_gap", "host-gap"},
    ClassStyle{"launch", "launch"},
    ClassStyle{"launch_overhead", "launch-overhead"},
    ClassStyle{"device_wait", "device-wait"},
    ClassStyle{"sync", "sync"},
};

std::string_view PathClassStyle(std::string_view path_class) {
  const auto* const found = std::ranges::find(kClassStyles, path_class, &ClassStyle::path_class);
  return found == kClassStyles.end() ? std::string_view("other") : found->style;
}

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
  Document::Table table{.heading = "What it is made of",
                        .columns = {AsText("what"),
                                    AsText("class"),
                                    AsCount("hops"),
                                    AsTime("time"),
                                    AsShare("of the path"),
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

std::optional<CriticalPath> RecordedPath(const RunView& run) {
  const DependencyGraph& graph = analyze::GraphOf(run);
  if (graph.empty()) {
    return std::nullopt;
  }
  const analyze::CriticalPath found =
      analyze::FindCriticalPath(graph, analyze::RecordedTiming(graph));
  PathWriter writer(run, graph);
  for (const analyze::Hop& hop : found.hops) {
    writer.Add(hop);
  }
  return CriticalPath{.step = graph.step_number < 0 ? "The whole recording"
                                                    : fmt::format("Step {}", graph.step_number),
                      .length_ns = found.length_ns(),
                      .num_rank_changes = found.num_rank_changes,
                      .hops = writer.Finish()};
}

std::vector<ClassTime> TimeByClass(const CriticalPath& path) {
  std::map<std::string_view, std::int64_t> by_class;
  for (const Hop& hop : path.hops) {
    by_class[hop.path_class] += hop.duration_ns;
  }
  std::vector<ClassTime> times;
  for (const auto& [path_class, time_ns] : by_class) {
    if (time_ns > 0) {
      times.push_back({.path_class = path_class, .time_ns = time_ns});
    }
  }
  std::ranges::stable_sort(times, std::greater{}, &ClassTime::time_ns);
  return times;
}

std::vector<HopSum> LargestSums(const CriticalPath& path, std::size_t max_sums) {
  std::map<std::pair<std::string_view, std::string_view>, HopSum> by_name;
  for (const Hop& hop : path.hops) {
    Add(hop, by_name[{hop.path_class, hop.name}]);
  }
  std::vector<HopSum> sums;
  for (const auto& [name, sum] : by_name) {
    sums.push_back(sum);
  }
  std::ranges::stable_sort(sums, std::greater{}, &HopSum::time_ns);
  sums.resize(std::min(sums.size(), max_sums));
  return sums;
}

// JSON has "host" and "host_gap".
std::string ClassName(std::string_view path_class) {
  std::string name(path_class);
  if (name.starts_with("host")) {
    name.replace(0, 4, "CPU");
  }
  std::ranges::replace(name, '_', ' ');
  return name;
}

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
      "{}: from its first event on a CPU to its last on a GPU the path takes {} and {}.{}",
      path.step, draw::FormatDuration({path.length_ns}), ChangesText(path.num_rank_changes),
      report.time && report.time->is_step
          ? fmt::format(" Steps overlap: the step time is {}.",
                        draw::FormatDuration({std::llround(report.time->seconds * 1e9)}))
          : ""));
  section.Say(ClassesText(path, classes));
  section.Add(Document::Picture{
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
