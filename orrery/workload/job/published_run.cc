#include "orrery/workload/job/published_run.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <regex>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/ascii_case.h"
#include "orrery/workload/job/published_model.h"

namespace orrery::workload {
namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;

// Reads the cells of one row and notes what had to be assumed.
class RowReader {
 public:
  RowReader(const Table& table, std::size_t row, PublishedRun& run)
      : table_(table), row_(row), run_(run) {}

  [[nodiscard]] std::string Text(std::string_view column) const {
    if (const auto text = table_.Text(row_, column)) {
      return std::string(*text);
    }
    if (const auto number = table_.Integer(row_, column)) {
      return std::to_string(*number);
    }
    const auto number = table_.Number(row_, column);
    return number ? fmt::format("{:g}", *number) : std::string();
  }

  [[nodiscard]] std::optional<double> Number(std::string_view column) const {
    return table_.NumberInText(row_, column);
  }

  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view column) const {
    const auto number = Number(column);
    return number ? std::optional(std::llround(*number)) : std::nullopt;
  }

  [[nodiscard]] int Degree(std::string_view column) const {
    return static_cast<int>(std::max<std::int64_t>(1, Integer(column).value_or(1)));
  }

  void Assume(std::string text) { run_.assumptions.push_back(std::move(text)); }

 private:
  const Table& table_;
  std::size_t row_;
  PublishedRun& run_;
};

bool Contains(std::string_view text, std::string_view word) {
  return LowerCase(text).find(LowerCase(word)) != std::string::npos;
}

Status ReadMachine(RowReader& row, Job& job) {
  const std::string gpu = row.Text("gpu");
  const std::string network = row.Text("inter_node");
  const hardware::Cluster* cluster =
      Contains(network, "EFA") ? hardware::FindCluster("AWS p5") : nullptr;
  if (Contains(network, "Omni-Path")) {
    cluster = hardware::FindCluster("Jean Zay V100");
  }
  cluster = cluster != nullptr ? cluster : hardware::FindCluster(gpu);
  const hardware::Gpu* device = hardware::FindGpu(gpu);
  if (cluster == nullptr || device == nullptr) {
    return Fail(Error::Kind::kUnsupported, fmt::format("no cluster of '{}' is known", gpu));
  }
  job.cluster = *cluster;
  job.gpu = *device;
  job.cluster.gpu = device->name;
  job.cluster.nodes = 0;
  const auto gpus = row.Integer("n_gpus");
  if (!gpus || *gpus < 1) {
    return Fail(Error::Kind::kUnsupported, "the number of GPUs is not a number");
  }
  job.gpus = static_cast<int>(*gpus);
  if (const auto per_node = row.Integer("gpus_per_node"); per_node && *per_node > 0) {
    job.cluster.gpus_per_node = static_cast<int>(*per_node);
  }
  if (const auto stated = NodeNetworkOf(network); stated && job.cluster.nics.per_node > 0) {
    job.cluster.nics.bandwidth.bytes_per_second =
        stated->bytes_per_second / job.cluster.nics.per_node;
  } else if (job.gpus > job.cluster.gpus_per_node) {
    row.Assume("network of " + job.cluster.name);
  }
  return {};
}

// Where chunks are a matter of the recipe, which the table leaves out, pipelines are interleaved as
// far as a framework usually goes: with the largest divisor of a stage's layers within its limit.
void AssumeChunks(RowReader& row, Job& job) {
  const auto layers = static_cast<int>(row.Integer("layers").value_or(0));
  const int of_stage = layers % job.plan.pp == 0 ? layers / job.plan.pp : 0;
  for (int chunks = std::min(of_stage, job.framework.most_chunks); chunks > 1; --chunks) {
    if (of_stage % chunks == 0) {
      job.plan.schedule = PipelineSchedule::kInterleaved;
      job.plan.chunks = chunks;
      row.Assume(fmt::format("{} chunks of a device", chunks));
      return;
    }
  }
}

