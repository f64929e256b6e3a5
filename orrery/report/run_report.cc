#include "orrery/report/run_report.h"

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/report/page.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

// Before the first paint, so that "#dark" does not flash.
constexpr std::string_view kThemeFromAddress =
    "<script>if(/^#(dark|light)$/.test(location.hash))"
    "document.documentElement.dataset.theme=location.hash.slice(1)</script>";

// The hatching that all pictures share.
constexpr std::string_view kPatterns =
    R"html(<svg width="0" height="0" style="position:absolute" aria-hidden="true">
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
<rect width="6" height="6"/><path d="M3 0V6"/></pattern></defs></svg>
)html";

}  // namespace

std::string RenderHtml(const RunReport& report) {
  std::string body = HeaderSection(report);
  body += FindingsSection(report);
  body += BreakdownSection(report);
  body += TimelineSection(report);
  body += CollectivesSection(report);
  body += CriticalPathSection(report);
  body += ArrivalsSection(report);
  body += MetricsSection(report);
  body += NotesSection(report);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
      "<title>{}</title>\n{}\n<style>{}</style>\n</head>\n<body>\n{}<main>\n{}</main>\n"
      "<div id=\"tip\"></div>\n<script>{}</script>\n</body>\n</html>\n",
      draw::EscapeMarkup(report.title), kThemeFromAddress, PageStyle(), kPatterns, body,
      PageScript());
}

}  // namespace orrery::report
