#include "orrery/workload/job/published_run.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published_model.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;
constexpr std::int64_t kBytesPerGigabyte = 1'000'000'000;
constexpr std::int64_t kUsualAdapterRank = 16;  // MLPerf's and NeMo's
constexpr std::int64_t kUsualMicrobatches = 8;  // of a replica's step, where no batch is stated

// An island that spans nodes is used by as many GPUs as divide the job, so that no group straddles
// two of them: 64 of the 72 of a rack for 256 GPUs.
void FillIsland(Job& job) {
  hardware::Cluster& cluster = job.cluster;
  const int node = cluster.gpus_per_node;
  if (cluster.island.gpus <= node || job.gpus <= cluster.island.gpus) {
    return;
  }
  for (int gpus = cluster.island.gpus / node * node; gpus > node; gpus -= node) {
    if (job.gpus % gpus == 0) {
      cluster.island.gpus = gpus;
      return;
    }
  }
}

Status ReadMachine(RunRow& row, Job& job) {
  const std::string gpu = row.Text("gpu");
  const std::string network = row.Text("inter_node");
  const hardware::Cluster* cluster =
      Mentions(network, "EFA") ? hardware::FindCluster("AWS p5") : nullptr;
  if (Mentions(network, "Omni-Path")) {
    cluster = hardware::FindCluster("Jean Zay V100");
  }
  // Cards of one name may differ in memory: A100, V100.
  const auto memory = row.Integer("gpu_mem_gb");
  ORRERY_TRY_STATUS(SetMachine(memory ? fmt::format("{} {}GB", gpu, *memory) : gpu, job));
  if (memory && *memory > 0) {
    job.gpu.memory_size.count = *memory * kBytesPerGigabyte;
  }
  if (cluster != nullptr) {
    job.cluster = *cluster;
    job.cluster.gpu = job.gpu.name;
    job.cluster.nodes = 0;
  }
  const auto gpus = row.Integer("n_gpus");
  if (!gpus || *gpus < 1) {
    return Unsupported("the number of GPUs is not a number");
  }
  job.gpus = static_cast<int>(*gpus);
  if (const auto per_node = row.Integer("gpus_per_node"); per_node && *per_node > 0) {
    SetNode(static_cast<int>(*per_node), job);
  }
  if (job.gpus > job.cluster.gpus_per_node && AddNetwork(job)) {
    row.Assume("one NIC of 200 Gb/s per node");
  }
  FillIsland(job);
  if (const auto stated = NodeNetworkOf(network, job.cluster.nics.per_node);
      stated && job.cluster.nics.per_node > 0) {
    job.cluster.nics.bandwidth.bytes_per_second =
        stated->bytes_per_second / job.cluster.nics.per_node;
  } else if (job.gpus > job.cluster.gpus_per_node) {
    row.Assume("network of " + job.cluster.name);
  }
  return {};
}

// Where chunks are a matter of the recipe, which the table leaves out, pipelines are interleaved as
// far as a framework usually goes: with the largest divisor of a stage's layers within its limit.
void AssumeChunks(RunRow& row, Job& job) {
  const auto layers = static_cast<int>(row.Integer("layers").value_or(0));
  const int of_stage = layers % job.plan.pp == 0 ? layers / job.plan.pp : 0;
  for (int chunks = std::min(of_stage, job.framework.most_chunks); chunks > 1; --chunks) {
    if (of_stage % chunks == 0) {
      job.plan.schedule = PipelineSchedule::kInterleaved;
      job.plan.chunks = chunks;
      row.Assume(fmt::format("{} virtual stages per GPU", chunks));
      return;
    }
  }
}