// Megatron cuts experts as it cuts everything else, unless told otherwise.
void ReadExpertTensor(RowReader& row, Job& job) {
  Plan& plan = job.plan;
  const std::string options = row.Text("options");
  const bool is_told = Contains(options, "ETP");
  const bool follows = is_told ? Contains(options, "ETP==TP") : job.framework.cuts_experts;
  const int ranks = plan.tp * plan.cp * plan.dp;
  plan.expert_tp = follows && ranks % (plan.ep * plan.tp) == 0 ? plan.tp : 1;
}

Status ReadPlan(RowReader& row, Job& job) {
  Plan& plan = job.plan;
  plan.tp = row.Degree("tp");
  plan.pp = row.Degree("pp");
  plan.cp = row.Degree("cp");
  plan.ep = row.Degree("ep");
  plan.dp = job.gpus / (plan.tp * plan.pp * plan.cp);
  const std::string options = row.Text("options");
  if (Contains(options, "LoRA") || Contains(row.Text("model"), "LoRA")) {
    return Fail(Error::Kind::kUnsupported, "fine-tuning with LoRA is not modelled");
  }
  const std::string sequence = row.Text("seq_parallel");
  plan.sequence_parallel = plan.tp > 1 && (sequence.starts_with("yes") || Contains(sequence, "not stated"));
  if (plan.tp > 1 && Contains(sequence, "not stated")) {
    row.Assume("sequence parallelism on");
  }
  ReadExpertTensor(row, job);
  const std::string chunks = row.Text("vpp");
  if (Contains(chunks, "DualPipe")) {
    plan.schedule = PipelineSchedule::kDualPipe;
  } else if (row.Degree("vpp") > 1 && plan.pp > 1) {
    plan.schedule = PipelineSchedule::kInterleaved;
    plan.chunks = row.Degree("vpp");
  } else if (plan.pp > 1 && Contains(row.Text("missing_or_inferred"), "in recipe")) {
    AssumeChunks(row, job);
  }
  return {};
}

void ReadRecompute(RowReader& row, Plan& plan) {
  const std::string text = row.Text("recompute");
  if (text.starts_with("full")) {
    plan.recompute = Recompute::kFull;
  } else if (text.starts_with("selective")) {
    plan.recompute = Recompute::kSelective;
  } else if (!text.starts_with("none")) {
    row.Assume("no recomputation");
  }
}

void ReadSharding(RowReader& row, Plan& plan) {
  const std::string text = row.Text("zero_fsdp");
  if (Contains(text, "SHARD_GRAD_OP") || Contains(text, "ZeRO-2 like")) {
    plan.sharding = Sharding::kKeepGathered;
  } else if (Contains(text, "FSDP") || Contains(text, "HSDP") || Contains(text, "ZeRO-3")) {
    plan.sharding = Sharding::kParameters;
  } else if (Contains(text, "stage2")) {
    plan.sharding = Sharding::kGradients;
  } else if (Contains(text, "ZeRO-1") || Contains(text, "zero1") ||
             Contains(text, "distributed optimizer")) {
    plan.sharding = Sharding::kOptimizer;
  }
  static const std::regex kGroup("shard group (\\d+)");
  std::smatch match;
  if (std::regex_search(text, match, kGroup)) {
    plan.shard_ranks = std::min(std::stoi(match[1]), plan.dp * plan.cp);
  }
}

// "amp_bf16 (mixed_precision DEFAULT)", "fp16 mixed", "FP8", "NVFP4".
void ReadPrecision(RowReader& row, Precision& precision) {
  const std::string text = row.Text("precision");
  precision.compute =
      Contains(text, "fp16") ? kernel::DataType::kFp16 : kernel::DataType::kBf16;
  precision.products = precision.compute;
  if (Contains(text, "NVFP4")) {
    precision.products = kernel::DataType::kNvfp4;
  } else if (Contains(text, "fp8") && !Contains(text, "BF16 per config")) {
    precision.products = kernel::DataType::kFp8;
  }
  if (Contains(text, "PURE")) {
    precision.gradient_bytes = 2;
  }
}

