#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/memory/uvm_page.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using memory::uvm::Comparison;
using memory::uvm::Outcome;
using memory::uvm::Parameters;

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

// As Figures 11 and 12 of the PASTA paper: memory that suffices, and a third of it.
constexpr double kDefaultFactors[] = {1, 3};

MemoryResult UvmPage(const std::vector<UvmCase>& cases, const Parameters& parameters,
                     std::size_t top) {
  MemoryResult page;
  page.facts = {{"page_bytes", "page", parameters.page_bytes, Unit::kBytes},
                {"iterations", "iterations", std::int64_t{parameters.iterations}}};
  if (cases.front().run == cases.back().run) {
    AddBestLookaheads(cases, page);
  }
  page.tables = UvmTables(cases, top);
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

enum class Costs : std::uint8_t { kMeasured, kPublished };

struct UvmOptions {
  std::optional<std::int64_t> capacity_bytes = {};
  std::vector<double> factors = {};
  std::optional<std::int64_t> page_bytes = {};
  std::optional<int> iterations = {};
  std::optional<int> max_lookahead = {};
  std::string gpu = {};
  Costs costs = Costs::kMeasured;
  bool has_prefetch_stream = false;
};

void AddOptions(Verb& verb, UvmOptions& options) {
  static const std::map<std::string, Costs> kCosts{{"measured", Costs::kMeasured},
                                                   {"published", Costs::kPublished}};
  const Option capacity =
      verb.AddOption("--capacity", options.capacity_bytes, "bytes of the GPU's memory").Positive();
  verb.AddOption("--oversubscription", options.factors,
                 "memory as a part of the footprint: 3 is a third (default: 1 and 3)")
      .Range(0.01, 1e6)
      .Excludes(capacity);
  verb.AddOption("--uvm-page", options.page_bytes, "bytes of a page: 4096, …, 65536");
  verb.AddOption("--repeat", options.iterations, "repeat the recording so many times (default: 2)")
      .Range(1, 1000);
  verb.AddOption("--lookahead", options.max_lookahead,
                 "try tensor level up to so many operators ahead")
      .Range(0, 1000);
  verb.AddChoice("--costs", options.costs, kCosts,
                 "measured: on an H200 in a virtual machine (default); published: from papers");
  verb.AddFlag("--prefetch-stream", options.has_prefetch_stream,
               "prefetch calls come from a stream of their own, which is idle");
  verb.AddOption("--gpu NAME", options.gpu, "whose memory and link (orrery list gpus)");
}

Parameters ParametersOf(const UvmOptions& options) {
  Parameters parameters = options.costs == Costs::kPublished ? memory::uvm::PublishedParameters()
                                                             : memory::uvm::DefaultParameters();
  parameters.page_bytes = options.page_bytes.value_or(parameters.page_bytes);
  parameters.iterations = options.iterations.value_or(parameters.iterations);
  parameters.max_lookahead = options.max_lookahead.value_or(parameters.max_lookahead);
  parameters.has_prefetch_stream = options.has_prefetch_stream;
  return parameters;
}

Result<UvmRun> Prepare(const MemoryRun& run, const trace::Trace& rank, const UvmOptions& options,
                       const Parameters& parameters) {
  const std::string_view recorded =
      rank.devices.empty() ? std::string_view() : rank.Text(rank.devices.name.front());
  const hardware::Gpu* gpu = hardware::FindGpu(recorded);
  if (!options.gpu.empty()) {
    ORRERY_TRY(gpu, GpuNamed(options.gpu));
  }
  const bool is_assumed = gpu == nullptr;
  gpu = is_assumed ? hardware::FindGpu(parameters.gpu) : gpu;
  const std::string title =
      run.ranks.size() > 1 ? fmt::format("{} rank {}", run.title, rank.info.rank) : run.title;
  return UvmRun{.title = title,
                .trace = &rank,
                .gpu = gpu,
                .is_gpu_assumed = is_assumed,
                .collected = memory::uvm::Collect(rank, parameters, *gpu)};
}

UvmCase Simulated(const UvmRun& run, const Parameters& parameters, double factor,
                  std::int64_t capacity_bytes) {
  const auto rates = memory::uvm::RatesOn(*run.gpu, parameters);
  return {.run = &run,
          .factor = factor,
          .comparison = memory::uvm::Compare(
              run.collected.workload, parameters, rates,
              {.capacity_bytes = capacity_bytes, .iterations = parameters.iterations})};
}

void AddCases(const UvmRun& run, const UvmOptions& options, const Parameters& parameters,
              std::vector<UvmCase>& cases) {
  if (options.capacity_bytes) {
    cases.push_back(Simulated(run, parameters, 0, *options.capacity_bytes));
    return;
  }
  std::vector<double> factors = options.factors;
  if (factors.empty()) {
    factors.assign(std::begin(kDefaultFactors), std::end(kDefaultFactors));
  }
  for (const double factor : factors) {
    cases.push_back(Simulated(run, parameters, factor,
                              memory::uvm::CapacityOf(run.collected.workload, factor)));
  }
}

Result<MemoryResult> PageOf(const MemoryInput& input, const UvmOptions& options) {
  const Parameters parameters = ParametersOf(options);
  ORRERY_TRY_STATUS(CheckParameters(parameters));
  if (options.capacity_bytes && *options.capacity_bytes < parameters.block_bytes) {
    return InvalidInput("--capacity must hold one block of {} bytes: {}", parameters.block_bytes,
                        *options.capacity_bytes);
  }
  std::vector<std::unique_ptr<UvmRun>> runs;
  std::vector<UvmCase> cases;
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const rank : run.ranks) {
      ORRERY_TRY(UvmRun prepared, Prepare(run, *rank, options, parameters));
      runs.push_back(std::make_unique<UvmRun>(std::move(prepared)));
      AddCases(*runs.back(), options, parameters, cases);
    }
  }
  return UvmPage(cases, parameters, input.top);
}

}  // namespace

MemoryTool UvmTool() {
  const auto options = std::make_shared<UvmOptions>();
  return {.name = "uvm",
          .line = "what prefetch of managed memory would gain or cost, simulated",
          .needs = {memory::Need::kKernels, memory::Need::kObjects, memory::Need::kTouches},
          .reads = MemoryTool::Reads::kRuns,
          .add_options = [options](Verb& verb) { AddOptions(verb, *options); },
          .run_whole = [options](const MemoryInput& input) { return PageOf(input, *options); }};
}

}  // namespace orrery::cli
