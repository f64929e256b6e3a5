#include "orrery/cli/inputs.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/mapped_file.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/progress.h"
#include "orrery/base/table.h"
#include "orrery/base/units.h"
#include "orrery/cli/embedding.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/collective/request.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/model_file.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"
#include "orrery/simulate/simulation.h"
#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/finish.h"
#include "orrery/workload/job/job_file.h"

namespace orrery::cli {
namespace {

bool IsCsv(const std::string& path) {
  return path.ends_with(".csv") || path.ends_with(".csv.gz") || path.ends_with(".csv.zst");
}

Result<std::vector<collective::MeasuredTable>> ReadTables(const std::string& path) {
  std::vector<collective::MeasuredTable> tables;
  if (IsCsv(path)) {
    ORRERY_TRY(Table table, ReadCsvFile(path));
    tables.push_back({path, std::move(table), true});
    return tables;
  }
  ORRERY_TRY(ingest::Run run, ingest::ReadRun({path}, {}));
  for (ingest::MeasurementTable& table : run.tables) {
    tables.push_back({path, std::move(table.rows), false});
  }
  if (tables.empty()) {
    return InvalidInput("{}: a recording, not a table of measured collectives", path);
  }
  return tables;
}

// What a caller of the program has read already; nullptr where a run is to be read.
const EmbeddedRun* FindEmbeddedRun(const RunArguments& arguments) {
  const Embedding* const embedding = Embedding::Current();
  if (embedding == nullptr || arguments.paths.size() != 1) {
    return nullptr;
  }
  const auto found = embedding->runs.find(arguments.paths.front());
  return found == embedding->runs.end() ? nullptr : &found->second;
}

Result<double> PriceOf(std::string_view text, const std::string& price) {
  const std::optional<double> dollars = ParseWhole<double>(text);
  if (!dollars || !std::isfinite(*dollars) || *dollars < 0) {
    return InvalidInput(
        "--price {}: write dollars of a GPU hour, such as 2.5, or H100=2.5,A100-80GB=1.1", price);
  }
  return *dollars;
}

}  // namespace

void AddRunOptions(Verb& verb, RunArguments& arguments) {
  verb.AddOption("--threads", arguments.threads, "threads to use (default: one for each core)")
      .Range(0, 1024);
  verb.AddOption("--max-unpack-ratio", arguments.max_unpack_ratio,
                 "refuse packed files that grow by more than this factor")
      .ShowDefault()
      .Positive();
  verb.AddOption("--step-marker", arguments.step_marker,
                 "regular expression (of RE2) for the names of ranges that are steps");
}

Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments) {
  ORRERY_TRY_STATUS(trace::CheckStepMarker(arguments.step_marker));
  ProgressLine line(TerminalProgress(), "reading " + arguments.paths.front());
  ingest::RunOptions options;
  options.read.threads = arguments.threads;
  options.read.unpack.max_ratio = arguments.max_unpack_ratio;
  options.read.step_marker = arguments.step_marker;
  options.progress = [&](std::size_t done, std::size_t total, std::string_view file) {
    line.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), file);
  };
  return ingest::ReadRun(arguments.paths, options);
}

Result<std::shared_ptr<const ingest::Run>> ReadSharedRun(const RunArguments& arguments) {
  if (const EmbeddedRun* const embedded = FindEmbeddedRun(arguments)) {
    return embedded->run;
  }
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments));
  return std::make_shared<const ingest::Run>(std::move(run));
}

Result<RunToAnalyze> ReadRunToAnalyze(RunArguments arguments, std::vector<std::string> paths,
                                      trace::AlignClocks align) {
  arguments.paths = std::move(paths);
  if (const EmbeddedRun* const embedded = FindEmbeddedRun(arguments)) {
    if (embedded->align != align) {
      return InvalidInput("the run was read with another choice of align; read it again with this");
    }
    return RunToAnalyze{embedded->run, embedded->aligned};
  }
  ORRERY_TRY(ingest::Run run, ReadRunWithProgress(arguments));
  const auto read = std::make_shared<ingest::Run>(std::move(run));
  auto aligned = std::make_shared<const trace::AlignedRun>(trace::MatchAndAlign(read->set, align));
  return RunToAnalyze{read, std::move(aligned)};
}

Result<ingest::Run> ReadRunWithProgress(RunArguments arguments, std::vector<std::string> paths) {
  arguments.paths = std::move(paths);
  return ReadRunWithProgress(arguments);
}

void AddJobOptions(Verb& verb, JobArguments& arguments) {
  verb.AddOption("--set KEY=VALUE", arguments.settings,
                 "change a key of the job: plan.tp=4; may be repeated")
      .OneValueEach();
  verb.AddOption("--gpu NAME", arguments.gpu, "another GPU (orrery list gpus)");
  verb.AddOption("--cluster NAME", arguments.cluster, "another machine (orrery list clusters)");
}

