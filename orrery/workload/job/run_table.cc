#include "orrery/workload/job/run_table.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/workload/import/unpacked_file.h"
#include "orrery/workload/job/run_row.h"
#include "orrery/workload/job/single_gpu_run.h"
#include "orrery/workload/model/hugging_face.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kSource = "NeuSight end-to-end labels";
constexpr std::string_view kConfigurations = "model_configs.json";
constexpr double kSecondsOfMs = 1e-3;
constexpr int kGpusOfOptions = 4;

using ModelsByName = std::map<std::string, Result<HuggingFaceModel>, std::less<>>;

Result<ModelsByName> ReadConfigurations(const std::string& path) {
  ORRERY_TRY(const std::string text, ReadUnpackedFile(path));
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  if (parser.parse(text).get_object().get(root) != simdjson::SUCCESS) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{}: not a JSON object of models by name", path));
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
    return Fail(Error::Kind::kUnsupported, fmt::format("the option '{}' is not modelled", option));
  }
  return {};
}

class NeusightRuns : public RunTable {
 public:
  NeusightRuns(Table table, ModelsByName models)
      : table_(std::move(table)), models_(std::move(models)) {}

  [[nodiscard]] std::size_t num_rows() const override { return table_.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const override {
    std::vector<std::string> assumptions;
    return {RunRow(table_, row, assumptions).Text("id"), std::string(kSource), ""};
  }

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row_number) const override {
    PublishedRun run;
    RunRow row(table_, row_number, run.assumptions);
    run.id = row.Text("id");
    run.source = kSource;
    if (row.Text("mode") != "train") {
      return Fail(Error::Kind::kUnsupported, "the row times inference, not training");
    }
    const auto milliseconds = row.Number("e2e_latency_ms");
    if (!milliseconds || !(*milliseconds > 0)) {
      return Fail(Error::Kind::kUnsupported, "the row has no time");
    }
    run.measured_s = *milliseconds * kSecondsOfMs;
    ORRERY_TRY_STATUS(Describe(row, run.job));
    run.job.name = run.id;
    ORRERY_TRY_STATUS(CheckJob(run.job));
    return run;
  }

 private:
  Status Describe(RunRow& row, Job& job) const {
    std::string device = row.Text("device");
    if (Mentions(device, "MI250")) {
      // What programs see as one GPU is one of its two dies, which is an MI210.
      device = "MI210";
      row.Assume("one die of two, as an MI210");
    }
    ORRERY_TRY_STATUS(SetMachine(device, job));
    const Framework* framework = FindFramework("pytorch");
    if (framework == nullptr) {
      return Fail(Error::Kind::kUnsupported, "no framework profile of plain PyTorch");
    }
    job.framework = *framework;
    job.gpus = 1;
    const std::string model = row.Text("model");
    const auto found = models_.find(model);
    if (found == models_.end()) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("{} does not describe '{}'", kConfigurations, model));
    }
    ORRERY_TRY(const HuggingFaceModel configuration, found->second);
    ORRERY_TRY(Transformer transformer, MakeTransformer(configuration.shape));
    job.model = {model, std::move(transformer)};
    Training& training = job.training;
    training.sequence = row.Integer("seqlen").value_or(0);
    training.global_batch = row.Integer("batch").value_or(1);
    training.micro_batch = training.global_batch;
    training.optimizer = OptimizerKind::kSkipped;
    training.precision = {.compute = kernel::DataType::kFp32,
                          .gemm_type = kernel::DataType::kFp32,
                          .gradient_bytes = 4,
                          .gathered_bytes = 4,
                          .has_master = false};
    return ReadOption(row, job);
  }

  Table table_;
  ModelsByName models_;
};

// Whether the table is NeuSight's end-to-end labels: device, model, mode, seqlen, batch, option.
bool IsNeusightTable(const Table& table) {
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"id", "device", "model", "mode", "seqlen", "batch",
                                              "option", "e2e_latency_ms"},
      [&](std::string_view column) { return table.FindColumn(column).has_value(); });
}

// NeuSight's end-to-end labels: forward and backward pass of Hugging Face models in fp32, eager
// PyTorch, without an optimizer, on one GPU or on four of one machine. The models' configurations
// are in `model_configs.json` beside the table.
Result<std::unique_ptr<RunTable>> OpenNeusightRuns(Table table, const std::string& path) {
  const std::string beside =
      (std::filesystem::path(path).parent_path() / std::string(kConfigurations)).string();
  ORRERY_TRY(ModelsByName models, ReadConfigurations(beside));
  return std::make_unique<NeusightRuns>(std::move(table), std::move(models));
}

// The labels of rows in tables with a source column.
RunLabel LabelOf(const Table& table, std::size_t row, bool has_grades) {
  std::vector<std::string> assumptions;
  const RunRow cells(table, row, assumptions);
  return {cells.Text("id"), cells.Text("source"),
          has_grades ? cells.Text("completeness") : std::string()};
}

// Language models on many GPUs: all of the plan is in columns.
class PublishedRuns : public RunTable {
 public:
  explicit PublishedRuns(Table table) : table_(std::move(table)) {}

  [[nodiscard]] std::size_t num_rows() const override { return table_.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const override {
    return LabelOf(table_, row, true);
  }

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row) const override {
    return ReadPublishedRun(table_, row);
  }

 private:
  Table table_;
};

// Throughputs of other models on one machine.
class SingleGpuRuns : public RunTable {
 public:
  explicit SingleGpuRuns(Table table) : table_(std::move(table)) {}

  [[nodiscard]] std::size_t num_rows() const override { return table_.num_rows(); }

  [[nodiscard]] RunLabel Label(std::size_t row) const override {
    return LabelOf(table_, row, false);
  }

  [[nodiscard]] Result<PublishedRun> Read(std::size_t row) const override {
    return ReadSingleGpuRun(table_, row);
  }

 private:
  Table table_;
};

}  // namespace

Result<std::unique_ptr<RunTable>> OpenRunTable(const std::string& path) {
  ORRERY_TRY(Table table, ReadCsvFile(path));
  if (IsNeusightTable(table)) {
    return OpenNeusightRuns(std::move(table), path);
  }
  if (IsSingleGpuTable(table)) {
    return std::make_unique<SingleGpuRuns>(std::move(table));
  }
  if (const Status status = CheckPublishedColumns(table); !status) {
    return FailWithin(path, status);
  }
  return std::make_unique<PublishedRuns>(std::move(table));
}

}  // namespace orrery::workload
