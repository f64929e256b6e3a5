#include "orrery/workload/job/published/run_table.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>
#include <simdjson.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/workload/embedded_published_runs.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_machine.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/job/stack.h"
#include "orrery/workload/model/hugging_face.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kSource = "NeuSight end-to-end labels";
constexpr std::string_view kConfigurations = "model_configs.json";
constexpr int kGpusOfOptions = 4;

using ModelsByName = std::map<std::string, Result<HuggingFaceModel>, std::less<>>;

Result<ModelsByName> ReadConfigurations(const std::string& path) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (parser.parse(text).get_object().get(root) != simdjson::SUCCESS) {
    return Refuse("{}: not a JSON object of models by name", path);
  }
  ModelsByName models;
  for (const auto field : root) {
    models.emplace(std::string(field.key),
                   ReadHuggingFace(std::string(simdjson::to_string(field.value))));
  }
  return models;
}

// Four GPUs of one machine, the batch dealt to them, or all of it in one piece through a pipeline.
Status ReadOption(const RunRow& row, Job& job) {
  const std::string option = row.Text("option");
  if (option.empty()) {
    return {};
  }
  job.gpus = kGpusOfOptions;
  if (option == "dp4") {
    job.plan.dp = kGpusOfOptions;
    job.training.micro_batch = std::max<std::int64_t>(1, job.training.global_batch / job.gpus);
  } else if (option == "tp4") {
    job.plan.tp = kGpusOfOptions;
  } else if (option == "pp4_1") {
    job.plan.pp = kGpusOfOptions;
    job.plan.schedule = PipelineSchedule::kGpipe;
  } else {
    return Unsupported("the option '{}' is not modelled", option);
  }
  return {};
}

Status DescribeNeusightRun(const ModelsByName& models, RunRow& row, Job& job) {
  std::string device = row.Text("device");
  if (Mentions(device, "MI250")) {
    // Programs see one of its two dies as a GPU, which is an MI210.
    device = "MI210";
    row.Assume("one die of two, as an MI210");
  }
  ORRERY_TRY_STATUS(SetMachine(device, job));
  job.framework = *FindFramework("pytorch");
  job.gpus = 1;
  const std::string model = row.Text("model");
  const auto found = models.find(model);
  if (found == models.end()) {
    return Unsupported("{} does not describe '{}'", kConfigurations, model);
  }
  ORRERY_TRY(const HuggingFaceModel configuration, found->second);
  ORRERY_TRY(Transformer transformer, MakeTransformer(configuration.shape));
  job.model = {model, std::move(transformer)};
  Training& training = job.training;
  training.sequence = row.Integer("seqlen").value_or(0);
  training.global_batch = row.Integer("batch").value_or(1);
  training.micro_batch = training.global_batch;
  training.optimizer = OptimizerKind::kSkipped;
  training.precision = {.compute = DataType::kFp32,
                        .gemm_type = DataType::kFp32,
                        .gradient_bytes = 4,
                        .gathered_bytes = 4,
                        .has_master = false};
  return ReadOption(row, job);
}

Result<PublishedRun> ReadNeusightRun(const ModelsByName& models, const Table& table,
                                     std::size_t row_number) {
  PublishedRun run;
  RunRow row(table, row_number, run.assumptions);
  run.id = row.Text("id");
  run.source = kSource;
  if (row.Text("mode") != "train") {
    return Unsupported("the row times inference, not training");
  }
  const auto milliseconds = row.Number("e2e_latency_ms");
  if (!milliseconds || !(*milliseconds > 0)) {
    return Unsupported("the row has no time");
  }
  run.measured_s = *milliseconds * 1e-3;
  ORRERY_TRY_STATUS(DescribeNeusightRun(models, row, run.job));
  run.job.name = run.id;
  ORRERY_TRY_STATUS(CheckJob(run.job));
  return run;
}

bool HasColumns(const Table& table, std::initializer_list<std::string_view> columns) {
  return std::ranges::all_of(
      columns, [&](std::string_view column) { return table.FindColumn(column).has_value(); });
}

// A row of the source's own table: its cells by the source's own names of columns.
class SourceCells {
 public:
  explicit SourceCells(const std::string& json) {
    simdjson::dom::parser parser;
    simdjson::dom::object object;
    if (parser.parse(json).get_object().get(object) != simdjson::SUCCESS) {
      return;
    }
    for (const auto field : object) {
      std::string_view value;
      if (field.value.get_string().get(value) == simdjson::SUCCESS) {
        cells_.emplace_back(field.key, value);
      }
    }
  }

  /// The first cell whose column begins with `column`; empty when there is none.
  [[nodiscard]] std::string Text(std::string_view column) const {
    const auto found = std::ranges::find_if(
        cells_, [&](const auto& cell) { return cell.first.starts_with(column); });
    return found == cells_.end() ? std::string() : found->second;
  }

 private:
  std::vector<std::pair<std::string, std::string>> cells_;
};

