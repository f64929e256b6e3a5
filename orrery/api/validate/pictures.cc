#include "orrery/api/validate/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/fields/documents.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/text/text.h"
#include "orrery/calibrate/validation.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"

namespace orrery::api {
namespace {

using calibrate::ErrorGroup;
using calibrate::EvaluatedRun;
using calibrate::Validation;

constexpr std::string_view kOthers = "other sources";
// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 4;
constexpr double kLongestErrorPercent = 60;
constexpr double kNanosecondsOfSecond = 1e9;
constexpr std::size_t kNameWidth = 22;  // of a row of the lower chart

// Colours of sources, largest source first; all smaller ones share the last.
constexpr std::array<std::string_view, 7> kStyles = {"compute", "transfer",    "memory", "host",
                                                     "launch",  "device-wait", "other"};

// Names of sources by rows, as many as have a colour of their own.
std::vector<std::string> LargestSources(const Validation& validation) {
  std::vector<ErrorGroup> groups = GroupsOf(validation, calibrate::GroupKey::kSource);
  std::erase_if(groups, [](const ErrorGroup& group) { return group.figures.simulated == 0; });
  std::ranges::stable_sort(groups, std::greater<>(),
                           [](const ErrorGroup& group) { return group.figures.simulated; });
  const bool has_others = groups.size() > kStyles.size();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < groups.size() && i < kStyles.size() - (has_others ? 1 : 0); ++i) {
    names.push_back(groups[i].name);
  }
  if (has_others) {
    names.emplace_back(kOthers);
  }
  return names;
}

std::size_t SeriesOf(const EvaluatedRun& evaluated, const std::vector<std::string>& names) {
  const auto found = std::ranges::find(names, evaluated.run.source);
  return found == names.end() ? names.size() - 1 : static_cast<std::size_t>(found - names.begin());
}

draw::ScatterChart RatioChart(const Validation& validation, const std::vector<std::string>& names) {
  draw::ScatterChart chart{.lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured step",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured time of each step"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    chart.series.push_back({names[i], std::string(kStyles[i])});
  }
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    chart.points.push_back(
        {.x = evaluated.run.measured_s * kNanosecondsOfSecond,
         .y = std::clamp(1 + evaluated.Error(), 1 / kLargestRatio, kLargestRatio),
         .series = SeriesOf(evaluated, names)});
  }
  return chart;
}

draw::SpreadChart ErrorChart(const Validation& validation, const std::vector<std::string>& names) {
  draw::SpreadChart chart{.quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each source are spread"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<double> errors;
    for (const EvaluatedRun& evaluated : validation.evaluated) {
      if (SeriesOf(evaluated, names) == i) {
        errors.push_back(100 * std::abs(evaluated.Error()));
      }
    }
    chart.rows.push_back(
        {.series = {draw::Truncated(names[i], kNameWidth), std::string(kStyles[i])},
         .smallest = Quantile(errors, 0.05),
         .lower_quartile = Quantile(errors, 0.25),
         .median = std::min(kLongestErrorPercent, Quantile(errors, 0.5)),
         .upper_quartile = std::min(kLongestErrorPercent, Quantile(errors, 0.75)),
         .largest = std::min(kLongestErrorPercent, Quantile(errors, 0.95)),
         .note = fmt::format("mean {:.1f} %, {} rows", Mean(errors), errors.size())});
  }
  return chart;
}

}  // namespace

std::vector<Document::Picture> ValidationPictures(const Validation& validation) {
  if (validation.evaluated.empty()) {
    return {};
  }
  const std::vector<std::string> names = LargestSources(validation);
  const calibrate::ErrorFigures figures = FiguresOf(validation);
  const draw::ScatterChart ratios = RatioChart(validation, names);
  return {{.heading = "Predicted against measured training steps",
           .svg = draw::RenderScatter(ratios),
           .caption = fmt::format("{} of {} rows simulated: mean |error| {:.2f} %, median {:.2f} %",
                                  figures.simulated, figures.rows, figures.mape, figures.median),
           .legend = draw::ScatterLegend(ratios)},
          {.heading = "Errors by source",
           .svg = draw::RenderSpreadChart(ErrorChart(validation, names)),
           .caption = std::string(kSpreadCaption)}};
}

}  // namespace orrery::api
