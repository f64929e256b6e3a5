#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/heat_map.h"
#include "orrery/draw/number_format.h"
#include "orrery/report/page.h"
#include "orrery/report/sections.h"

namespace orrery::report {
namespace {

constexpr std::size_t kNumLevels = 8;
constexpr std::size_t kWorstRanks = 10;
constexpr double kLeastRange = 1e6;  // ns: below, colours would show the noise of the clocks
constexpr draw::Quantity kTime = draw::Quantity::kNanoseconds;

draw::HeatMap MapOf(const Arrivals& arrivals) {
  draw::HeatMap map{.row_labels = arrivals.ranks,
                    .column_labels = arrivals.collectives,
                    .values = {},
                    .levels = {},
                    .quantity = kTime,
                    .column_title = "collective, in order of time",
                    .description = "How late each rank arrived at each collective"};
  double latest = 0;
  for (const std::int64_t late_ns : arrivals.late_ns) {
    map.values.push_back(late_ns < 0 ? std::numeric_limits<double>::quiet_NaN()
                                     : static_cast<double>(late_ns));
    latest = std::max(latest, static_cast<double>(late_ns));
  }
  map.levels = draw::LogLevels(std::max(latest, kLeastRange), kNumLevels, "heat-", kTime);
  return map;
}

std::string Ramp(const draw::HeatMap& map) {
  std::vector<draw::Series> series;
  for (const draw::HeatLevel& level : map.levels) {
    series.push_back(level.series);
  }
  return "<div class=\"ramp\">" + draw::RenderLegend(series) + "</div>\n";
}

std::string SavedText(const std::optional<std::int64_t>& saved_ns) {
  return saved_ns ? draw::FormatDuration({*saved_ns}) : "–";
}

std::string StragglerTable(const std::vector<Straggler>& stragglers) {
  HtmlTable table{.columns = {{"rank"},
                              {"times last", true},
                              {"others waited for it", true},
                              {"replay without its lateness saves", true},
                              {"with those above", true},
                              {"waited itself", true},
                              {"largest cause"}},
                  .rows = {},
                  .style = "causes"};
  const std::size_t shown = std::min(stragglers.size(), kWorstRanks);
  for (std::size_t i = 0; i < shown; ++i) {
    const Straggler& rank = stragglers[i];
    table.rows.push_back({rank.rank, draw::FormatCount(rank.times_last),
                          draw::FormatDuration({rank.blame_ns}), SavedText(rank.saved_alone_ns),
                          SavedText(rank.saved_together_ns),
                          draw::FormatDuration({rank.waiting_ns}), rank.cause});
  }
  if (std::ranges::all_of(stragglers, &std::string::empty, &Straggler::cause)) {
    table.columns.pop_back();
  }
  return RenderTable(table);
}

}  // namespace

std::string ArrivalsSection(const RunReport& report) {
  constexpr std::string_view kHeading = "Who arrives late";
  if (!report.arrivals || report.arrivals->late_ns.empty()) {
    return Section("arrivals", kHeading,
                   Caption("No collective was matched over several ranks without doubt."));
  }
  const draw::HeatMap map = MapOf(*report.arrivals);
  std::string body = Caption(
      "Rows are ranks, columns are collectives; the darker (on a dark page: the brighter), "
      "the later the rank began against the first one. A row that stands out is a rank that "
      "others wait for; a column that stands out is a moment. Where there is more than fits, "
      "the latest is shown.");
  body += Ramp(map) + Framed(draw::RenderHeatMap(map));
  if (!report.stragglers.empty()) {
    body += "<h3>Ranks that others wait for</h3>\n" + StragglerTable(report.stragglers);
  }
  return Section("arrivals", kHeading, body);
}

}  // namespace orrery::report