void ReadPlan(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  const std::string options = row.Text("options");
  if (Mentions(options, "LoRA") || Mentions(row.Text("model"), "LoRA")) {
    job.training.adapter_rank = kUsualAdapterRank;
    row.Assume(fmt::format("LoRA adapters of rank {} on attention projections", kUsualAdapterRank));
  }
  const std::string sequence = row.Text("seq_parallel");
  plan.sequence_parallel =
      plan.tp > 1 && (sequence.starts_with("yes") || Mentions(sequence, "not stated"));
  if (plan.tp > 1 && Mentions(sequence, "not stated")) {
    row.Assume("sequence parallelism on");
  }
  if (Mentions(row.Text("model"), "tokendrop")) {
    plan.capacity_factor = 1;
    row.Assume("experts with capacity for the mean number of tokens");
  }
  // Megatron shards experts as everything else, unless told otherwise.
  const bool follows =
      Mentions(options, "ETP") ? Mentions(options, "ETP==TP") : job.framework.cuts_experts;
  const int ranks = plan.tp * plan.cp * plan.dp;
  plan.expert_tp = follows && ranks % (plan.ep * plan.tp) == 0 ? plan.tp : 1;
  const std::string chunks = row.Text("vpp");
  if (Mentions(chunks, "DualPipe")) {
    plan.schedule = PipelineSchedule::kDualPipe;
    // Its authors send a token once to each of at most four nodes (DeepSeek-V3, 3.2.2); they keep
    // inputs of SwiGLU in fp8, without its results, and moments in bf16 (3.3.3).
    plan.dispatch = TokenDispatch::kFlex;
    plan.expert_nodes = 4;
    plan.recompute_parts.activations = true;
    job.training.precision.activation_input_bytes = 1;
    job.training.precision.moment_bytes = 2;
  } else if (row.Degree("vpp") > 1 && plan.pp > 1) {
    plan.schedule = PipelineSchedule::kInterleaved;
    plan.chunks = row.Degree("vpp");
  } else if (plan.pp > 1) {
    // A row may leave chunks to a recipe, whatever its table prints, or say that they are unknown.
    const std::string missing = row.Text("missing_or_inferred");
    const bool are_unknown =
        Mentions(missing, "VPP") || Mentions(missing, "virtual") || Mentions(missing, "interleav");
    if (Mentions(missing, "in recipe") || (chunks.empty() && are_unknown)) {
      AssumeChunks(row, job);
    }
  }
}

// Stated chunks that layers do not divide into: the first ones have one layer more.
void CutUnevenly(RunRow& row, Job& job) {
  const Transformer* const model = job.model.transformer();
  const int parts = job.plan.pp * job.plan.chunks;
  if (job.plan.schedule != PipelineSchedule::kInterleaved || model == nullptr ||
      model->num_blocks() < parts || CheckJob(job)) {
    return;
  }
  const auto layers = static_cast<int>(model->num_blocks());
  for (int part = 0; part < parts; ++part) {
    job.plan.layers_per_stage.push_back(layers / parts + (part < layers % parts ? 1 : 0));
  }
  if (CheckJob(job)) {
    row.Assume("the first chunks have one more layer");
  } else {
    job.plan.layers_per_stage.clear();
  }
}

// "selective AC" of FSDP recomputes some whole blocks. A forward pass is a third of a model's
// operations, so the share of blocks is three times what the hardware executes beyond the model's.
void ReadSelectiveBlocks(RunRow& row, Plan& plan) {
  plan.recompute = Recompute::kFull;
  const double model = row.Number("mfu_pct").value_or(0);
  const double hardware = row.Number("hfu_pct").value_or(0);
  if (model > 0 && hardware > 0) {
    plan.recompute_share = std::clamp(3 * (hardware / model - 1), 0.0, 1.0);
    row.Assume(fmt::format("{:.0f} % of the blocks recomputed, as HFU and MFU say",
                           100 * plan.recompute_share));
  } else {
    row.Assume("all blocks recomputed");
  }
}

// False where the row does not say.
bool ReadRecompute(RunRow& row, Plan& plan) {
  const std::string text = row.Text("recompute");
  if (text.starts_with("full")) {
    plan.recompute = Recompute::kFull;
  } else if (text.starts_with("selective AC")) {
    ReadSelectiveBlocks(row, plan);
  } else if (text.starts_with("selective")) {
    plan.recompute = Recompute::kSelective;
  } else if (Mentions(text, " only")) {
    plan.recompute_parts.norms = Mentions(text, "norm");
    plan.recompute_parts.latent_up = Mentions(text, "MLA up");
  } else if (!text.starts_with("none")) {
    row.Assume("no recomputation");
    return false;
  }
  return true;
}

