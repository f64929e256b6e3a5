#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/draw/chart/timeline_chart.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/simulation_pictures.h"
#include "orrery/simulate/stage_timeline.h"

namespace orrery::report {
namespace {

using simulate::PassKind;
using simulate::PassSlice;
using simulate::StageTimeline;
using simulate::TimeKind;

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

bool IsPass(const draw::TimelineSlice& slice) {
  return !slice.label.empty();
}

// The shortest time from the begin, or before the end, in which some row has as many passes as can
// be distinguished; all of the step when no row has more.
std::int64_t ViewNs(const draw::TimelineChart& chart, bool from_begin) {
  std::int64_t view_ns = chart.end_ns;
  for (const draw::TimelineRow& row : chart.rows) {
    std::vector<std::int64_t> ends;
    for (const draw::TimelineSlice& slice : row.slices) {
      if (IsPass(slice)) {
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

// The same between two instants.
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

// "One row a stage of the pipeline …", or whom rows stand for.
std::string RowsText(const simulate::StepSummary& summary) {
  if (summary.stages.size() > 1 && summary.stages.front().stage) {
    return "One row a stage of the pipeline, its slowest rank. ";
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

std::vector<Document::Picture> TimelinePictures(const simulate::SimulatedStep& simulated,
                                                const simulate::StepSummary& summary) {
  const draw::TimelineChart chart = ChartOf(simulated, summary);
  std::vector<Document::Picture> pictures = CloseUps(chart, summary.has_pipeline);
  const std::string caption = fmt::format(
      "One step of {}. {}Numbers are micro-batches. A block is a pass with all that lies between "
      "its kernels; the thin line at its foot is time in which communication, and no kernel, runs.",
      draw::FormatDuration({summary.step_ps / 1000}), RowsText(summary));
  pictures.insert(pictures.begin(), {.heading = "",
                                     .svg = draw::RenderTimeline(chart),
                                     .caption = caption,
                                     .legend = LegendOf(chart)});
  return pictures;
}

}  // namespace orrery::report
