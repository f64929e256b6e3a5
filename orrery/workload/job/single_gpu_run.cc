#include "orrery/workload/job/single_gpu_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/workload/job/run_row.h"
#include "orrery/workload/model/presets.h"

namespace orrery::workload {
namespace {

// A row of the source's own table: its cells by the source's own names of columns.
class SourceCells {
 public:
  explicit SourceCells(const std::string& json) : text_(json) {
    if (parser_.parse(text_).get_object().get(object_) != simdjson::SUCCESS) {
      is_empty_ = true;
    }
  }

  /// The first cell whose column begins with `column`; empty when there is none.
  [[nodiscard]] std::string Text(std::string_view column) const {
    if (is_empty_) {
      return {};
    }
    for (const auto field : object_) {
      std::string_view value;
      if (field.key.starts_with(column) &&
          field.value.get_string().get(value) == simdjson::SUCCESS) {
        return std::string(value);
      }
    }
    return {};
  }

 private:
  simdjson::padded_string text_;
  simdjson::dom::parser parser_;
  simdjson::dom::object object_;
  bool is_empty_ = false;
};

enum class Pass { kWide, kHalf };  // fp32 or TF32; fp16 with fp32 where it matters

Result<Pass> ReadPrecision(const RunRow& row, Precision& precision) {
  const std::string text = row.Text("precision");
  if (Mentions(text, "mixed") || Mentions(text, "fp16") || Mentions(text, "amp")) {
    precision.compute = kernel::DataType::kFp16;
    precision.gemm_type = kernel::DataType::kFp16;
    return Pass::kHalf;
  }
  if (text == "FP32" || text == "TF32") {
    precision.compute = kernel::DataType::kFp32;
    precision.gemm_type = text == "TF32" ? kernel::DataType::kTf32 : kernel::DataType::kFp32;
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
  static const std::regex kNumber("(\\d+)(k?)");
  std::vector<std::int64_t> numbers;
  for (std::sregex_iterator match(text.begin(), text.end(), kNumber), end; match != end; ++match) {
    constexpr std::size_t kMostDigits = 9;
    const std::string digits = (*match)[1];
    if (digits.size() > kMostDigits) {
      return std::nullopt;
    }
    numbers.push_back(std::stoll(digits) * ((*match)[2].length() > 0 ? 1024 : 1));
  }
  if (numbers.empty()) {
    return std::nullopt;
  }
  return pass == Pass::kHalf ? numbers.back() : numbers.front();
}

struct Batch {
  std::int64_t of_pass = 0;  // samples of a GPU in one pass
  std::int64_t of_step = 0;  // samples of a GPU in one step
};

Result<Batch> ReadBatch(const RunRow& row, const SourceCells& cells, Pass pass, int gpus) {
  const auto steps = NumberFor(cells.Text("Accumulation steps"), pass);
  const auto accumulated = NumberFor(cells.Text("Accumulated Batch size"), pass);
  auto stated = NumberFor(row.Text("batch_per_gpu"), pass);
  if (const auto total = row.Integer("batch_total"); !stated && total) {
    stated = *total / gpus;
  }
  if (!stated || *stated < 1) {
    return Fail(Error::Kind::kUnsupported, "the row does not state its batch");
  }
  if (!steps || *steps < 1) {
    return Batch{*stated, *stated};
  }
  // Where both are stated their quotient is what ran: cells of the batch itself have misprints.
  const std::int64_t of_step = accumulated.value_or(*stated);
  if (of_step % *steps != 0) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("a batch of {} does not divide into {} passes", of_step, *steps));
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
    return Fail(Error::Kind::kUnsupported, "the number of GPUs is not a number");
  }
  return static_cast<int>(*gpus);
}

struct KnownModel {
  std::string_view word;  // in the table's name of the model
  std::string_view preset;
  bool has_sequence;
};

constexpr std::array<KnownModel, 5> kModels{{{"LanguageModeling/BERT", "bert-large", true},
                                             {"resnet50", "resnet50", false},
                                             {"RN50", "resnet50", false},
                                             {"Recommendation/DLRM", "dlrm-mlperf", false},
                                             {"ViT-L", "vit-l16", false}}};

Status ReadModel(RunRow& row, Job& job) {
  const std::string name = row.Text("model");
  const auto* const known = std::ranges::find_if(
      kModels, [&](const KnownModel& model) { return Mentions(name, model.word); });
  if (known == kModels.end() || Mentions(name, "biobert")) {
    return Fail(Error::Kind::kUnsupported, fmt::format("the model '{}' is not described", name));
  }
  job.training.sequence = row.Integer("seq_len").value_or(0);
  if (known->has_sequence && job.training.sequence < 1) {
    return Fail(Error::Kind::kUnsupported, "the row does not state the sequence length");
  }
  ORRERY_TRY(const Preset* const preset, FindPreset(known->preset));
  ORRERY_TRY(job.model, ModelOf(*preset, job.training.precision.compute));
  if (known->has_sequence) {
    row.Assume("tokens are predicted at every position");
  }
  return {};
}

Status RefuseOthers(const RunRow& row) {
  if (Mentions(row.Text("source"), "LitGPT")) {
    return Fail(Error::Kind::kUnsupported,
                "fine-tuning of a few parameters (LoRA, adapters) is not modelled");
  }
  if (Mentions(row.Text("source"), "MLPerf") && row.Text("model") == "bert") {
    return Fail(Error::Kind::kUnsupported,
                "MLPerf's BERT packs sequences without padding, and their lengths are not stated");
  }
  if (Mentions(row.Text("unit"), "ASP")) {
    return Fail(Error::Kind::kUnsupported, "structured sparsity is not modelled");
  }
  return {};
}

Status ReadFramework(const RunRow& row, Job& job) {
  const std::string name = row.Text("framework");
  const Framework* framework = Mentions(name, "torch") ? FindFramework("pytorch") : nullptr;
  if (framework == nullptr) {
    return Fail(Error::Kind::kUnsupported, fmt::format("no profile of the framework '{}'", name));
  }
  job.framework = *framework;
  return {};
}

}  // namespace

