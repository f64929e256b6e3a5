#include "orrery/draw/chart/series.h"

#include <iterator>
#include <string_view>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/draw/chart/markup.h"

namespace orrery::draw {
namespace {

constexpr std::string_view kSquare = "M2 0h10q2 0 2 2v10q0 2-2 2H2q-2 0-2-2V2q0-2 2-2z";

}  // namespace

std::string RenderLegend(const std::vector<Series>& series) {
  std::string out = "<ul class=\"legend\">";
  for (const Series& one : series) {
    fmt::format_to(std::back_inserter(out),
                   "<li><svg viewBox=\"0 0 14 14\" aria-hidden=\"true\">"
                   "<path class=\"{}\" d=\"{}\"/></svg>{}</li>",
                   one.style, one.swatch.empty() ? kSquare : std::string_view(one.swatch),
                   EscapeMarkup(one.name));
  }
  return out + "</ul>\n";
}

}  // namespace orrery::draw
