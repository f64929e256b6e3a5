#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/view/places.h"
#include "orrery/api/view/results.h"
#include "orrery/api/view/tabs.h"
#include "orrery/api/view/tiles/slice_tracks.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"
#include "orrery/draw/format.h"
#include "orrery/report/kernel_name.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/operator_prices.h"

namespace orrery::api::view {
namespace {

constexpr std::size_t kMostRows = 200;

/// All launches of a kernel.
struct KernelSum {
  trace::KernelClass kernel_class = trace::KernelClass::kOther;
  std::int64_t launches = 0;
  std::int64_t time_ns = 0;
  // Of launches whose call has an estimate, which its kernels share by their recorded times.
  std::int64_t priced_ns = 0;
  double predicted_s = 0;
  double roofline_s = 0;
  std::int64_t extrapolated_ns = 0;
  // The longest launch, to look at.
  std::uint32_t rank_row = 0;
  RowId longest = kNoRow;
  std::int64_t longest_ns = -1;

  void AddPrice(const workload::OperatorPrice& price, std::int64_t duration_ns) {
    const double share = static_cast<double>(duration_ns) /
                         static_cast<double>(std::max<std::int64_t>(price.recorded_ns, 1));
    priced_ns += duration_ns;
    predicted_s += price.model->seconds * share;
    roofline_s += price.model->roofline_seconds * share;
    extrapolated_ns += price.model->is_extrapolated ? duration_ns : 0;
  }
};

using KernelSums = std::map<std::string_view, KernelSum>;

void AddTrace(const ViewedRun& run, std::uint32_t place, const workload::OperatorPrices& prices,
              KernelSums& sums) {
  const trace::Trace& trace = run.set().ranks[place];
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const trace::KernelClass kernel_class = run.view().classes[place][row];
    if (!trace::IsCompute(kernel_class)) {
      continue;
    }
    const std::int64_t duration_ns = trace.activities.duration_ns[row];
    KernelSum& sum = sums[trace.Text(trace.activities.name[row])];
    sum.kernel_class = kernel_class;
    ++sum.launches;
    sum.time_ns += duration_ns;
    if (duration_ns > sum.longest_ns) {
      sum.rank_row = run.FirstRowOf(place);
      sum.longest = row;
      sum.longest_ns = duration_ns;
    }
    if (const workload::OperatorPrice* const price = prices.OfActivity(trace, row)) {
      sum.AddPrice(*price, duration_ns);
    }
  }
}

std::string SecondsText(double seconds) {
  return draw::FormatDuration({std::llround(seconds * 1e9)});
}

std::string ShareText(std::int64_t part, std::int64_t whole) {
  return whole <= 0 ? ""
                    : fmt::format("{:.0f} %",
                                  100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

// Texts, numbers to sort by, and the slice that the row leads to.
void AddRow(const ViewedRun& run, std::string_view name, const KernelSum& sum, TableData& table) {
  const double priced_s = static_cast<double>(sum.priced_ns) * 1e-9;
  const bool has_price = sum.priced_ns > 0 && sum.predicted_s > 0;
  table.rows.push_back({report::ShortKernelName(name),
                        std::string(trace::KernelClassName(sum.kernel_class)),
                        draw::FormatCount(sum.launches), draw::FormatDuration({sum.time_ns}),
                        has_price ? ShareText(sum.priced_ns, sum.time_ns) : "",
                        has_price ? draw::FormatDuration({sum.priced_ns}) : "",
                        has_price ? SecondsText(sum.predicted_s) : "",
                        has_price ? fmt::format("{:.2f}", priced_s / sum.predicted_s) : "",
                        has_price ? SecondsText(sum.roofline_s) : ""});
  const auto priced_ns = static_cast<double>(sum.priced_ns);
  table.keys.push_back({std::nullopt, std::nullopt, static_cast<double>(sum.launches),
                        static_cast<double>(sum.time_ns), priced_ns, priced_ns, sum.predicted_s,
                        has_price ? priced_s / sum.predicted_s : 0.0, sum.roofline_s});
  table.links.push_back(PlaceOf(run, sum.rank_row, SliceTable::kActivities, sum.longest));
}

TableData EmptyTable() {
  TableData table{
      .caption =
          "Whole recording, all ranks. A model estimates an operator; its kernels share the time "
          "by their recorded times. The ratio is measured over predicted, of launches that have "
          "an estimate."};
  for (const char* const name : {"kernel", "class"}) {
    table.columns.push_back({.name = name, .align = "left"});
  }
  for (const char* const name :
       {"launches", "time", "estimated", "measured", "predicted", "ratio", "roofline"}) {
    table.columns.push_back({.name = name, .align = "right"});
  }
  return table;
}

std::string Sentence(const KernelSum& all) {
  if (all.priced_ns <= 0 || all.predicted_s <= 0) {
    return "The models know none of the operators that launched these kernels.";
  }
  std::string text = fmt::format(
      "The models estimate {} of the time of kernels: {} predicted where {} were measured (ratio "
      "{:.2f}), {} at the roofline.",
      ShareText(all.priced_ns, all.time_ns), SecondsText(all.predicted_s),
      draw::FormatDuration({all.priced_ns}),
      static_cast<double>(all.priced_ns) * 1e-9 / all.predicted_s, SecondsText(all.roofline_s));
  if (all.extrapolated_ns > 0) {
    text +=
        fmt::format(" {} of that is extrapolated.", ShareText(all.extrapolated_ns, all.priced_ns));
  }
  return text;
}

}  // namespace

void AddPredictedKernels(const ViewedRun& run, std::vector<Section>& sections) {
  if (run.simulated() != nullptr) {
    return;
  }
  KernelSums sums;
  ParallelFor(run.set().ranks.size(), run.view().options.threads, [&](std::size_t place) {
    static_cast<void>(run.PricesOf(static_cast<std::uint32_t>(place)));
  });
  for (std::uint32_t place = 0; place < run.set().ranks.size(); ++place) {
    const Result<workload::OperatorPrices>& prices = run.PricesOf(place);
    if (!prices) {
      // The same for all ranks of a run.
      sections.push_back(
          {.heading = "Measured beside predicted", .sentences = {prices.error().message()}});
      return;
    }
    AddTrace(run, place, *prices, sums);
  }
  std::vector<std::pair<std::string_view, KernelSum>> sorted(sums.begin(), sums.end());
  std::ranges::stable_sort(sorted, std::greater{},
                           [](const auto& item) { return item.second.time_ns; });
  KernelSum all;
  TableData table = EmptyTable();
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    const auto& [name, sum] = sorted[i];
    all.time_ns += sum.time_ns;
    all.priced_ns += sum.priced_ns;
    all.predicted_s += sum.predicted_s;
    all.roofline_s += sum.roofline_s;
    all.extrapolated_ns += sum.extrapolated_ns;
    if (i < kMostRows) {
      AddRow(run, name, sum, table);
    }
  }
  sections.push_back({.heading = "Measured beside predicted",
                      .sentences = {Sentence(all)},
                      .tables = {std::move(table)}});
}

}  // namespace orrery::api::view
