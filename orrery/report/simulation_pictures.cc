#include "orrery/report/simulation_pictures.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/explain/stage_timeline.h"
#include "orrery/simulate/explain/summary.h"
#include "orrery/simulate/network/link_utilisation.h"

namespace orrery::report {
namespace {

using simulate::Breakdown;
using simulate::PassKind;
using simulate::PassSlice;
using simulate::StageSummary;
using simulate::StageTimeline;
using simulate::StepSummary;
using simulate::TimeKind;
using simulate::TimeShare;

constexpr std::size_t kMostBars = 32;
constexpr std::size_t kMemoryColumns = 482;  // two pixels each

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

struct BarPart {
  const char* name;
  const char* style;
  TimeKind kind;
  std::string_view what;  // empty: all that no other part has
};

constexpr std::array<BarPart, 11> kBarParts = {{
    {"GEMMs", "compute", TimeKind::kCompute, "products"},
    {"attention", "sky", TimeKind::kCompute, "attention"},
    {"other kernels", "other", TimeKind::kCompute, ""},
    {"optimizer", "host", TimeKind::kOptimizer, ""},
    {"tp exposed", "transfer", TimeKind::kTransfer, "tp"},
    {"dp exposed", "launch", TimeKind::kTransfer, "dp"},
    {"other communication exposed", "device-wait", TimeKind::kTransfer, ""},
    {"waiting for others", "waiting", TimeKind::kWait, ""},
    {"CPU", "host-gap", TimeKind::kHost, ""},
    {"bubble", "idle", TimeKind::kBubble, ""},
    {"between kernels", "launch-overhead", TimeKind::kIdle, ""},
}};

std::size_t PartOf(const TimeShare& share) {
  std::size_t found = 0;
  for (std::size_t part = 0; part < kBarParts.size(); ++part) {
    if (kBarParts[part].kind == share.kind &&
        (kBarParts[part].what == share.what || kBarParts[part].what.empty())) {
      found = part;
      if (kBarParts[part].what == share.what) {
        break;
      }
    }
  }
  return found;
}

draw::StackedBar BarOf(const std::string& label, const Breakdown& breakdown) {
  draw::StackedBar bar{.label = label, .values = std::vector<double>(kBarParts.size())};
  for (const TimeShare& share : breakdown.shares) {
    bar.values[PartOf(share)] += static_cast<double>(share.ps) / 1000;
  }
  return bar;
}

draw::StackedBars StageBars(const simulate::SimulatedStep& simulated, const StepSummary& summary) {
  draw::StackedBars chart{.bars = std::vector<draw::StackedBar>(summary.stages.size()),
                          .quantity = draw::Quantity::kNanoseconds,
                          .description = summary.has_pipeline ? "How each stage spends the step"
                                                              : "How ranks spend the step",
                          .title_along = summary.has_pipeline ? "stage" : "rank"};
  for (const BarPart& part : kBarParts) {
    chart.series.push_back({.name = part.name, .style = part.style});
  }
  ParallelFor(summary.stages.size(), 0, [&](std::size_t i) {
    const StageSummary& stage = summary.stages[i];
    chart.bars[i] = BarOf(stage.ShortLabel(), BreakdownOf(*simulated.rank_classes,
                                                          *simulated.timeline, stage.rank_class));
  });
  return chart;
}

void DropEmpty(draw::StackedBars& chart) {
  for (std::size_t part = chart.series.size(); part-- > 0;) {
    const bool is_empty = std::all_of(chart.bars.begin(), chart.bars.end(),
                                      [&](const auto& bar) { return bar.values[part] == 0; });
    if (is_empty) {
      const auto offset = static_cast<std::ptrdiff_t>(part);
      chart.series.erase(chart.series.begin() + offset);
      for (draw::StackedBar& bar : chart.bars) {
        bar.values.erase(bar.values.begin() + offset);
      }
    }
  }
}

draw::StackedBars MemoryChart(const simulate::SimulatedStep& simulated, const StepSummary& summary,
                              const StageSummary& stage) {
  const simulate::MemoryColumns columns = simulate::MemoryColumnsOf(
      *simulated.rank_classes, *simulated.timeline, stage.rank_class, kMemoryColumns);
  draw::StackedBars chart{.series = draw::CategorySeries(columns.categories),
                          .quantity = draw::Quantity::kBinaryBytes,
                          .description = "Memory over the step",
                          .title_along = "time since the step began",
                          .along_end = static_cast<double>(summary.step_ps) / 1000,
                          .along_quantity = draw::Quantity::kNanoseconds};
  for (const std::vector<std::int64_t>& bytes : columns.bytes) {
    chart.bars.push_back({.label = stage.Label(), .values = {bytes.begin(), bytes.end()}});
  }
  if (summary.memory_size_bytes) {
    chart.roof = static_cast<double>(stage.memory.usable_bytes);
    chart.roof_label = fmt::format("a program can use {}", Size(stage.memory.usable_bytes));
  }
  return chart;
}

constexpr double kRowHeight = 36;  // of a few rows
constexpr std::size_t kFewRows = 16;
constexpr std::size_t kPassesInView = 26;  // of the busiest row, so that numbers fit

constexpr std::array<const char*, simulate::kNumPassKinds> kStyles = {
    "forward", "backward", "weights", "optimizer", "other", "transfer", "waiting", "host-gap"};

std::vector<draw::Series> SeriesOfPasses() {
  std::vector<draw::Series> series;
  for (std::size_t kind = 0; kind < simulate::kNumPassKinds; ++kind) {
    series.push_back(
        {.name = std::string(Name(static_cast<PassKind>(kind))), .style = kStyles[kind]});
  }
  return series;
}

std::string TipOf(const PassSlice& pass) {
  std::string tip = pass.microbatch < 0 ? "" : fmt::format("micro-batch {}", pass.microbatch + 1);
  if (pass.chunk > 0) {
    tip += fmt::format(", chunk {}", pass.chunk + 1);
  }
  if (!pass.what.empty()) {
    tip = pass.what;
  }
  if (pass.exposed_ps > 0) {
    tip += fmt::format("{}{} of it communication", tip.empty() ? "" : "\n",
                       draw::FormatDuration({pass.exposed_ps / 1000}));
  }
  return tip;
}

draw::TimelineSlice SliceOf(const PassSlice& pass) {
  return {.begin_ns = pass.begin_ps / 1000,
          .end_ns = pass.end_ps / 1000,
          .series = static_cast<std::uint8_t>(pass.kind),
          .tip = TipOf(pass),
          .label = pass.microbatch < 0 ? "" : std::to_string(pass.microbatch + 1)};
}

PassKind KindInside(TimeKind kind) {
  if (kind == TimeKind::kHost) {
    return PassKind::kHost;
  }
  return kind == TimeKind::kWait ? PassKind::kWait : PassKind::kTransfer;
}

draw::TimelineRow RowOf(const std::string& label, const StageTimeline& timeline) {
  draw::TimelineRow row{.label = label};
  for (const PassSlice& pass : timeline.passes) {
    row.slices.push_back(SliceOf(pass));
  }
  for (const simulate::TimeSlice& inside : timeline.inside) {
    row.strip.push_back({.begin_ns = inside.begin_ps / 1000,
                         .end_ns = inside.end_ps / 1000,
                         .series = static_cast<std::uint8_t>(KindInside(inside.kind))});
  }
  return row;
}

draw::TimelineChart ChartOf(const simulate::SimulatedStep& simulated,
                            const simulate::StepSummary& summary) {
  draw::TimelineChart chart{
      .series = SeriesOfPasses(),
      .background = {.name = summary.has_pipeline ? "bubble" : "nothing", .style = "idle"},
      .rows = std::vector<draw::TimelineRow>(summary.stages.size()),
      .end_ns = summary.step_ps / 1000,
      .description = summary.has_pipeline ? "What each stage of the pipeline does along the step"
                                          : "What ranks do along the step",
      .row_height = summary.stages.size() > kFewRows ? 0 : kRowHeight};
  ParallelFor(summary.stages.size(), 0, [&](std::size_t i) {
    const simulate::StageSummary& stage = summary.stages[i];
    chart.rows[i] = RowOf(
        stage.ShortLabel(),
        simulate::StageTimelineOf(*simulated.rank_classes, *simulated.timeline, stage.rank_class));
  });
  return chart;
}

// Only what is in the picture.
std::vector<draw::Series> LegendOf(const draw::TimelineChart& chart) {
  std::array<bool, simulate::kNumPassKinds> is_there = {};
  for (const draw::TimelineRow& row : chart.rows) {
    for (const draw::TimelineSlice& slice : row.slices) {
      is_there[slice.series] = true;
    }
    for (const draw::TimelineSlice& slice : row.strip) {
      is_there[slice.series] = true;
    }
  }
  std::vector<draw::Series> legend;
  for (std::size_t kind = 0; kind < chart.series.size(); ++kind) {
    if (is_there[kind]) {
      legend.push_back(chart.series[kind]);
    }
  }
  legend.push_back(chart.background);
  return legend;
}

// The shortest time from the begin, or before the end, in which some row has as many passes as can
// be distinguished; all of the step when no row has more.
std::int64_t ViewNs(const draw::TimelineChart& chart, bool from_begin) {
  std::int64_t view_ns = chart.end_ns;
  for (const draw::TimelineRow& row : chart.rows) {
    std::vector<std::int64_t> ends;
    for (const draw::TimelineSlice& slice : row.slices) {
      if (!slice.label.empty()) {
        ends.push_back(from_begin ? slice.end_ns : chart.end_ns - slice.begin_ns);
      }
    }
    std::sort(ends.begin(), ends.end());
    if (ends.size() > kPassesInView) {
      view_ns = std::min(view_ns, ends[kPassesInView]);
    }
  }
  return view_ns;
}

draw::TimelineChart CutOut(const draw::TimelineChart& chart, std::int64_t begin_ns,
                           std::int64_t end_ns) {
  const auto is_outside = [&](const draw::TimelineSlice& slice) {
    return slice.end_ns <= begin_ns || slice.begin_ns >= end_ns;
  };
  draw::TimelineChart part = chart;
  part.begin_ns = begin_ns;
  part.end_ns = end_ns;
  for (draw::TimelineRow& row : part.rows) {
    std::erase_if(row.slices, is_outside);
    std::erase_if(row.strip, is_outside);
  }
  return part;
}

std::vector<Document::Picture> CloseUps(const draw::TimelineChart& chart, bool has_pipeline) {
  const std::int64_t first_ns = ViewNs(chart, true);
  if (2 * first_ns >= chart.end_ns) {
    return {};
  }
  const std::int64_t last_ns = ViewNs(chart, false);
  return {{.heading = has_pipeline ? "The pipeline fills" : "The first passes",
           .svg = draw::RenderTimeline(CutOut(chart, 0, first_ns))},
          {.heading = has_pipeline ? "The pipeline drains" : "The last passes",
           .svg = draw::RenderTimeline(CutOut(chart, chart.end_ns - last_ns, chart.end_ns))}};
}

constexpr const char* kBlocksText =
    "Numbers are micro-batches. A block is a pass with all that lies between its kernels; the thin "
    "line at its foot is time in which communication, and no kernel, runs.";

// "One row per stage of the pipeline …", or whom rows stand for.
std::string RowsText(const simulate::StepSummary& summary) {
  if (summary.stages.size() > 1 && summary.stages.front().stage) {
    return "One row per stage of the pipeline, its slowest rank. ";
  }
  if (summary.stages.size() > kFewRows) {
    return "One row for each kind of rank, its slowest. ";
  }
  std::string text;
  for (const simulate::StageSummary& kind : summary.stages) {
    text += kind.ranks == 1 ? ""
                            : fmt::format("Rank {} stands for {} that run the same. ", kind.rank,
                                          draw::FormatCount(kind.ranks));
  }
  return text;
}

}  // namespace

Document::Picture BreakdownPicture(const simulate::SimulatedStep& simulated,
                                   const StepSummary& summary) {
  draw::StackedBars chart = StageBars(simulated, summary);
  DropEmpty(chart);
  return {.svg = chart.bars.size() > kMostBars ? draw::RenderStackedColumns(chart)
                                               : draw::RenderStackedBars(chart),
          .caption =
              "Every bar is as long as the step. Communication counts where no kernel hides "
              "it, split into transfer and waiting for other members of the group.",
          .legend = chart.series};
}

Document::Picture MemoryPicture(const simulate::SimulatedStep& simulated,
                                const StepSummary& summary) {
  const StageSummary& fullest = *summary.Fullest();
  const draw::StackedBars chart = MemoryChart(simulated, summary, fullest);
  return {.svg = draw::RenderStackedColumns(chart),
          .caption = fmt::format("Memory of {} over the step, the largest of all: {} after "
                                 "{}, gaps between blocks included.",
                                 fullest.name, Size(fullest.memory.needed_bytes),
                                 draw::FormatDuration({fullest.memory.peak_ps / 1000})),
          .legend = chart.series};
}

std::vector<Document::Picture> TimelinePictures(const simulate::SimulatedStep& simulated,
                                                const simulate::StepSummary& summary) {
  const draw::TimelineChart chart = ChartOf(simulated, summary);
  std::vector<Document::Picture> pictures = CloseUps(chart, summary.has_pipeline);
  const std::string caption =
      fmt::format("One step of {}. {}{}", draw::FormatDuration({summary.step_ps / 1000}),
                  RowsText(summary), kBlocksText);
  pictures.insert(pictures.begin(), {.svg = draw::RenderTimeline(chart),
                                     .caption = caption,
                                     .legend = LegendOf(chart),
                                     .perfetto = "orrery simulate … --trace step.pftrace"});
  return pictures;
}

Document::Picture ComparedTimeline(const simulate::SimulatedStep& simulated,
                                   const simulate::StepSummary& summary, std::int64_t end_ps) {
  draw::TimelineChart chart = ChartOf(simulated, summary);
  chart.background_end_ns = chart.end_ns;
  chart.end_ns = std::max(chart.end_ns, end_ps / 1000);
  return {.svg = draw::RenderTimeline(chart),
          .caption = RowsText(summary) + kBlocksText,
          .legend = LegendOf(chart)};
}

Document::Picture LinkPicture(const simulate::LinkUtilisation& utilisation, std::int64_t step_ps) {
  constexpr std::array kLimits = {5.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0, 100.0};
  draw::HeatMap map{.row_labels = {},
                    .column_labels = {},
                    .quantity = draw::Quantity::kPercent,
                    .column_title = "time, in equal parts of the step",
                    .description = "How busy links are over the step"};
  for (std::size_t level = 0; level < kLimits.size(); ++level) {
    map.levels.push_back({.limit = kLimits[level],
                          .series = {.name = fmt::format("≤ {:.0f} %", kLimits[level]),
                                     .style = fmt::format("heat-{}", level)}});
  }
  const std::size_t parts = utilisation.links.empty() ? 0 : utilisation.links[0].by_time.size();
  for (std::size_t part = 0; part < parts; ++part) {
    const auto at_ns = static_cast<double>(step_ps) * static_cast<double>(part) /
                       static_cast<double>(parts) / 1000;
    map.column_labels.push_back(draw::FormatDuration({static_cast<std::int64_t>(at_ns)}));
  }
  for (const simulate::LinkUtilisation::Link& link : utilisation.links) {
    map.row_labels.push_back(link.name);
    for (const double share : link.by_time) {
      map.values.push_back(std::min(100.0, 100 * share));
    }
  }
  return {.heading = "How busy links are over the step",
          .svg = draw::RenderHeatMap(map),
          .caption = fmt::format("The {} busiest of {} links that carry something, as shares of "
                                 "their bandwidth; latency and what libraries do not reach of a "
                                 "link leave it idle.",
                                 utilisation.links.size(), utilisation.num_links),
          .legend = draw::HeatLegend(map)};
}

}  // namespace orrery::report