enum class Pass { kWide, kHalf };  // fp32 or TF32; fp16 with fp32 where it matters

Result<Pass> ReadPrecision(const RunRow& row, Precision& precision) {
  const std::string text = row.Text("precision");
  if (Mentions(text, "mixed") || Mentions(text, "fp16") || Mentions(text, "amp")) {
    precision.compute = DataType::kFp16;
    precision.gemm_type = DataType::kFp16;
    return Pass::kHalf;
  }
  if (text == "FP32" || text == "TF32") {
    precision.compute = DataType::kFp32;
    precision.gemm_type = text == "TF32" ? DataType::kTf32 : DataType::kFp32;
    precision.gathered_bytes = 4;
    precision.has_master = false;
    return Pass::kWide;
  }
  return Fail(Error::Kind::kUnsupported,
              text.empty() ? "the row does not state its precision"
                           : fmt::format("the precision '{}' is not modelled", text));
}

// "64k", "8192", "128 and 256": the first for fp32 and TF32, the second for half precision.
std::optional<std::int64_t> NumberFor(const std::string& text, Pass pass) {
  static const RE2 kNumber("(\\d{1,10})(k?)");
  constexpr std::int64_t kMost = 999'999'999;
  std::vector<std::int64_t> numbers;
  std::int64_t number = 0;
  std::string thousands;
  for (re2::StringPiece rest(text); RE2::FindAndConsume(&rest, kNumber, &number, &thousands);) {
    if (number > kMost) {
      return std::nullopt;
    }
    numbers.push_back(number * (thousands.empty() ? 1 : 1024));
  }
  if (numbers.empty()) {
    return std::nullopt;
  }
  return pass == Pass::kHalf ? numbers.back() : numbers.front();
}

struct Batch {
  std::int64_t of_pass = 0;  // samples per GPU in one pass
  std::int64_t of_step = 0;  // samples per GPU in one step
};

Result<Batch> ReadBatch(const RunRow& row, const SourceCells& cells, Pass pass, int gpus) {
  const auto steps = NumberFor(cells.Text("Accumulation steps"), pass);
  const auto accumulated = NumberFor(cells.Text("Accumulated Batch size"), pass);
  auto stated = NumberFor(row.Text("batch_per_gpu"), pass);
  if (const auto total = row.Integer("batch_total"); !stated && total) {
    stated = *total / gpus;
  }
  if (!stated || *stated < 1) {
    return Unsupported("the row does not state its batch");
  }
  if (!steps || *steps < 1) {
    return Batch{*stated, *stated};
  }
  // If both are stated their quotient is the batch that ran: cells of the batch itself have
  // misprints.
  const std::int64_t of_step = accumulated.value_or(*stated);
  if (of_step % *steps != 0) {
    return Unsupported("a batch of {} does not divide into {} passes", of_step, *steps);
  }
  return Batch{of_step / *steps, of_step};
}

Result<int> ReadGpus(const RunRow& row, const SourceCells& cells) {
  constexpr std::int64_t kMostGpus = 1 << 20;
  auto gpus = row.Integer("n_gpus");
  const auto nodes = NumberFor(cells.Text("Nodes"), Pass::kWide);
  const auto per_node = NumberFor(cells.Text("GPUs / node"), Pass::kWide);
  if (!gpus && nodes && per_node) {
    gpus = *nodes * *per_node;
  }
  if (!gpus || *gpus < 1 || *gpus > kMostGpus) {
    return Unsupported("the number of GPUs is not a number");
  }
  return static_cast<int>(*gpus);
}

struct KnownModel {
  std::string_view word;  // in the table's name of the model
  std::string_view preset;
  /// The longest sequences that its data set fills; 0: samples have no length. Wikipedia cut to
  /// BERT's second phase, 512 tokens, is half padding (Krell et al., arXiv 2107.02027), which some
  /// programs compute and some leave out.
  std::int64_t longest_filled;
};

constexpr std::array<KnownModel, 5> kModels{{{"LanguageModeling/BERT", "bert-large", 128},
                                             {"resnet50", "resnet50", 0},
                                             {"RN50", "resnet50", 0},
                                             {"Recommendation/DLRM", "dlrm-mlperf", 0},
                                             {"ViT-L", "vit-l16", 0}}};

/// True if padding is computed.
constexpr std::array<Spelling<bool>, 2> kPaddings{{{"computed", true}, {"skipped", false}}};

// Nothing is known of the lengths of samples whose padding is skipped.
Status CheckPadding(const RunRow& row, const KnownModel& model, std::int64_t sequence) {
  if (sequence <= model.longest_filled) {
    return {};
  }
  ORRERY_TRY(const auto is_computed, ReadWord(row, "padding", kPaddings));
  if (!is_computed) {
    return Unsupported(
        "the data set of {} does not fill sequences of {}, and the row does not state whether "
        "padding is computed",
        model.preset, sequence);
  }
  return *is_computed ? Status() : Unsupported("sequences without padding are not modelled");
}

