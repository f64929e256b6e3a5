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

#include "orrery/cli/memory/tool.h"
#include "orrery/cli/memory/uvm_page.h"
#include "orrery/cli/verb.h"
#include "orrery/hardware/gpu.h"

namespace orrery::cli {
namespace {

using memory::uvm::Parameters;

// As Figures 11 and 12 of the PASTA paper: memory that suffices, and a third of it.
constexpr double kDefaultFactors[] = {1, 3};

class UvmTool : public MemoryTool {
 public:
  [[nodiscard]] std::string_view name() const override { return "uvm"; }

  [[nodiscard]] std::string_view line() const override {
    return "what prefetch of managed memory would gain or cost, simulated";
  }

  [[nodiscard]] std::vector<memory::Need> needs() const override {
    return {memory::Need::kKernels, memory::Need::kObjects, memory::Need::kTouches};
  }

  [[nodiscard]] Reads reads() const override { return Reads::kRuns; }

  void AddOptions(Verb& verb) override {
    static const std::map<std::string, Costs> kCosts{{"measured", Costs::kMeasured},
                                                     {"published", Costs::kPublished}};
    const Option capacity =
        verb.AddOption("--capacity", capacity_bytes_, "bytes of the GPU's memory").Positive();
    verb.AddOption("--oversubscription", factors_,
                   "memory as a part of the footprint: 3 is a third (default: 1 and 3)")
        .Range(0.01, 1e6)
        .Excludes(capacity);
    verb.AddOption("--uvm-page", page_bytes_, "bytes of a page: 4096, …, 65536");
    verb.AddOption("--repeat", iterations_, "repeat the recording so many times (default: 2)")
        .Range(1, 1000);
    verb.AddOption("--lookahead", max_lookahead_, "try tensor level up to so many operators ahead")
        .Range(0, 1000);
    verb.AddChoice("--costs", costs_, kCosts,
                   "measured: on an H200 in a virtual machine (default); published: from papers");
    verb.AddFlag("--prefetch-stream", has_prefetch_stream_,
                 "prefetch calls come from a stream of their own, which is idle");
    verb.AddOption("--gpu", gpu_, "whose memory and link, as orrery's catalogue calls it");
  }

  [[nodiscard]] Result<MemoryResult> Run(const MemoryInput& input) const override {
    const Parameters parameters = Chosen();
    ORRERY_TRY_STATUS(CheckParameters(parameters));
    if (capacity_bytes_ && *capacity_bytes_ < parameters.block_bytes) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("--capacity must hold one block of {} bytes: {}",
                              parameters.block_bytes, *capacity_bytes_));
    }
    std::vector<std::unique_ptr<UvmRun>> runs;
    std::vector<UvmCase> cases;
    for (const MemoryRun& run : input.runs) {
      for (const trace::Trace* const rank : run.ranks) {
        ORRERY_TRY(UvmRun prepared, Prepare(run, *rank, parameters));
        runs.push_back(std::make_unique<UvmRun>(std::move(prepared)));
        AddCases(*runs.back(), parameters, cases);
      }
    }
    return UvmPage(cases, parameters, input.top);
  }

 private:
  enum class Costs : std::uint8_t { kMeasured, kPublished };

  [[nodiscard]] Parameters Chosen() const {
    Parameters parameters = costs_ == Costs::kPublished ? memory::uvm::PublishedParameters()
                                                        : memory::uvm::DefaultParameters();
    parameters.page_bytes = page_bytes_.value_or(parameters.page_bytes);
    parameters.iterations = iterations_.value_or(parameters.iterations);
    parameters.max_lookahead = max_lookahead_.value_or(parameters.max_lookahead);
    parameters.has_prefetch_stream = has_prefetch_stream_;
    return parameters;
  }

  [[nodiscard]] Result<UvmRun> Prepare(const MemoryRun& run, const trace::Trace& rank,
                                       const Parameters& parameters) const {
    const std::string_view recorded =
        rank.devices.empty() ? std::string_view() : rank.Text(rank.devices.name.front());
    const hardware::Gpu* gpu = hardware::FindGpu(gpu_.empty() ? recorded : gpu_);
    if (gpu == nullptr && !gpu_.empty()) {
      return Fail(Error::Kind::kNotFound, fmt::format("--gpu: not in the catalogue: {}", gpu_));
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

  void AddCases(const UvmRun& run, const Parameters& parameters,
                std::vector<UvmCase>& cases) const {
    if (capacity_bytes_) {
      cases.push_back(Simulated(run, parameters, 0, *capacity_bytes_));
      return;
    }
    std::vector<double> factors = factors_;
    if (factors.empty()) {
      factors.assign(std::begin(kDefaultFactors), std::end(kDefaultFactors));
    }
    for (const double factor : factors) {
      cases.push_back(Simulated(run, parameters, factor,
                                memory::uvm::CapacityOf(run.collected.workload, factor)));
    }
  }

  static UvmCase Simulated(const UvmRun& run, const Parameters& parameters, double factor,
                           std::int64_t capacity_bytes) {
    const auto rates = memory::uvm::RatesOn(*run.gpu, parameters);
    return {.run = &run,
            .factor = factor,
            .comparison = memory::uvm::Compare(
                run.collected.workload, parameters, rates,
                {.capacity_bytes = capacity_bytes, .iterations = parameters.iterations})};
  }

  std::optional<std::int64_t> capacity_bytes_;
  std::vector<double> factors_;
  std::optional<std::int64_t> page_bytes_;
  std::optional<int> iterations_;
  std::optional<int> max_lookahead_;
  std::string gpu_;
  Costs costs_ = Costs::kMeasured;
  bool has_prefetch_stream_ = false;
};

}  // namespace

std::unique_ptr<MemoryTool> MakeUvmTool() {
  return std::make_unique<UvmTool>();
}

}  // namespace orrery::cli