Status ReadBatch(RowReader& row, const PublishedRun& run, Job& job) {
  Training& training = job.training;
  auto sequence = row.Integer("seq_len");
  auto global = row.Integer("gbs");
  const auto tokens_per_s = row.Number("tokens_per_s");
  if (!global && sequence && tokens_per_s) {
    global = std::llround(*tokens_per_s * run.measured_s / static_cast<double>(*sequence));
    row.Assume(fmt::format("global batch {} from tokens a second", *global));
  }
  if (!sequence && global && tokens_per_s) {
    sequence = std::llround(*tokens_per_s * run.measured_s / static_cast<double>(*global));
    row.Assume(fmt::format("sequence {} from tokens a second", *sequence));
  }
  if (!sequence || !global) {
    return Fail(Error::Kind::kUnsupported, "the row has no sequence length or no global batch");
  }
  training.sequence = *sequence;
  training.global_batch = *global;
  if (!row.Integer("mbs")) {
    row.Assume("micro-batch 1");
  }
  training.micro_batch = row.Integer("mbs").value_or(1);
  return {};
}

Status ReadFramework(RowReader& row, Job& job) {
  const std::string name = row.Text("framework") + " " + row.Text("framework_version");
  for (const Framework& framework : Frameworks()) {
    if (hardware::IsCalled(name, framework.match)) {
      job.framework = framework;
      return {};
    }
  }
  return Fail(Error::Kind::kUnsupported, fmt::format("no profile of the framework '{}'", name));
}

}  // namespace

std::optional<Bandwidth> NodeNetworkOf(std::string_view text) {
  // The fastest of several networks carries the training: "Storage: 2x …, Compute: 8x … 400Gb/s".
  static const std::regex kSeveral("(\\d+)\\s*x\\s[^,;]*?(\\d+)\\s*G(?:b/s|b/Sec|bps)");
  static const std::regex kOne("(\\d+)\\s*\\(?G(?:b/s|b/Sec|bps)");
  const std::string whole(text);
  double gigabits = 0;
  for (std::sregex_iterator match(whole.begin(), whole.end(), kSeveral), end; match != end; ++match) {
    gigabits = std::max(gigabits, std::stod((*match)[1]) * std::stod((*match)[2]));
  }
  std::smatch match;
  if (gigabits == 0 && std::regex_search(whole, match, kOne)) {
    gigabits = std::stod(match[1]);
  }
  return gigabits > 0 ? std::optional(Bandwidth{gigabits * kBytesPerGigabit}) : std::nullopt;
}

Status CheckPublishedColumns(const Table& table) {
  for (const std::string_view column :
       {"id", "source", "gpu", "n_gpus", "framework", "model", "step_time_s", "completeness"}) {
    if (!table.FindColumn(column)) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the table has no column '{}'; a table of published runs has the "
                              "columns of docs/formats/published-runs.md",
                              column));
    }
  }
  return {};
}

Result<PublishedRun> ReadPublishedRun(const Table& table, std::size_t row_number) {
  PublishedRun run;
  RowReader row(table, row_number, run);
  run.id = row.Text("id");
  run.source = row.Text("source");
  run.grade = row.Text("completeness");
  const auto seconds = row.Number("step_time_s");
  if (!seconds || !(*seconds > 0)) {
    return Fail(Error::Kind::kUnsupported, "the row has no step time");
  }
  if (Contains(row.Text("notes"), "LAYER-LEVEL")) {
    return Fail(Error::Kind::kUnsupported, "the row times one layer, not a step");
  }
  run.measured_s = *seconds;
  Job& job = run.job;
  job.name = run.id;
  ORRERY_TRY_STATUS(ReadMachine(row, job));
  ORRERY_TRY_STATUS(ReadFramework(row, job));
  ORRERY_TRY_STATUS(ReadPlan(row, job));
  ReadRecompute(row, job.plan);
  ReadSharding(row, job.plan);
  ReadPrecision(row, job.training.precision);
  ORRERY_TRY_STATUS(ReadBatch(row, run, job));
  ORRERY_TRY(job.model, PublishedModel(table, row_number, job, run.assumptions));
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
