#include "orrery/cli/memory/uvm_page.h"

#include <algorithm>
#include <cstdint>

#include <fmt/core.h>

#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/number_format.h"

namespace orrery::cli {
namespace {

using memory::uvm::Comparison;
using memory::uvm::Outcome;
using memory::uvm::Parameters;
using report::Document;

std::vector<draw::Series> TimeSeries() {
  return {{.name = "kernels", .style = "compute"},
          {.name = "waiting for pages", .style = "waiting"}};
}

// As Figures 11 and 12 of the PASTA paper: the time of each policy relative to no prefetch.
void AddBars(const UvmCase& one, bool has_title, draw::StackedBars& chart) {
  const Comparison& comparison = one.comparison;
  const bool is_best_ahead = comparison.Best().policy.lookahead != 0;
  for (const Outcome& outcome : comparison.outcomes) {
    if (&outcome == &comparison.Best() && !is_best_ahead) {
      continue;  // tensor level once more
    }
    const double time = RelativeTime(comparison, outcome.total_ns);
    const double kernels = RelativeTime(comparison, outcome.kernel_ns);
    const bool is_first = &outcome == &comparison.outcomes.front();
    chart.bars.push_back(
        {.label = has_title && is_first ? one.run->title : PolicyName(outcome.policy),
         .values = {kernels, time - kernels},
         .note = fmt::format("{:.2f}×", time),
         .stands_apart = false});
  }
  chart.bars.back().stands_apart = has_title;
}

Document::Picture PictureOf(const std::vector<UvmCase>& cases, const std::string& memory) {
  draw::StackedBars chart{
      .series = TimeSeries(),
      .bars = {},
      .description = "Time of each prefetch relative to none, memory " + memory};
  const bool has_title = cases.front().run != cases.back().run;
  for (const UvmCase& one : cases) {
    if (UvmMemoryText(one) == memory) {
      AddBars(one, has_title, chart);
    }
  }
  return {
      .heading = fmt::format("Time relative to no prefetch, memory: {}", memory),
      .svg = draw::RenderStackedBars(chart),
      .caption = has_title ? "The bar with the name of a recording is that without prefetch." : "",
      .legend = TimeSeries()};
}

std::vector<Document::Picture> PicturesOf(const std::vector<UvmCase>& cases) {
  std::vector<Document::Picture> pictures;
  std::vector<std::string> drawn;
  for (const UvmCase& one : cases) {
    const std::string memory = UvmMemoryText(one);
    const bool is_new = std::find(drawn.begin(), drawn.end(), memory) == drawn.end();
    if (is_new && one.comparison.outcomes.front().total_ns > 0) {
      pictures.push_back(PictureOf(cases, memory));
      drawn.push_back(memory);
    }
  }
  return pictures;
}

std::string GranularitySentence(const std::vector<UvmCase>& cases) {
  std::int64_t by_page = 0;
  std::int64_t whole = 0;
  std::int64_t by_argument = 0;
  for (const UvmCase& one : cases) {
    by_page += one.run->collected.basis.touches_by_page;
    whole += one.run->collected.basis.touches_whole;
    by_argument += one.run->collected.basis.touches_by_argument;
  }
  std::string text = whole == 0 ? "Touches are by page or extent."
                     : by_page == 0
                         ? "No pages were recorded: a touched object counts in full."
                         : "Where no pages were recorded, a touched object counts in full.";
  if (by_argument > 0) {
    text += " Launches that are known by argument only are taken to touch these objects in full.";
  }
  return text;
}

std::string DurationSentence(const std::vector<UvmCase>& cases, const Parameters& parameters) {
  for (const UvmCase& one : cases) {
    if (one.run->collected.basis.durations_modelled > 0) {
      return fmt::format(
          "Work without a recorded time takes its bytes at the GPU's memory bandwidth, at least "
          "{}.",
          draw::FormatDuration({parameters.kernel_floor_ns}));
    }
  }
  return "Times of kernels are as recorded.";
}

void AddBestLookaheads(const std::vector<UvmCase>& cases, MemoryResult& page) {
  for (std::size_t place = 0; place < cases.size(); ++place) {
    page.facts.push_back(
        {place == 0 ? "best_lookahead" : fmt::format("best_lookahead_{}", place + 1),
         fmt::format("best lookahead, {}", UvmMemoryText(cases[place])),
         std::int64_t{cases[place].comparison.Best().policy.lookahead}});
  }
}

}  // namespace

MemoryResult UvmPage(const std::vector<UvmCase>& cases, const Parameters& parameters,
                     std::size_t top) {
  MemoryResult page;
  page.facts = {{"page_bytes", "page", parameters.page_bytes, report::Unit::kBytes},
                {"iterations", "iterations", std::int64_t{parameters.iterations}}};
  if (cases.front().run == cases.back().run) {
    AddBestLookaheads(cases, page);
  }
  page.tables = {UvmPolicyTable(cases),      UvmLookaheadTable(cases), UvmOperatorTable(cases, top),
                 UvmObjectTable(cases, top), UvmBasisTable(cases),     UvmScheduleTable(cases)};
  page.pictures = PicturesOf(cases);
  page.sentences = {
      "A simulation: all memory of the GPU is taken as managed, the recording is replayed one work "
      "after the other.",
      fmt::format("Costs of faults and copies {} (data/memory/uvm.yaml): elsewhere read orders and "
                  "ratios, not times. Throttling of pages that thrash is not modelled.",
                  parameters.cost_source),
      GranularitySentence(cases), DurationSentence(cases, parameters)};
  return page;
}

}  // namespace orrery::cli
