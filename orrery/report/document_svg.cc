#include <algorithm>
#include <charconv>

#include <fmt/core.h>

#include "orrery/draw/chart/marker.h"
#include "orrery/draw/chart/markup.h"
#include "orrery/draw/chart/svg_writer.h"
#include "orrery/report/document.h"
#include "orrery/report/page.h"

namespace orrery::report {
namespace {

constexpr double kMargin = 24;
constexpr double kWidth = 1080 + 2 * kMargin;

/// A picture inside of another: its content without its own frame, and its height.
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

// Heading, caption and legend.
Part HeadOf(const Document::Picture& picture) {
  constexpr double kLeast = 150;
  constexpr double kLetter = 7;
  constexpr double kLine = 24;
  draw::SvgWriter svg(kWidth, kWidth, "");
  svg.Text({0, 18}, picture.heading, {.style = "heading"});
  svg.Text({0, 40}, picture.caption);
  double x = 7;
  double y = picture.legend.empty() ? 44 : 68;
  for (std::size_t i = 0; i < picture.legend.size(); ++i) {
    const draw::Series& series = picture.legend[i];
    const double width = std::max(kLeast, 30 + kLetter * static_cast<double>(series.name.size()));
    if (x + width > kWidth - 2 * kMargin) {
      x = 7;
      y += kLine;
    }
    svg.Path(draw::MarkerPath(i, {.x = x, .y = y}, 6), {.style = series.style});
    svg.Text({x + 13, y + 4}, series.name, {.style = "label"});
    x += width;
  }
  return {PartOf(svg.Finish()).content, y + kLine};
}

}  // namespace

Result<std::string> RenderSvg(const Document& document) {
  std::string body;
  double y = kMargin;
  const auto add = [&](const Part& part) {
    body += fmt::format("<g transform=\"translate({} {})\">{}</g>\n", kMargin, y, part.content);
    y += part.height;
  };
  for (const Document::Section& section : document.sections) {
    for (const Document::Block& block : section.blocks) {
      const auto* const picture = std::get_if<Document::Picture>(&block);
      if (picture != nullptr) {
        add(HeadOf(*picture));
        if (!picture->svg.empty()) {
          add(PartOf(picture->svg));
        }
      }
    }
  }
  if (body.empty()) {
    return Fail(Error::Kind::kUnsupported, "--svg: there is nothing to draw");
  }
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" role=\"img\" aria-label=\"{4}\">\n"
      "<style>{2}\n.ground{{fill:var(--surface)}}\n"
      ".figure text.heading{{font-size:18px;font-weight:650;fill:var(--ink)}}</style>\n"
      "<rect class=\"ground\" width=\"{0}\" height=\"{1}\"/>\n<g class=\"figure\">\n{3}</g>\n"
      "</svg>\n",
      kWidth, y + kMargin, PageStyle(), body, draw::EscapeMarkup(document.title));
}

}  // namespace orrery::report