void ReadSharding(RunRow& row, Plan& plan) {
  const std::string text = row.Text("zero_fsdp");
  // Along a pipeline parameters stay whole from one micro-batch to the next.
  const Sharding like_zero2 = plan.pp > 1 ? Sharding::kOptimizer : Sharding::kKeepGathered;
  for (const auto& [words, sharding] : {std::pair("ZeRO-2 like", like_zero2),
                                        {"SHARD_GRAD_OP", Sharding::kKeepGathered},
                                        {"FSDP", Sharding::kParameters},
                                        {"HSDP", Sharding::kParameters},
                                        {"ZeRO-3", Sharding::kParameters},
                                        {"stage2", Sharding::kGradients},
                                        {"ZeRO-1", Sharding::kOptimizer},
                                        {"zero1", Sharding::kOptimizer},
                                        {"distributed optimizer", Sharding::kOptimizer}}) {
    if (Mentions(text, words)) {
      plan.sharding = sharding;
      break;
    }
  }
  static const RE2 kGroup("shard group (\\d{1,9})");
  int ranks = 0;
  if (RE2::PartialMatch(text, kGroup, &ranks)) {
    plan.shard_ranks = std::min(ranks, plan.dp * plan.cp);
  }
}

// "amp_bf16 (mixed_precision DEFAULT)", "fp16 mixed", "FP8", "NVFP4".
void ReadPrecision(RunRow& row, Precision& precision) {
  const std::string text = row.Text("precision");
  precision.compute = Mentions(text, "fp16") ? DataType::kFp16 : DataType::kBf16;
  precision.gemm_type = precision.compute;
  if (Mentions(text, "NVFP4")) {
    precision.gemm_type = DataType::kNvfp4;
  } else if (Mentions(text, "fp8")) {
    precision.gemm_type = DataType::kFp8;
    if (Mentions(text, "per config")) {
      row.Assume("GEMMs in fp8");
    }
  }
  if (Mentions(text, "PURE")) {
    precision.gradient_bytes = 2;
  }
}

Status ReadBatch(RunRow& row, Job& job) {
  Training& training = job.training;
  const double seconds = row.Number("step_time_s").value_or(0);
  auto sequence = row.Integer("seq_len");
  auto global = row.Integer("gbs");
  const auto tokens_per_s = row.Number("tokens_per_s");
  if (!global && sequence && tokens_per_s && seconds > 0) {
    global = std::llround(*tokens_per_s * seconds / static_cast<double>(*sequence));
    row.Assume(fmt::format("global batch {} from tokens per second", *global));
  }
  if (!sequence && global && tokens_per_s && seconds > 0) {
    sequence = std::llround(*tokens_per_s * seconds / static_cast<double>(*global));
    row.Assume(fmt::format("sequence {} from tokens per second", *sequence));
  }
  if (!global && seconds == 0) {
    // Rates do not depend on it much.
    global = row.Integer("mbs").value_or(1) * job.plan.dp * kUsualMicrobatches;
    row.Assume(fmt::format("global batch {}", *global));
  }
  if (!sequence || !global) {
    return Unsupported("the row has no sequence length or no global batch");
  }
  training.sequence = *sequence;
  training.global_batch = *global;
  training.micro_batch = row.Integer("mbs").value_or(1);
  return {};
}

// A framework without a profile is taken for the one that people spread such a job with.
std::string_view NearestFramework(const Plan& plan) {
  if (plan.tp * plan.pp * plan.cp > 1) {
    return "megatron-lm";
  }
  return plan.sharding == Sharding::kParameters || plan.sharding == Sharding::kKeepGathered
             ? "torch-fsdp"
             : "pytorch";
}

void ReadFramework(RunRow& row, Job& job) {
  const std::string name = row.Text("framework") + " " + row.Text("framework_version");
  for (const Framework& framework : Frameworks()) {
    if (hardware::IsCalled(name, framework.match)) {
      job.framework = framework;
      return;
    }
  }
  job.framework = *FindFramework(NearestFramework(job.plan));
  row.Assume(fmt::format("framework as {}", job.framework.name));
}

}  // namespace