Status ReadModel(RunRow& row, Job& job) {
  const std::string name = row.Text("model");
  const auto* const known = std::ranges::find_if(
      kModels, [&](const KnownModel& model) { return Mentions(name, model.word); });
  if (known == kModels.end() || Mentions(name, "biobert")) {
    return Unsupported("the model '{}' is not described", name);
  }
  job.training.sequence = row.Integer("seq_len").value_or(0);
  const bool has_sequence = known->longest_filled > 0;
  if (has_sequence && job.training.sequence < 1) {
    return Unsupported("the row does not state the sequence length");
  }
  if (has_sequence) {
    ORRERY_TRY_STATUS(CheckPadding(row, *known, job.training.sequence));
  }
  ORRERY_TRY(const Preset* const preset, FindPreset(known->preset));
  ORRERY_TRY(job.model, ModelOf(*preset, job.training.precision.compute));
  if (has_sequence) {
    row.Assume("tokens are predicted at every position");
  }
  return {};
}

}  // namespace

RunLabel RunTable::Label(std::size_t row) const {
  std::vector<std::string> assumptions;
  const RunRow cells(table, row, assumptions);
  RunLabel label{cells.Text("id"), source.empty() ? cells.Text("source") : source,
                 has_grades ? cells.Text("completeness") : std::string()};
  label.team = cells.Text("team");
  label.team = label.team.empty() ? label.source : label.team;
  label.release = cells.Text("release");
  label.stack = StackName(cells.Text("stack"), cells.Text("framework"), label.team);
  return label;
}

Result<std::unique_ptr<RunTable>> OpenRunTable(const std::string& path) {
  RunTable runs;
  ORRERY_TRY(runs.table, ReadCsvFile(path));
  if (HasColumns(runs.table, {"id", "device", "model", "mode", "seqlen", "batch", "option",
                              "e2e_latency_ms"})) {
    // NeuSight's end-to-end labels: forward and backward pass of Hugging Face models in fp32, eager
    // PyTorch, without an optimizer, on one GPU or on four of one machine.
    const auto folder = std::filesystem::path(path).parent_path();
    ORRERY_TRY(ModelsByName models,
               ReadConfigurations((folder / std::string(kConfigurations)).string()));
    runs.source = kSource;
    runs.read = [models = std::move(models)](const Table& table, std::size_t row) {
      return ReadNeusightRun(models, table, row);
    };
  } else if (IsSingleGpuTable(runs.table)) {
    runs.read = ReadSingleGpuRun;
  } else {
    if (const Status status = CheckPublishedColumns(runs.table); !status) {
      return FailWithin(path, status);
    }
    runs.read = ReadPublishedRun;
    runs.has_grades = true;
  }
  return std::make_unique<RunTable>(std::move(runs));
}

std::unique_ptr<RunTable> ShippedRunTable() {
  auto table = ParseCsv(kEmbeddedPublishedRuns);
  ORRERY_CHECK(table.has_value(), table ? "" : table.error().message());
  ORRERY_CHECK(CheckPublishedColumns(*table).has_value(), "the shipped table has all columns");
  return std::make_unique<RunTable>(
      RunTable{.table = *std::move(table), .read = ReadPublishedRun, .has_grades = true});
}

bool IsSingleGpuTable(const Table& table) {
  return HasColumns(table, {"id", "source", "model", "gpu", "batch_per_gpu", "throughput", "unit",
                            "columns_json"});
}

Result<PublishedRun> ReadSingleGpuRun(const Table& table, std::size_t row_number) {
  PublishedRun run;
  RunRow row(table, row_number, run.assumptions);
  run.id = row.Text("id");
  run.source = row.Text("source");
  if (Mentions(row.Text("unit"), "ASP")) {
    return Unsupported("structured sparsity is not modelled");
  }
  Job& job = run.job;
  job.name = run.id;
  const SourceCells cells(row.Text("columns_json"));
  ORRERY_TRY(const Pass pass, ReadPrecision(row, job.training.precision));
  ORRERY_TRY_STATUS(ReadModel(row, job));
  const std::string framework = row.Text("framework");
  if (!Mentions(framework, "torch")) {
    return Unsupported("no profile of the framework '{}'", framework);
  }
  job.framework = *FindFramework("pytorch");
  ORRERY_TRY_STATUS(SetMachine(row.Text("gpu"), job));
  ORRERY_TRY(job.gpus, ReadGpus(row, cells));
  job.plan.dp = job.gpus;
  ORRERY_TRY(const Batch batch, ReadBatch(row, cells, pass, job.gpus));
  job.training.micro_batch = batch.of_pass;
  job.training.global_batch = batch.of_step * job.gpus;
  const auto throughput = row.Number("throughput");
  if (!throughput || !(*throughput > 0)) {
    return Unsupported("the row has no throughput");
  }
  run.measured_s = static_cast<double>(job.training.global_batch) / *throughput;
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
