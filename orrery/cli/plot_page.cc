#include "orrery/cli/plot_page.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/format.h>

#include "orrery/base/byte_sink.h"
#include "orrery/draw/chart/marker.h"
#include "orrery/draw/chart/svg_writer.h"
#include "orrery/report/page.h"

namespace orrery::cli {
namespace {

constexpr double kMargin = 24;
constexpr double kWidth = 1080 + 2 * kMargin;
constexpr double kCaptionHeight = 30;

double NumberAt(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string Placed(const PlotPart& part, double y) {
  return fmt::format("<g transform=\"translate({} {})\">{}</g>\n", kMargin, y, part.content);
}

}  // namespace

PlotPart PlotPartOf(std::string_view svg) {
  constexpr std::string_view kViewBox = "viewBox=\"0 0 ";
  constexpr std::string_view kEnd = "</svg>";
  const std::string_view size = svg.substr(svg.find(kViewBox) + kViewBox.size());
  const std::size_t begin = svg.find('>') + 1;
  return {std::string(svg.substr(begin, svg.rfind(kEnd) - begin)),
          NumberAt(size.substr(size.find(' ') + 1))};
}

PlotPart PlotHead(std::string_view title, std::string_view sentence,
                  std::span<const PlotLook> looks) {
  constexpr double kLeast = 150;
  constexpr double kLetter = 7;
  constexpr double kLine = 24;
  draw::SvgWriter svg(kWidth, kWidth, "");
  svg.Text({0, 18}, title, {.style = "heading"});
  svg.Text({0, 40}, sentence);
  double x = 7;
  double y = 68;
  for (std::size_t i = 0; i < looks.size(); ++i) {
    const double width = std::max(kLeast, 30 + kLetter * static_cast<double>(looks[i].name.size()));
    if (x + width > kWidth - 2 * kMargin) {
      x = 7;
      y += kLine;
    }
    svg.Path(draw::MarkerPath(i, {.x = x, .y = y}, 6), {.style = looks[i].style});
    svg.Text({x + 13, y + 4}, looks[i].name, {.style = "label"});
    x += width;
  }
  return {PlotPartOf(svg.Finish()).content, y + kLine};
}

PlotPart PlotCaption(std::string_view text) {
  draw::SvgWriter svg(kWidth, kCaptionHeight, "");
  svg.Text({0, 18}, text, {.style = "label"});
  return {PlotPartOf(svg.Finish()).content, kCaptionHeight};
}

std::string PlotDocument(std::string_view title, const std::vector<PlotPart>& parts) {
  std::string body;
  double y = kMargin;
  for (const PlotPart& part : parts) {
    body += Placed(part, y);
    y += part.height;
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{4}\">\n"
      "<style>{2}\n.ground{{fill:var(--surface)}}\n"
      ".figure text.heading{{font-size:18px;font-weight:650;fill:var(--ink)}}</style>\n"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n<g class=\"figure\">\n{3}</g>\n"
      "</svg>\n",
      kWidth, y + kMargin, report::PageStyle(), body, title);
}

Status WritePlot(const std::string& svg, const std::string& path) {
  ORRERY_TRY(const auto sink, CreateFile(path));
  ORRERY_TRY_STATUS(sink->Write(svg));
  return sink->Close();
}

}  // namespace orrery::cli
