#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/draw/chart/markup.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/page.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

using draw::EscapeMarkup;

std::string ValueText(double value) {
  const double size = std::abs(value);
  if (value == std::floor(value) && size < 1e15) {
    return draw::FormatCount(std::llround(value));
  }
  return size >= 1e-3 && size < 1e6 ? fmt::format("{:.6g}", value) : fmt::format("{:.4e}", value);
}

std::string Row(const MetricRow& metric) {
  const std::string value =
      metric.value ? fmt::format("<td class=\"number\">{}</td><td>{}</td>",
                                 EscapeMarkup(ValueText(*metric.value)), EscapeMarkup(metric.unit))
                   : fmt::format("<td class=\"missing\" colspan=\"2\">n/a: {}</td>",
                                 EscapeMarkup(metric.reason));
  return fmt::format("<tr><td><code>{}</code><small>{}</small></td>{}</tr>\n",
                     EscapeMarkup(metric.name), EscapeMarkup(metric.meaning), value);
}

}  // namespace

std::string MetricsSection(const RunReport& report) {
  if (report.metrics.empty()) {
    return Section("metrics", "Metrics", Caption("No metrics were asked for."));
  }
  const auto computed = std::ranges::count_if(
      report.metrics, [](const MetricRow& metric) { return metric.value.has_value(); });
  const bool all_apply = static_cast<std::size_t>(computed) == report.metrics.size();
  std::string body =
      Caption(all_apply ? "All apply to this run."
                        : fmt::format("{} of {} apply to this run; the others say why not.",
                                      computed, report.metrics.size()));
  body +=
      "<input id=\"filter\" type=\"search\" placeholder=\"filter\" aria-label=\"filter\">\n"
      "<div class=\"scroll\"><table class=\"metrics\"><thead><tr><th>metric</th>"
      "<th class=\"number\">value</th><th>unit</th></tr></thead><tbody>\n";
  for (const bool has_value : {true, false}) {
    for (const MetricRow& metric : report.metrics) {
      body += metric.value.has_value() == has_value ? Row(metric) : "";
    }
  }
  return Section("metrics", "Metrics", body + "</tbody></table></div>\n");
}

}  // namespace orrery::report
