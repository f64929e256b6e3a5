#include "orrery/report/simulation_pictures.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/number_format.h"
#include "orrery/simulate/memory_columns.h"

namespace orrery::report {
namespace {

using simulate::Breakdown;
using simulate::StageSummary;
using simulate::StepSummary;
using simulate::TimeKind;
using simulate::TimeShare;

constexpr std::size_t kMostBars = 32;
constexpr std::size_t kMemoryColumns = 482;  // two pixels each
constexpr double kGibibyte = 1 << 30;

constexpr std::array<std::string_view, 10> kPalette = {
    "compute", "memory", "transfer",    "host", "sky",
    "launch",  "other",  "device-wait", "sync", "launch-overhead"};

std::string Time(std::int64_t ps) {
  return draw::FormatDuration({ps / 1000});
}

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

/// The parts of a bar, and where shares go.
struct BarPart {
  const char* name;
  const char* style;
  TimeKind kind;
  std::string_view what;  // empty: all that no other part has
};

constexpr std::array<BarPart, 11> kBarParts = {{
    {"products", "compute", TimeKind::kCompute, "products"},
    {"attention", "sky", TimeKind::kCompute, "attention"},
    {"other kernels", "other", TimeKind::kCompute, ""},
    {"optimizer", "host", TimeKind::kOptimizer, ""},
    {"tp exposed", "transfer", TimeKind::kTransfer, "tp"},
    {"dp exposed", "launch", TimeKind::kTransfer, "dp"},
    {"other communication exposed", "device-wait", TimeKind::kTransfer, ""},
    {"waiting for others", "waiting", TimeKind::kWait, ""},
    {"host", "host-gap", TimeKind::kHost, ""},
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
  draw::StackedBars chart{.series = {},
                          .bars = std::vector<draw::StackedBar>(summary.stages.size()),
                          .quantity = draw::Quantity::kNanoseconds,
                          .description = summary.has_pipeline ? "How each stage spends the step"
                                                              : "How ranks spend the step",
                          .title_along = summary.has_pipeline ? "stage" : "rank"};
  for (const BarPart& part : kBarParts) {
    chart.series.push_back({.name = part.name, .style = part.style});
  }
  ParallelFor(summary.stages.size(), 0, [&](std::size_t i) {
    const StageSummary& stage = summary.stages[i];
    chart.bars[i] =
        BarOf(stage.ShortLabel(), BreakdownOf(*simulated.rank_classes, *simulated.timeline,
                                              {.rank_class = stage.rank_class}));
  });
  return chart;
}

// Parts that no bar has are left out.
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
  draw::StackedBars chart{.series = {},
                          .bars = {},
                          .description = "Memory over the step",
                          .title_along = "time",
                          .along_end = static_cast<double>(summary.step_ps) / 1000,
                          .along_quantity = draw::Quantity::kNanoseconds};
  for (std::size_t i = 0; i < columns.categories.size(); ++i) {
    chart.series.push_back(
        {.name = columns.categories[i], .style = std::string(kPalette[i % kPalette.size()])});
  }
  for (const std::vector<std::int64_t>& bytes : columns.bytes) {
    draw::StackedBar& bar =
        chart.bars.emplace_back(draw::StackedBar{.label = stage.Label() + ", GiB"});
    for (const std::int64_t part : bytes) {
      bar.values.push_back(static_cast<double>(part) / kGibibyte);
    }
  }
  if (summary.memory_size_bytes) {
    chart.roof = static_cast<double>(stage.memory.usable_bytes) / kGibibyte;
    chart.roof_label = fmt::format("a GPU has {}", Size(stage.memory.usable_bytes));
  }
  return chart;
}

}  // namespace

Document::Picture BreakdownPicture(const simulate::SimulatedStep& simulated,
                                   const StepSummary& summary) {
  draw::StackedBars chart = StageBars(simulated, summary);
  DropEmpty(chart);
  return {.heading = "",
          .svg = chart.bars.size() > kMostBars ? draw::RenderStackedColumns(chart)
                                               : draw::RenderStackedBars(chart),
          .caption =
              "Every bar is as long as the step. Communication counts where no kernel hides "
              "it, split into moving data and waiting for other members of the group.",
          .legend = chart.series};
}

Document::Picture MemoryPicture(const simulate::SimulatedStep& simulated,
                                const StepSummary& summary) {
  const StageSummary& fullest = *summary.Fullest();
  const draw::StackedBars chart = MemoryChart(simulated, summary, fullest);
  return {.heading = "",
          .svg = draw::RenderStackedColumns(chart),
          .caption = fmt::format("Memory of {} over the step in GiB, the largest of all: {} after "
                                 "{}, gaps between blocks included.",
                                 fullest.name, Size(fullest.memory.needed_bytes),
                                 Time(fullest.memory.peak_ps)),
          .legend = chart.series};
}

}  // namespace orrery::report
