#include "orrery/api/goodput/pictures.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/goodput/answer.h"
#include "orrery/base/text/duration_text.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/simulate/goodput/goodput.h"
#include "orrery/simulate/goodput/goodput_study.h"

namespace orrery::api {
namespace {

using simulate::GoodputVariant;

constexpr double kPercent = 100;
constexpr double kHour = 3'600;
constexpr std::size_t kColumns = 40;

struct LostTimeLook {
  std::string_view name;
  std::string_view style;
};

constexpr std::array<LostTimeLook, simulate::kLostTimeKeys.size()> kLooks{{
    {"checkpoint stalls", "host"},
    {"work done again", "transfer"},
    {"detection", "device-wait"},
    {"restart", "launch"},
    {"loading the checkpoint", "memory"},
    {"waiting for a node", "waiting"},
    {"slow nodes", "sky"},
    {"fewer replicas", "compute"},
    {"unfinished step at the end", "other"},
}};

std::vector<draw::Series> SeriesOfLostTime() {
  std::vector<draw::Series> series;
  for (const LostTimeLook& look : kLooks) {
    series.push_back({std::string(look.name), std::string(look.style)});
  }
  return series;
}

// Leaves series out that no bar has.
void DropEmpty(draw::StackedBars& chart) {
  for (std::size_t i = chart.series.size(); i-- > 0;) {
    const bool is_used = std::ranges::any_of(
        chart.bars, [i](const draw::StackedBar& bar) { return bar.values[i] > 0; });
    if (!is_used) {
      const auto at = static_cast<std::ptrdiff_t>(i);
      chart.series.erase(chart.series.begin() + at);
      for (draw::StackedBar& bar : chart.bars) {
        bar.values.erase(bar.values.begin() + at);
      }
    }
  }
}

draw::StackedBar BarOf(const GoodputVariant& variant, const GoodputAnswer& answer,
                       std::string label) {
  const double window_s = static_cast<double>(answer.study.options.window_ps) * 1e-12;
  draw::StackedBar bar{.label = std::move(label)};
  for (const double lost_s : variant.summary.lost_s) {
    bar.values.push_back(kPercent * lost_s / window_s);
  }
  bar.note = fmt::format("ETTR {:.1f} %", kPercent * variant.summary.ettr_mean);
  return bar;
}

template <typename Label>
Document::Picture VariantsPicture(const GoodputAnswer& answer,
                                  const std::vector<GoodputVariant>& variants, const Label& label,
                                  std::string description) {
  draw::StackedBars chart{.series = SeriesOfLostTime(),
                          .quantity = draw::Quantity::kPercent,
                          .description = std::move(description)};
  for (const GoodputVariant& variant : variants) {
    chart.bars.push_back(BarOf(variant, answer, label(variant)));
  }
  DropEmpty(chart);
  return {.svg = draw::RenderStackedBars(chart),
          .caption = "Share of the window that is lost, mean over months, and to what.",
          .legend = chart.series};
}

}  // namespace

std::string_view LostTimeName(simulate::LostTime what) {
  return kLooks[static_cast<std::size_t>(what)].name;
}

Document::Picture EttrPicture(const GoodputAnswer& answer) {
  std::vector<double> ettr = simulate::EttrOf(answer.study.months, answer.study.options.window_ps);
  const auto [least, most] = std::ranges::minmax(ettr);
  const double width = std::max(most - least, 1e-6) / kColumns;
  std::array<double, kColumns> months{};
  for (const double value : ettr) {
    const auto column = static_cast<std::size_t>((value - least) / width);
    months[std::min(column, kColumns - 1)] += 1;
  }
  draw::LineChart chart{.x_quantity = draw::Quantity::kPercent,
                        .x_title = "effective training time",
                        .y_title = "months",
                        .description = "How effective training time is spread over months"};
  draw::ChartLine line{.series = {"months", "compute"}};
  const auto edge = [&, low = least](std::size_t column) {
    return kPercent * (low + width * static_cast<double>(column));
  };
  for (std::size_t i = 0; i < kColumns; ++i) {
    line.segments.push_back({edge(i), edge(i + 1), months[i]});
  }
  chart.lines.push_back(std::move(line));
  return {.heading = "Effective training time of simulated months",
          .svg = draw::RenderLineChart(chart)};
}

Document::Picture LostTimePicture(const GoodputAnswer& answer) {
  const simulate::GoodputSummary& summary = answer.study.chosen.summary;
  draw::RankedBars chart{.series = {"lost", "transfer"},
                         .description = "Hours lost to each thing, mean over months"};
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    if (summary.lost_s[i] > 0) {
      chart.bars.push_back({.label = std::string(kLooks[i].name),
                            .value = summary.lost_s[i] / kHour,
                            .note = SecondsText(summary.lost_s[i]),
                            .style = std::string(kLooks[i].style)});
    }
  }
  std::ranges::stable_sort(chart.bars, std::ranges::greater(), &draw::RankedBar::value);
  return {.svg = draw::RenderRankedBars(chart),
          .caption = "Hours lost in a window, mean over the simulated months."};
}

Document::Picture IntervalPicture(const GoodputAnswer& answer) {
  const double step_s = static_cast<double>(answer.step.step_ps) * 1e-12;
  return VariantsPicture(
      answer, answer.study.intervals,
      [&](const GoodputVariant& variant) {
        return "every " + SecondsText(static_cast<double>(variant.interval_steps) * step_s);
      },
      "Lost time by checkpoint interval");
}

Document::Picture SparesPicture(const GoodputAnswer& answer) {
  return VariantsPicture(
      answer, answer.study.spares,
      [](const GoodputVariant& variant) {
        return fmt::format("{} spare{}", variant.spares, variant.spares == 1 ? "" : "s");
      },
      "Lost time by number of spare nodes");
}

}  // namespace orrery::api
