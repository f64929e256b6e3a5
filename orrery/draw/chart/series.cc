#include "orrery/draw/chart/series.h"

#include <string_view>

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"

namespace orrery::draw {
namespace {

constexpr std::string_view kSquare = "M2 0h10q2 0 2 2v10q0 2-2 2H2q-2 0-2-2V2q0-2 2-2z";

}  // namespace

std::string RenderSwatch(const Series& series) {
  return fmt::format(
      "<svg viewBox=\"0 0 14 14\" aria-hidden=\"true\"><path class=\"{}\" d=\"{}\"/></svg>",
      series.style, series.swatch.empty() ? kSquare : std::string_view(series.swatch));
}

std::string RenderLegend(const std::vector<Series>& series) {
  std::string out = "<ul class=\"legend\">";
  for (const Series& one : series) {
    out += fmt::format("<li>{}{}</li>", RenderSwatch(one), EscapeMarkup(one.name));
  }
  return out + "</ul>\n";
}

}  // namespace orrery::draw
