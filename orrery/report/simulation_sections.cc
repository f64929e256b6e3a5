#include "orrery/report/simulation_sections.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/page.h"
#include "orrery/simulate/memory_columns.h"
#include "orrery/simulate/share_names.h"

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
constexpr std::size_t kMostParts = 4;

constexpr std::array<std::string_view, 10> kPalette = {
    "compute", "memory", "transfer",    "host", "sky",
    "launch",  "other",  "device-wait", "sync", "launch-overhead"};

std::string Time(std::int64_t ps) {
  return draw::FormatDuration({ps / 1000});
}

std::string Size(std::int64_t bytes) {
  return draw::FormatBinaryBytes({bytes});
}

std::string Percent(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? "–"
                    : fmt::format("{:.1f} %",
                                  100 * static_cast<double>(part) / static_cast<double>(whole));
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

draw::StackedBars StageBars(const SimulationPage& page) {
  const StepSummary& summary = *page.summary;
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
        BarOf(stage.ShortLabel(),
              BreakdownOf(*page.simulated.rank_classes, *page.simulated.timeline, {.rank_class = stage.rank_class}));
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

std::string SharesTable(const StepSummary& summary) {
  HtmlTable table{.columns = {{"part"}, {"time", true}, {"share", true}}};
  for (const TimeShare& share : simulate::LargestFirst(summary.breakdown)) {
    table.rows.push_back(
        {simulate::ShareText(share), Time(share.ps), Percent(share.ps, summary.step_ps)});
  }
  table.rows.push_back({"step", Time(summary.step_ps), Percent(summary.step_ps, summary.step_ps)});
  return RenderTable(table);
}

draw::StackedBars MemoryChart(const SimulationPage& page, const StageSummary& stage) {
  const simulate::MemoryColumns columns = simulate::MemoryColumnsOf(
      *page.simulated.rank_classes, *page.simulated.timeline, stage.rank_class, kMemoryColumns);
  draw::StackedBars chart{.series = {},
                          .bars = {},
                          .description = "Memory over the step",
                          .title_along = "time",
                          .along_end = static_cast<double>(page.summary->step_ps) / 1000,
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
  if (page.summary->memory_size_bytes) {
    chart.roof = static_cast<double>(stage.memory.usable_bytes) / kGibibyte;
    chart.roof_label = fmt::format("a GPU has {}", Size(stage.memory.usable_bytes));
  }
  return chart;
}

std::string StagesTable(const StepSummary& summary) {
  HtmlTable table{.columns = {{"largest parts at the peak"},
                              {"of", true},
                              {"rank", true},
                              {"peak", true},
                              {"of the GPU", true},
                              {"after", true}},
                  .style = "hops"};
  for (const StageSummary& stage : summary.stages) {
    std::string parts;
    for (std::size_t i = 0; i < stage.memory.parts.size() && i < kMostParts; ++i) {
      parts += fmt::format("{}{} {}", i == 0 ? "" : ", ", stage.memory.parts[i].category,
                           Size(stage.memory.parts[i].bytes));
    }
    table.rows.push_back({parts, stage.Label(), std::to_string(stage.rank),
                          Size(stage.memory.needed_bytes),
                          Percent(stage.memory.needed_bytes, stage.memory.usable_bytes),
                          Time(stage.memory.peak_ps)});
  }
  return RenderTable(table);
}

// Of traced ranks only the peak is known.
std::string RecordedMemory(const StepSummary& summary) {
  HtmlTable table{.columns = {{"of"},
                              {"allocated at the peak", true},
                              {"reserved at the peak", true},
                              {"of the GPU", true}}};
  for (const StageSummary& stage : summary.stages) {
    table.rows.push_back({stage.Label(), Size(stage.memory.peak_bytes),
                          Size(stage.memory.needed_bytes),
                          Percent(stage.memory.needed_bytes, stage.memory.usable_bytes)});
  }
  return Caption(
             "What ranks held when they were traced, not simulated; shares are of all memory that "
             "the GPU has.") +
         RenderTable(table);
}

}  // namespace

std::string StageBreakdownSection(const SimulationPage& page) {
  draw::StackedBars chart = StageBars(page);
  DropEmpty(chart);
  std::string body = Caption(
      "Every bar is as long as the step. Communication counts where no kernel hides it, split into "
      "moving data and waiting for other members of the group.");
  body += draw::RenderLegend(chart.series);
  body += Framed(chart.bars.size() > kMostBars ? draw::RenderStackedColumns(chart)
                                               : draw::RenderStackedBars(chart));
  body += fmt::format("<h3>Rank {}, the slowest, in numbers</h3>\n", page.summary->slowest_rank);
  return Section("breakdown", "Where the time goes", body + SharesTable(*page.summary));
}

std::string MemorySection(const SimulationPage& page) {
  const StageSummary* const fullest = page.summary->Fullest();
  if (fullest == nullptr) {
    return Section("memory", "Memory", Caption("The program does not say what it needs."));
  }
  if (page.summary->is_memory_recorded) {
    return Section("memory", "Memory", RecordedMemory(*page.summary));
  }
  const draw::StackedBars chart = MemoryChart(page, *fullest);
  return Section("memory", "Memory",
                 Caption(fmt::format("What {} needs over the step in GiB, no other more: {} after "
                                     "{}, gaps between blocks included.",
                                     fullest->name, Size(fullest->memory.needed_bytes),
                                     Time(fullest->memory.peak_ps))) +
                     draw::RenderLegend(chart.series) + Framed(draw::RenderStackedColumns(chart)) +
                     "<h3>In numbers</h3>\n" + StagesTable(*page.summary));
}

std::string DimensionsSection(const SimulationPage& page) {
  const StepSummary& summary = *page.summary;
  if (summary.dimensions.empty()) {
    return Section("dimensions", "Communication", Caption("There is none."));
  }
  HtmlTable table{.columns = {{"dimension"},
                              {"calls", true},
                              {"bytes", true},
                              {"moving data", true},
                              {"waiting for others", true},
                              {"exposed", true},
                              {"of the step", true}}};
  for (const simulate::DimensionTotal& total : summary.dimensions) {
    table.rows.push_back({total.dimension, draw::FormatCount(total.calls),
                          draw::FormatBytes({total.bytes}), Time(total.transfer_ps),
                          Time(total.wait_ps), Time(total.exposed_ps),
                          Percent(total.exposed_ps, summary.step_ps)});
  }
  return Section(
      "dimensions", "Communication by dimension",
      Caption(fmt::format("Rank {}. Exposed is what no kernel hides{}.", summary.slowest_rank,
                          summary.has_pipeline
                              ? "; waiting for another stage of the pipeline counts as bubble"
                              : "")) +
          RenderTable(table));
}

}  // namespace orrery::report
