#include "orrery/report/page.h"

#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/report/embedded_page.h"

namespace orrery::report {
namespace {

// Before the first paint, so that "#dark" does not flash.
constexpr std::string_view kThemeFromAddress =
    "<script>if(/^#(dark|light)$/.test(location.hash))"
    "document.documentElement.dataset.theme=location.hash.slice(1)</script>";

// Styles that only fill, named as their colours.
constexpr std::string_view kFills[] = {
    "compute", "transfer",        "memory",      "idle",     "empty",  "host",   "host-gap",
    "launch",  "launch-overhead", "device-wait", "sync",     "other",  "sky",    "heat-0",
    "heat-1",  "heat-2",          "heat-3",      "heat-4",   "heat-5", "heat-6", "heat-7",
    "forward", "backward",        "weights",     "optimizer"};

std::string Fills() {
  std::string out;
  for (const std::string_view name : kFills) {
    out += fmt::format(".{0}{{--colour:var(--{0});fill:var(--colour)}}\n", name);
  }
  return out;
}

}  // namespace

std::string PageStyle() {
  return fmt::format(
      ":root{{{0}}}\n@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{1}}}}}\n"
      ":root[data-theme=dark]{{{1}}}\n{2}{3}{4}",
      kLight, kDark, kLayout, kCharts, Fills());
}

std::string_view HatchPattern() {
  return R"svg(<defs><pattern id="hatch" class="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6"/><path d="M3 0V6"/></pattern></defs>)svg";
}

std::string Page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n{}\n<style>{}</style>\n</head>\n<body>\n"
      "<svg width=\"0\" height=\"0\" style=\"position:absolute\" aria-hidden=\"true\">\n{}</svg>\n"
      "<main>\n{}</main>\n"
      "<div id=\"tip\"></div>\n<script>{}</script>\n</body>\n</html>\n",
      draw::EscapeMarkup(title), kThemeFromAddress, PageStyle(), HatchPattern(), body, kScript);
}

}  // namespace orrery::report