bool IsSingleGpuTable(const Table& table) {
  return std::ranges::all_of(
      std::initializer_list<std::string_view>{"id", "source", "model", "gpu", "batch_per_gpu",
                                              "throughput", "unit", "columns_json"},
      [&](std::string_view column) { return table.FindColumn(column).has_value(); });
}

Result<PublishedRun> ReadSingleGpuRun(const Table& table, std::size_t row_number) {
  PublishedRun run;
  RunRow row(table, row_number, run.assumptions);
  run.id = row.Text("id");
  run.source = row.Text("source");
  ORRERY_TRY_STATUS(RefuseOthers(row));
  Job& job = run.job;
  job.name = run.id;
  const SourceCells cells(row.Text("columns_json"));
  ORRERY_TRY(const Pass pass, ReadPrecision(row, job.training.precision));
  ORRERY_TRY_STATUS(ReadModel(row, job));
  ORRERY_TRY_STATUS(ReadFramework(row, job));
  ORRERY_TRY_STATUS(SetMachine(row.Text("gpu"), job));
  ORRERY_TRY(job.gpus, ReadGpus(row, cells));
  job.plan.dp = job.gpus;
  ORRERY_TRY(const Batch batch, ReadBatch(row, cells, pass, job.gpus));
  job.training.micro_batch = batch.of_pass;
  job.training.global_batch = batch.of_step * job.gpus;
  const auto throughput = row.Number("throughput");
  if (!throughput || !(*throughput > 0)) {
    return Fail(Error::Kind::kUnsupported, "the row has no throughput");
  }
  run.measured_s = static_cast<double>(job.training.global_batch) / *throughput;
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