void AddKernelModelsOption(Verb& verb, JobArguments& arguments) {
  verb.AddOption("--models FILE", arguments.kernel_models,
                 "models of `orrery fit kernels`, instead of the shipped ones");
}

// --gpu and --cluster are settings that have a name of their own; a GPU goes after the cluster,
// which brings one.
std::vector<std::string> OverridesOf(const JobArguments& arguments) {
  std::vector<std::string> overrides;
  if (!arguments.cluster.empty()) {
    overrides.push_back("cluster=" + arguments.cluster);
  }
  if (!arguments.gpu.empty()) {
    overrides.push_back("gpu=" + arguments.gpu);
  }
  overrides.insert(overrides.end(), arguments.settings.begin(), arguments.settings.end());
  return overrides;
}

Result<workload::JobFile> ReadJob(const std::string& path, const JobArguments& arguments) {
  return workload::ReadJobFile(path, OverridesOf(arguments));
}

std::string RangesText(std::vector<std::int64_t> numbers) {
  constexpr std::size_t kMostRanges = 8;
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  std::vector<std::string> ranges;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    ranges.push_back(first == last ? fmt::format("{}", numbers[first])
                                   : fmt::format("{}–{}", numbers[first], numbers[last]));
  }
  if (ranges.size() > kMostRanges) {
    ranges.resize(kMostRanges);
    ranges.emplace_back("…");
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

Result<collective::Measurements> ReadCollectives(const std::vector<std::string>& paths,
                                                 const std::string& cluster) {
  collective::Measurements data;
  for (const std::string& path : paths) {
    ORRERY_TRY(const std::vector<collective::MeasuredTable> tables, ReadTables(path));
    for (const collective::MeasuredTable& table : tables) {
      ORRERY_TRY_STATUS(collective::AddMeasurements(table, cluster, data));
    }
  }
  if (data.without_gpu > 0) {
    PrintNotice(fmt::format("{} rows do not name their GPU and count as measured on '{}'",
                            data.without_gpu, cluster));
  }
  return WithRows(std::move(data));
}

Result<overlap::PairTable> ReadOverlapPairs(std::span<const std::string> paths,
                                            std::span<const std::string> counters) {
  ORRERY_TRY(overlap::PairTable data, overlap::ReadPairs(paths, counters));
  return WithRows(std::move(data));
}

const std::map<std::string, trace::AlignClocks>& AlignChoices() {
  static const std::map<std::string, trace::AlignClocks> kChoices{
      {"auto", trace::AlignClocks::kIfItMatters},
      {"always", trace::AlignClocks::kAlways},
      {"off", trace::AlignClocks::kNever}};
  return kChoices;
}

std::vector<std::string> RejectedLines(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows) {
  constexpr std::size_t kShownRejected = 10;
  std::vector<std::string> lines;
  for (const RejectedRow& row : rows.first(std::min(rows.size(), kShownRejected))) {
    const std::string line = row.line == 0 ? "" : fmt::format(":{}", row.line);
    lines.push_back(fmt::format("{}{}: {}", files[row.file], line, row.reason));
  }
  if (rows.size() > kShownRejected) {
    lines.push_back(fmt::format("… and {} more rows", rows.size() - kShownRejected));
  }
  return lines;
}

std::string RejectedText(std::span<const std::string> files, std::span<const RejectedRow> rows) {
  return fmt::format("{}", fmt::join(RejectedLines(files, rows), "\n"));
}

bool IsCollectiveData(const std::string& path) {
  if (!IsCsv(path)) {
    return true;
  }
  const Result<Table> table = ReadCsvFile(path);
  return table && collective::HoldsCollectives(*table);
}

Result<collective::MachineModels> LoadMachineModels(const std::string& path) {
  if (path.empty()) {
    return collective::MachineModels::Shipped();
  }
  ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
  return collective::MachineModels::Parse(std::string(file.bytes()), path);
}

Result<std::shared_ptr<const kernel::ModelSet>> LoadKernelModels(
    const std::vector<std::string>& paths) {
  if (paths.empty()) {
    static const auto shipped = kernel::ShippedModels().map([](kernel::ModelSet&& models) {
      return std::make_shared<const kernel::ModelSet>(std::move(models));
    });
    return shipped;
  }
  ORRERY_TRY(kernel::ModelSet models, kernel::ReadModels(paths));
  return std::make_shared<const kernel::ModelSet>(std::move(models));
}

Result<const hardware::Gpu*> GpuNamed(const std::string& name) {
  if (const hardware::Gpu* gpu = hardware::FindGpu(name)) {
    return gpu;
  }
  return NotFound("--gpu {}: no such GPU in the catalogue{} (orrery list gpus)", name,
                  DidYouMean(name, NamesOf(hardware::GpuCatalogue())));
}

Result<const hardware::Cluster*> ClusterNamed(const std::string& name) {
  if (const hardware::Cluster* cluster = hardware::FindCluster(name)) {
    return cluster;
  }
  // A GPU stands for the first cluster that has it.
  std::vector<std::string_view> known = NamesOf(hardware::ClusterCatalogue());
  std::ranges::copy(NamesOf(hardware::GpuCatalogue()), std::back_inserter(known));
  return NotFound("--cluster {}: no such cluster in the catalogue{} (orrery list clusters)", name,
                  DidYouMean(name, known));
}

simulate::OverlapKind DefaultOverlap() {
  return simulate::OverlapKind::kModel;  // what the scalars of frameworks are fitted with
}

void AddOverlapOption(Verb& verb, simulate::OverlapKind& overlap) {
  overlap = DefaultOverlap();
  verb.AddChoice("--overlap", overlap,
                 {{"none", simulate::OverlapKind::kNone},
                  {"analytic", simulate::OverlapKind::kAnalytic},
                  {"model", simulate::OverlapKind::kModel}},
                 "how concurrent kernels slow each other down: not at all, by their shares of the "
                 "GPU, or by a model fitted to pairs of kernels (default: model)");
}

Result<std::shared_ptr<const overlap::Model>> LoadOverlapModel(
    simulate::SimulationOptions& options) {
  if (options.overlap != simulate::OverlapKind::kModel) {
    return nullptr;
  }
  ORRERY_TRY(std::shared_ptr<const overlap::Model> model, overlap::ShippedModel());
  options.overlap_model = model.get();
  return model;
}

Result<std::vector<learn::DataCard::Source>> SourcesOf(std::span<const std::string> paths) {
  std::vector<learn::DataCard::Source> sources;
  for (const std::string& path : paths) {
    ORRERY_TRY(const MappedFile file, MappedFile::Open(path));
    const std::string_view bytes = file.bytes();
    sources.push_back(
        {std::filesystem::path(path).filename().string(), bytes.size(), learn::HashText(bytes, 0)});
  }
  return sources;
}

Result<NumberSettings> ReadNumberSettings(std::string_view text, NumberSettings settings) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, end);
    const std::size_t equals = entry.find('=');
    const auto known = settings.find(entry.substr(0, equals));
    double value = 0;
    const char* const last = entry.data() + entry.size();
    const bool is_number = equals != std::string_view::npos &&
                           std::from_chars(entry.data() + equals + 1, last, value).ptr == last &&
                           value >= 0;
    if (known == settings.end() || !is_number) {
      std::string names;
      for (const auto& [name, fallback] : settings) {
        names += fmt::format("{}{}={:g}", names.empty() ? "" : ",", name, fallback);
      }
      return InvalidInput(
          "--with: '{}' is not a setting of this model; settings and their defaults: {}", entry,
          names);
    }
    known->second = value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

