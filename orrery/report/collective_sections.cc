#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <ranges>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/value.h"
#include "orrery/base/math/statistics.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"

namespace orrery::report {
namespace {

// In the order of the kinds' share of time; kinds beyond the list share the last.
constexpr std::array<std::string_view, 6> kKindStyles{"compute",     "transfer", "memory",
                                                      "device-wait", "launch",   "sky"};

struct KindSummary {
  std::string kind;
  std::size_t count = 0;
  std::size_t num_matched = 0;
  std::int64_t bytes = 0;
  std::int64_t transfer_ns = 0;
  std::int64_t waiting_ns = 0;
  std::int64_t duration_ns = 0;
  std::vector<double> sizes;
  std::vector<double> rates;
};

void Add(const CollectivePoint& point, KindSummary& kind) {
  ++kind.count;
  kind.num_matched += point.is_matched ? 1 : 0;
  kind.transfer_ns += point.transfer_ns;
  kind.waiting_ns += point.waiting_ns;
  kind.duration_ns += point.duration_ns;
  if (point.bytes >= 0) {
    kind.bytes += point.bytes;
    kind.sizes.push_back(static_cast<double>(point.bytes));
  }
  if (point.bus_bytes_per_second > 0) {
    kind.rates.push_back(point.bus_bytes_per_second);
  }
}

// Kinds, the one with most transfer time first.
std::vector<KindSummary> Summarize(const std::vector<CollectivePoint>& points) {
  std::map<std::string_view, KindSummary> by_kind;
  for (const CollectivePoint& point : points) {
    Add(point, by_kind[point.kind]);
  }
  std::vector<KindSummary> kinds;
  for (auto& [name, kind] : by_kind) {
    kind.kind = name;
    kinds.push_back(std::move(kind));
  }
  std::ranges::stable_sort(kinds, std::greater{}, &KindSummary::transfer_ns);
  return kinds;
}

Value RateAt(const std::vector<double>& rates, double quantile) {
  return rates.empty() ? Value() : Value(draw::FormatBandwidth({Quantile(rates, quantile)}));
}

std::vector<Value> CellsOf(const KindSummary& kind) {
  const bool has_sizes = !kind.sizes.empty();
  const double waiting = kind.duration_ns == 0 ? 0.0
                                               : static_cast<double>(kind.waiting_ns) /
                                                     static_cast<double>(kind.duration_ns);
  return {kind.kind,
          kind.count,
          has_sizes ? Value(kind.bytes) : Value(),
          has_sizes ? Value(static_cast<std::int64_t>(Median(kind.sizes))) : Value(),
          RateAt(kind.rates, 0.5),
          RateAt(kind.rates, 1),
          kind.transfer_ns,
          kind.num_matched > 0 ? Value(waiting) : Value("not known")};
}

Document::Table KindTable(const std::vector<KindSummary>& kinds) {
  Document::Table table{
      .heading = "By kind",
      .columns = {AsText("kind"), AsCount("collectives"), AsDecimalBytes("volume"),
                  AsDecimalBytes("median size"), AsNumber("median bus bandwidth"), AsNumber("best"),
                  AsTime("transfer time"), AsShare("waiting, of members' time")},
      .max_shown = SIZE_MAX};
  for (const KindSummary& kind : kinds) {
    table.rows.push_back(CellsOf(kind));
  }
  return table;
}

draw::ScatterChart ChartOf(const RunReport& report, const std::vector<KindSummary>& kinds) {
  draw::ScatterChart chart{.x_quantity = draw::Quantity::kBytes,
                           .y_quantity = draw::Quantity::kBytesPerSecond,
                           .x_title = "message size",
                           .y_title = "bus bandwidth",
                           .description = "Bus bandwidth of collectives against message size"};
  std::map<std::string_view, std::size_t> series_of_kind;
  for (const KindSummary& kind : kinds) {
    if (!kind.rates.empty()) {
      const std::size_t style = std::min(chart.series.size(), kKindStyles.size() - 1);
      series_of_kind[kind.kind] = chart.series.size();
      chart.series.push_back({.name = kind.kind, .style = std::string(kKindStyles[style])});
    }
  }
  for (const CollectivePoint& point : report.collectives) {
    if (point.bytes > 0 && point.bus_bytes_per_second > 0) {
      chart.points.push_back({.x = static_cast<double>(point.bytes),
                              .y = point.bus_bytes_per_second,
                              .series = series_of_kind[point.kind]});
    }
  }
  for (const Roof& roof : report.roofs) {
    chart.lines.push_back({.label = roof.label, .y = roof.bytes_per_second});
  }
  return chart;
}

std::string HowToRead(const RunReport& report) {
  const bool is_matched = std::ranges::any_of(report.collectives, &CollectivePoint::is_matched);
  return fmt::format(
      "Each mark is a collective; a larger mark stands for several. The bus bandwidth compares "
      "with "
      "the link's whatever the number of ranks. {}",
      is_matched ? "Its time is that of the fastest member, so that waiting does not count."
                 : "None was matched over ranks without doubt, so the times may hold waiting and "
                   "the bandwidths are lower bounds.");
}

constexpr std::size_t kNumLevels = 8;
constexpr std::size_t kWorstRanks = 10;
constexpr double kLeastRange = 1e6;  // ns: below, colours would show the noise of the clocks
constexpr draw::Quantity kTime = draw::Quantity::kNanoseconds;

draw::HeatMap MapOf(const Arrivals& arrivals) {
  draw::HeatMap map{.row_labels = arrivals.ranks,
                    .column_labels = arrivals.collectives,
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

Document::Table StragglerTable(const std::vector<Straggler>& stragglers) {
  Document::Table table{.heading =
                            "ranks that others wait for, and what a replay of the step "
                            "saves when they are not late",
                        .columns = {AsText("rank"),
                                    AsCount("times last"),
                                    AsTime("others waited"),
                                    AsTime("saved alone"),
                                    AsTime("with those above"),
                                    {"", "waited itself", Unit::kNanoseconds, 0, Shown::kInHtml},
                                    AsText("", "largest cause", 90)}};
  for (const Straggler& rank : stragglers | std::views::take(kWorstRanks)) {
    table.rows.push_back({rank.rank, rank.times_last, rank.blame_ns, rank.saved_alone_ns,
                          rank.saved_together_ns, rank.waiting_ns, rank.cause});
  }
  return table;
}

}  // namespace

void AddCollectives(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Collectives");
  section.tab = "collectives";
  section.shown = Shown::kInHtml;
  if (report.collectives.empty()) {
    section.Say("The run has no collectives.");
    return;
  }
  const std::vector<KindSummary> kinds = Summarize(report.collectives);
  const draw::ScatterChart chart = ChartOf(report, kinds);
  if (chart.points.empty()) {
    section.Say("The recording does not say how large the messages are, so there is no bandwidth.");
  } else {
    section.Add(Document::Picture{.svg = draw::RenderScatter(chart),
                                  .caption = HowToRead(report),
                                  .legend = draw::ScatterLegend(chart)});
  }
  section.Add(KindTable(kinds));
}

void AddArrivals(const RunReport& report, Document& document) {
  Document::Section& section = document.AddSection("Who arrives late");
  section.tab = "collectives";
  if (!report.arrivals || report.arrivals->late_ns.empty()) {
    section.Say("No collective was matched over several ranks without doubt.");
  } else {
    const draw::HeatMap map = MapOf(*report.arrivals);
    section.Add(Document::Picture{
        .svg = draw::RenderHeatMap(map),
        .caption =
            "Rows are ranks, columns are collectives; the darker (on a dark page: the brighter), "
            "the later the rank began against the first one. A row that stands out is a rank that "
            "others wait for; a column that stands out is a moment. Where there is more than fits, "
            "the latest is shown.",
        .legend = draw::HeatLegend(map)});
  }
  if (!report.stragglers.empty()) {
    section.Add(StragglerTable(report.stragglers));
  }
}

}  // namespace orrery::report