std::optional<Bandwidth> NodeNetworkOf(std::string_view text, int links) {
  // The fastest of several networks carries the training: "Storage: 2x …, Compute: 8x … 400Gb/s".
  static const RE2 kSeveral("(\\d{1,9})\\s*x\\s[^,;]*?(\\d{1,9})\\s*G(?:b/s|b/Sec|bps)");
  static const RE2 kOne("(\\d{1,9})\\s*\\(?(G|T)(?:b/s|b/Sec|bps)");
  static const RE2 kOfLink("per GPU|\\b[EHNX]DR\\b");
  constexpr std::size_t kMostLetters = 1'000;
  const std::string whole(text.substr(0, kMostLetters));
  double gigabits = 0;
  std::int64_t count = 0;
  std::int64_t rate = 0;
  for (re2::StringPiece rest(whole); RE2::FindAndConsume(&rest, kSeveral, &count, &rate);) {
    gigabits = std::max(gigabits, static_cast<double>(count) * static_cast<double>(rate));
  }
  std::string unit;
  if (gigabits == 0 && RE2::PartialMatch(whole, kOne, &rate, &unit)) {
    const bool is_of_link = RE2::PartialMatch(whole, kOfLink) && !Mentions(whole, "per node");
    gigabits = static_cast<double>(rate) * (unit == "T" ? 1000 : 1) * (is_of_link ? links : 1);
  }
  return gigabits > 0 ? std::optional(Bandwidth{gigabits * kBytesPerGigabit}) : std::nullopt;
}

bool CutTensorsFurther(Job& job) {
  Plan& plan = job.plan;
  const int wider = 2 * plan.tp;
  if (wider > job.cluster.gpus_per_node || job.gpus % (wider * plan.pp * plan.cp) != 0) {
    return false;
  }
  plan.tp = wider;
  plan.dp = job.gpus / (plan.tp * plan.pp * plan.cp);
  plan.sequence_parallel = true;
  return true;
}

Status CheckPublishedColumns(const Table& table) {
  for (const std::string_view column :
       {"id", "source", "gpu", "n_gpus", "framework", "model", "step_time_s", "completeness"}) {
    if (!table.FindColumn(column)) {
      return Refuse(
          "the table has no column '{}'; a table of published runs has the columns of "
          "docs/formats/published-runs.md",
          column);
    }
  }
  return {};
}

Result<PublishedRun> ReadPublishedRun(const Table& table, std::size_t row_number) {
  PublishedRun run;
  RunRow row(table, row_number, run.assumptions);
  run.id = row.Text("id");
  run.source = row.Text("source");
  run.grade = row.Text("completeness");
  if (!HasMeasurement(row)) {
    return Unsupported("the row has no step time and no throughput to derive one from");
  }
  if (Mentions(row.Text("notes"), "LAYER-LEVEL")) {
    return Unsupported("the row times one layer, not a step");
  }
  run.mfu_percent = row.Number("mfu_pct");
  Job& job = run.job;
  job.name = run.id;
  ORRERY_TRY_STATUS(ReadMachine(row, job));
  Plan& plan = job.plan;
  plan.tp = row.Degree("tp");
  plan.pp = row.Degree("pp");
  plan.cp = row.Degree("cp");
  plan.ep = row.Degree("ep");
  plan.dp = job.gpus / (plan.tp * plan.pp * plan.cp);
  ReadSharding(row, plan);
  ReadFramework(row, job);
  ReadPlan(row, job);
  run.recompute_is_open = !ReadRecompute(row, job.plan);
  ReadPrecision(row, job.training.precision);
  ORRERY_TRY_STATUS(ReadBatch(row, job));
  ORRERY_TRY(job.model, PublishedModel(row, job));
  plan.expert_tp = HasExperts(job.model) ? plan.expert_tp : 1;
  ORRERY_TRY(MeasuredStep measured, MeasuredStepOf(row, job));
  run.measured_s = measured.seconds;
  run.derived_from = std::move(measured.derived_from);
  CutUnevenly(row, job);
  run.micro_batch_is_open = !row.Integer("mbs");
  run.tensor_is_open = row.Text("tp").empty() && row.Text("pp").empty() && job.gpus > 1;
  for (bool goes_on = run.tensor_is_open; goes_on && !CheckJob(job);) {
    goes_on = CutTensorsFurther(job);
  }
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
