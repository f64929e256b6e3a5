#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/draw/chart/heat_map.h"
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

std::vector<draw::Series> LegendOf(const draw::HeatMap& map) {
  std::vector<draw::Series> series;
  for (const draw::HeatLevel& level : map.levels) {
    series.push_back(level.series);
  }
  return series;
}

Value OrNull(const std::optional<std::int64_t>& number) {
  return number ? Value(*number) : Value();
}

Document::Table StragglerTable(const std::vector<Straggler>& stragglers) {
  Document::Table table{.key = "",
                        .heading =
                            "ranks that others wait for, and what a replay of the step "
                            "saves when they are not late",
                        .columns = {{"", "rank"},
                                    {"", "times last", Unit::kCount},
                                    {"", "others waited", Unit::kNanoseconds},
                                    {"", "saved alone", Unit::kNanoseconds},
                                    {"", "with those above", Unit::kNanoseconds},
                                    {"", "waited itself", Unit::kNanoseconds, 0, Shown::kInHtml},
                                    {"", "largest cause", Unit::kText, 90}}};
  for (const Straggler& rank : stragglers | std::views::take(kWorstRanks)) {
    table.rows.push_back({rank.rank, rank.times_last, rank.blame_ns, OrNull(rank.saved_alone_ns),
                          OrNull(rank.saved_together_ns), rank.waiting_ns, rank.cause});
  }
  return table;
}

}  // namespace

void AddArrivals(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Who arrives late");
  if (!report.arrivals || report.arrivals->late_ns.empty()) {
    section.Say("No collective was matched over several ranks without doubt.");
  } else {
    const draw::HeatMap map = MapOf(*report.arrivals);
    section.Add(Document::Picture{
        .heading = "",
        .svg = draw::RenderHeatMap(map),
        .caption =
            "Rows are ranks, columns are collectives; the darker (on a dark page: the brighter), "
            "the later the rank began against the first one. A row that stands out is a rank that "
            "others wait for; a column that stands out is a moment. Where there is more than fits, "
            "the latest is shown.",
        .legend = LegendOf(map)});
  }
  if (!report.stragglers.empty()) {
    section.Add(StragglerTable(report.stragglers));
  }
}

}  // namespace orrery::report
