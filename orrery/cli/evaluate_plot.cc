#include "orrery/cli/evaluate_plot.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/byte_sink.h"
#include "orrery/draw/chart/marker.h"
#include "orrery/draw/chart/scatter_chart.h"
#include "orrery/draw/chart/spread_chart.h"
#include "orrery/draw/chart/svg_writer.h"
#include "orrery/kernel/work.h"
#include "orrery/report/page.h"

namespace orrery::cli {
namespace {

constexpr double kMargin = 24;
constexpr double kWidth = 1080 + 2 * kMargin;
constexpr double kGap = 30;
// A prediction off by more is drawn at the edge: the picture is about the many.
constexpr double kLargestRatio = 10;
constexpr double kShortestAxisPercent = 20;

struct SeriesLook {
  std::string_view name;
  std::string_view style;
};

constexpr std::array<SeriesLook, 2> kLooks = {
    {{"matrix products", "compute"}, {"all other operators", "memory"}}};

std::size_t SeriesOf(kernel::OperatorKind kind) {
  return kernel::IsMatrixProduct(kind) ? 0 : 1;
}

double Ratio(const kernel::JudgedRow& row) {
  return row.predicted.seconds / row.measured.seconds;
}

std::vector<draw::Series> AllSeries() {
  std::vector<draw::Series> series;
  for (const SeriesLook& look : kLooks) {
    series.push_back({std::string(look.name), std::string(look.style)});
  }
  return series;
}

draw::ScatterChart RatioChart(const std::vector<kernel::JudgedRow>& rows) {
  draw::ScatterChart chart{.series = AllSeries(),
                           .lines = {{"10 % too long", 1.1}, {"10 % too short", 0.9}},
                           .x_quantity = draw::Quantity::kNanoseconds,
                           .x_title = "measured time",
                           .y_title = "predicted / measured",
                           .description = "Predicted over measured time of each operator"};
  for (const kernel::JudgedRow& row : rows) {
    chart.points.push_back({.x = row.measured.seconds * 1e9,
                            .y = std::clamp(Ratio(row), 1 / kLargestRatio, kLargestRatio),
                            .series = SeriesOf(row.measured.op.kind())});
  }
  return chart;
}

// Values are sorted and there is one at least.
double Quantile(const std::vector<double>& sorted, double share) {
  return sorted[static_cast<std::size_t>(
      std::lround(share * static_cast<double>(sorted.size() - 1)))];
}

draw::Spread SpreadOf(kernel::OperatorKind kind, std::vector<double> errors) {
  std::ranges::sort(errors);
  double sum = 0;
  for (const double error : errors) {
    sum += error;
  }
  const double p95 = Quantile(errors, 0.95);
  return {.series = {std::string(kernel::SchemaOf(kind).name),
                     std::string(kLooks[SeriesOf(kind)].style)},
          .smallest = Quantile(errors, 0.05),
          .lower_quartile = Quantile(errors, 0.25),
          .median = Quantile(errors, 0.5),
          .upper_quartile = Quantile(errors, 0.75),
          .largest = p95,
          .note = fmt::format("mean {:.1f} %, 95 % below {:.1f} %, {} rows",
                              sum / static_cast<double>(errors.size()), p95, errors.size())};
}

// One operator with wild errors must not make a stub of all others; its note says how long it is.
void CutLongLines(draw::SpreadChart& chart) {
  double limit = kShortestAxisPercent;
  for (const draw::Spread& row : chart.rows) {
    limit = std::max(limit, 1.5 * row.upper_quartile);
  }
  for (draw::Spread& row : chart.rows) {
    row.largest = std::min(row.largest, limit);
  }
}

draw::SpreadChart ErrorChart(const std::vector<kernel::JudgedRow>& rows) {
  std::map<kernel::OperatorKind, std::vector<double>> errors;
  for (const kernel::JudgedRow& row : rows) {
    errors[row.measured.op.kind()].push_back(100 * std::abs(Ratio(row) - 1));
  }
  draw::SpreadChart chart{.rows = {},
                          .quantity = draw::Quantity::kPercent,
                          .description = "How the errors of each operator are spread"};
  for (auto& [kind, values] : errors) {
    chart.rows.push_back(SpreadOf(kind, std::move(values)));
  }
  CutLongLines(chart);
  return chart;
}

// A picture inside of another: what it draws, without its own frame, and its height.
struct Part {
  std::string content;
  double height = 0;
};

double NumberAt(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

Part PartOf(std::string_view svg) {
  constexpr std::string_view kViewBox = "viewBox=\"0 0 ";
  constexpr std::string_view kEnd = "</svg>";
  const std::string_view size = svg.substr(svg.find(kViewBox) + kViewBox.size());
  const std::size_t begin = svg.find('>') + 1;
  return {std::string(svg.substr(begin, svg.rfind(kEnd) - begin)),
          NumberAt(size.substr(size.find(' ') + 1))};
}

std::string Placed(const Part& part, double y) {
  return fmt::format("<g transform=\"translate({} {})\">{}</g>\n", kMargin, y, part.content);
}

Part Head(const KernelJudgement& judgement, const learn::Evaluation& figures) {
  constexpr double kHeight = 92;
  draw::SvgWriter svg(kWidth, kHeight, "");
  svg.Text({0, 18}, "Predicted against measured times of operators", {.style = "heading"});
  svg.Text({0, 40},
           fmt::format("Judged: {}. {} rows: MAPE {:.2f} %, GMAE {:.2f} %, median {:.1f} %",
                       judgement.split, figures.rows, figures.mape, figures.gmae, figures.median));
  double x = 7;
  for (std::size_t i = 0; i < kLooks.size(); ++i) {
    svg.Path(draw::MarkerPath(i, {.x = x, .y = 68}, 6), {.style = kLooks[i].style});
    svg.Text({x + 13, 72}, kLooks[i].name, {.style = "label"});
    x += 150;
  }
  return {PartOf(svg.Finish()).content, kHeight};
}

Part Caption(std::string_view text) {
  draw::SvgWriter svg(kWidth, kGap, "");
  svg.Text({0, 18}, text, {.style = "label"});
  return {PartOf(svg.Finish()).content, kGap};
}

std::string Document(const std::vector<Part>& parts) {
  std::string body;
  double y = kMargin;
  for (const Part& part : parts) {
    body += Placed(part, y);
    y += part.height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"Predicted against measured times of operators\">\n"
      "<style>{2}\n.ground{{fill:var(--surface)}}\n"
      ".figure text.heading{{font-size:18px;font-weight:650;fill:var(--ink)}}</style>\n"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n<g class=\"figure\">\n{3}</g>\n"
      "</svg>\n",
      kWidth, y + kMargin, report::PageStyle(), body);
}

}  // namespace

std::string JudgementPlot(const KernelJudgement& judgement) {
  const learn::Evaluation overall = kernel::Summarize(judgement.rows).overall;
  return Document({Head(judgement, overall),
                   PartOf(draw::RenderScatter(RatioChart(judgement.rows))),
                   Caption("|error| by operator: the bar ends at the median, the thick line holds "
                           "half of the rows, the thin one nine of ten"),
                   PartOf(draw::RenderSpreadChart(ErrorChart(judgement.rows)))});
}

Status WriteJudgementPlot(const KernelJudgement& judgement, const std::string& path) {
  ORRERY_TRY(const auto sink, CreateFile(path));
  ORRERY_TRY_STATUS(sink->Write(JudgementPlot(judgement)));
  return sink->Close();
}

}  // namespace orrery::cli
