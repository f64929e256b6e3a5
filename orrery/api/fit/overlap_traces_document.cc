#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/fit_overlap.h"

namespace orrery::api {
namespace {

constexpr std::size_t kNamedKernels = 20;

std::string ClockText(const FitOverlapClock& clock) {
  return fmt::format(
      "rank {}: kernels {} to {}: together / alone {:.3f} without overlap ({} kernels){}",
      clock.rank, clock.first, clock.last, clock.ratio, clock.kernels,
      clock.left_out ? ", the clocks differ: left out" : "");
}

void AddClocks(const FitOverlapFromTracesResult& result, Document::Section& section) {
  auto clock = result.clock_segments.begin();
  for (const FitOverlapRank& rank : result.ranks) {
    if (rank.clock_segments == 0) {
      section.Say(
          fmt::format("rank {}: too few kernels without overlap to compare the clocks", rank.rank));
    }
    for (std::int64_t i = 0; i < rank.clock_segments; ++i) {
      section.Say(ClockText(*clock++));
    }
  }
}

Document::Table KernelTable(const FitOverlapFromTracesResult& result) {
  const NumberFormat microseconds("{:.1f}");
  const NumberFormat ratio("{:.3f}");
  Document::Table table{
      .columns = {AsText("", "kernel", 50), AsNumber("pairs"), Formatted("alone us", microseconds),
                  Formatted("together us", microseconds), Formatted("together / alone", ratio),
                  Formatted("s* in the median", ratio)},
      .max_shown = kNamedKernels};
  for (const FitOverlapKernel& kernel : result.kernels) {
    table.rows.push_back({kernel.kernel, kernel.pairs, kernel.alone_us, kernel.together_us,
                          kernel.together_us / kernel.alone_us, kernel.slowdown});
  }
  return table;
}

}  // namespace

Document MakeDocument(const FitOverlapFromTracesResult& result) {
  Document document{.title = fmt::format("{} kernels in both runs, {} only alone, {} only together",
                                         result.matched, result.only_alone, result.only_together),
                    .kind = "Orrery overlap"};
  std::string kept = fmt::format("{} pairs with overlap kept", result.kept);
  for (const auto& [reason, count] : result.rejected) {
    kept += fmt::format(", {}: {}", reason, count);
  }
  document.AddSection()
      .Say(std::move(kept))
      .Say(fmt::format("all kernels: {:.3f} ms alone, {:.3f} ms together ({:+.2f} %)",
                       result.alone_ns / 1e6, result.together_ns / 1e6,
                       100 * (result.together_ns / result.alone_ns - 1)));
  AddClocks(result, document.AddSection());
  if (!result.kernels.empty()) {
    document.AddSection().Add(KernelTable(result));
  }
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