Result<Bandwidth> RateOf(std::string_view option, std::string_view text) {
  const Result<Bytes> bytes = text.ends_with("/s")
                                  ? collective::ParseSize(text.substr(0, text.size() - 2))
                                  : Result<Bytes>(Invalid("not a rate"));
  if (!bytes || bytes->count == 0) {
    return InvalidInput("{} {}: write a rate above zero, such as 200GB/s", option, text);
  }
  return Bandwidth{static_cast<double>(bytes->count)};
}

std::filesystem::path ProgramFolder() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : self.parent_path();
}

Result<PriceList> ReadPrices(const std::string& price) {
  PriceList prices;
  for (std::string_view left = price; !left.empty();) {
    const std::size_t comma = std::min(left.find(','), left.size());
    const std::string_view entry = left.substr(0, comma);
    left.remove_prefix(std::min(comma + 1, left.size()));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) {
      ORRERY_TRY(const double dollars, PriceOf(entry, price));
      prices.emplace_back("", dollars);
      continue;
    }
    ORRERY_TRY(const hardware::Gpu* const gpu, GpuNamed(std::string(entry.substr(0, equals))));
    ORRERY_TRY(const double dollars, PriceOf(entry.substr(equals + 1), price));
    prices.emplace_back(gpu->name, dollars);
  }
  return prices;
}

Result<double> PriceOfGpu(const PriceList& prices, const std::string& gpu) {
  for (const auto& [name, dollars] : prices) {
    if (name.empty() || name == gpu) {
      return dollars;
    }
  }
  return InvalidInput("--price has none of {}, which the job uses", gpu);
}

}  // namespace orrery::cli
