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

#include "orrery/api/errors.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/memory/tool.h"
#include "orrery/api/memory/uvm_page.h"
#include "orrery/base/error.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"
#include "orrery/hardware/gpu.h"
#include "orrery/memory/coverage.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
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

void AddBestLookaheads(const std::vector<UvmCase>& cases, MemoryToolResult& page) {
  for (std::size_t place = 0; place < cases.size(); ++place) {
    page.facts.push_back(
        {place == 0 ? "best_lookahead" : fmt::format("best_lookahead_{}", place + 1),
         fmt::format("best lookahead, {}", UvmMemoryText(cases[place])),
         std::int64_t{cases[place].comparison.Best().policy.lookahead}});
  }
}

// As Figures 11 and 12 of the PASTA paper: memory that suffices, and a third of it.
constexpr double kDefaultFactors[] = {1, 3};

MemoryToolResult UvmPage(const std::vector<UvmCase>& cases, const Parameters& parameters,
                         std::size_t top) {
  MemoryToolResult page;
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

Parameters ParametersOf(const MemoryRequest& request) {
  Parameters parameters = request.costs == "published" ? memory::uvm::PublishedParameters()
                                                       : memory::uvm::DefaultParameters();
  parameters.page_bytes = request.uvm_page.value_or(parameters.page_bytes);
  parameters.iterations = static_cast<int>(request.repeat.value_or(parameters.iterations));
  parameters.max_lookahead = static_cast<int>(request.lookahead.value_or(parameters.max_lookahead));
  parameters.has_prefetch_stream = request.prefetch_stream;
  return parameters;
}

Result<UvmRun> Prepare(const MemoryRun& run, const trace::Trace& rank, const MemoryRequest& request,
                       const Parameters& parameters) {
  const std::string_view recorded =
      rank.devices.empty() ? std::string_view() : rank.Text(rank.devices.name.front());
  const hardware::Gpu* gpu = hardware::FindGpu(recorded);
  if (!request.gpu.empty()) {
    ORRERY_TRY(gpu, GpuNamed(request.gpu));
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

void AddCases(const UvmRun& run, const MemoryRequest& request, const Parameters& parameters,
              std::vector<UvmCase>& cases) {
  if (request.capacity) {
    cases.push_back(Simulated(run, parameters, 0, *request.capacity));
    return;
  }
  std::vector<double> factors = request.oversubscription;
  if (factors.empty()) {
    factors.assign(std::begin(kDefaultFactors), std::end(kDefaultFactors));
  }
  for (const double factor : factors) {
    cases.push_back(Simulated(run, parameters, factor,
                              memory::uvm::CapacityOf(run.collected.workload, factor)));
  }
}

Result<MemoryToolResult> PageOf(const MemoryInput& input, const MemoryRequest& request) {
  const Parameters parameters = ParametersOf(request);
  ORRERY_TRY_STATUS(CheckParameters(parameters));
  if (request.capacity && *request.capacity < parameters.block_bytes) {
    return InvalidInput("--capacity must hold one block of {} bytes: {}", parameters.block_bytes,
                        *request.capacity);
  }
  std::vector<std::unique_ptr<UvmRun>> runs;
  std::vector<UvmCase> cases;
  for (const MemoryRun& run : input.runs) {
    for (const trace::Trace* const rank : run.ranks) {
      ORRERY_TRY(UvmRun prepared, Prepare(run, *rank, request, parameters));
      runs.push_back(std::make_unique<UvmRun>(std::move(prepared)));
      AddCases(*runs.back(), request, parameters, cases);
    }
  }
  return UvmPage(cases, parameters, input.top);
}

}  // namespace

MemoryTool UvmTool(const MemoryRequest& request) {
  return {.name = "uvm",
          .line = "what prefetch of managed memory would gain or cost, simulated",
          .first_field = "capacity",
          .last_field = "gpu",
          .needs = {memory::Need::kKernels, memory::Need::kObjects, memory::Need::kTouches},
          .reads = MemoryTool::Reads::kRuns,
          .run_whole = [request](const MemoryInput& input) { return PageOf(input, request); }};
}

}  // namespace orrery::api
