#include "orrery/workload/job/published_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>
#include <re2/stringpiece.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/number_list.h"
#include "orrery/base/table.h"
#include "orrery/base/text.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published_model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

constexpr double kBytesPerGigabit = 1e9 / 8;
constexpr std::int64_t kBytesPerGigabyte = 1'000'000'000;
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
  // Cards of one name come with NVLink and without.
  if (cluster == nullptr && row.Text("intra_node").starts_with("PCIe")) {
    UsePcie(job);
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
  if (const auto watts = row.Number("power_w"); watts && *watts > 0) {
    job.gpu.power_watts = *watts;
  }
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

/// A cell of a column with a fixed vocabulary.
template <typename Value>
using Spelling = std::pair<std::string_view, Value>;

/// The value of a cell. Nothing where it is empty; an error where it is not in the vocabulary.
template <typename Value, std::size_t kCount>
Result<std::optional<Value>> ReadWord(const RunRow& row, std::string_view column,
                                      const std::array<Spelling<Value>, kCount>& vocabulary) {
  const std::string text = row.Text(column);
  if (text.empty()) {
    return std::nullopt;
  }
  for (const auto& [word, value] : vocabulary) {
    if (SameIgnoringCase(text, word)) {
      return value;
    }
  }
  return Unsupported("{} '{}' is not known", column, text);
}

constexpr std::array<Spelling<bool>, 2> kYesOrNo{{{"yes", true}, {"no", false}}};

/// Whether GEMMs read fp8 with a scale for each block. The other recipes differ in how scales are
/// found, which the simulator does not tell apart.
constexpr std::array<Spelling<bool>, 7> kBlockScales{{{"delayed", false},
                                                      {"current", false},
                                                      {"tensorwise", false},
                                                      {"rowwise", false},
                                                      {"block", true},
                                                      {"mxfp8", false},
                                                      {"nvfp4", false}}};

/// Whole blocks that are recomputed, a share of them, or parts and operators of all.
enum class RecomputeWord : std::uint8_t { kNone, kSelective, kFull, kBlocks, kOps, kParts };

constexpr std::array<Spelling<RecomputeWord>, 6> kRecomputeWords{
    {{"none", RecomputeWord::kNone},
     {"selective", RecomputeWord::kSelective},
     {"full", RecomputeWord::kFull},
     {"blocks", RecomputeWord::kBlocks},
     {"ops", RecomputeWord::kOps},
     {"parts", RecomputeWord::kParts}}};

constexpr std::array<Spelling<AttentionKernel>, 4> kAttentionWords{
    {{"materialised", AttentionKernel::kMaterialised},
     {"flash1", AttentionKernel::kFlash1},
     {"flash2", AttentionKernel::kFlash2},
     {"cudnn", AttentionKernel::kFlash}}};

constexpr std::array<Spelling<ContextKind>, 4> kContextWords{
    {{"p2p", ContextKind::kRing},
     {"all_gather", ContextKind::kAllGather},
     {"a2a", ContextKind::kUlysses},
     {"a2a+p2p", ContextKind::kUlyssesRing}}};

constexpr std::array<Spelling<TokenDispatch>, 4> kDispatcherWords{
    {{"alltoall", TokenDispatch::kAllToAll},
     {"allgather", TokenDispatch::kAllGather},
     {"deepep", TokenDispatch::kFlex},
     {"hybridep", TokenDispatch::kFlex}}};

/// Types of tensors and of GEMMs.
using Types = std::pair<DataType, DataType>;

constexpr std::array<Spelling<Types>, 6> kNumberFormats{
    {{"bf16", {DataType::kBf16, DataType::kBf16}},
     {"fp16", {DataType::kFp16, DataType::kFp16}},
     {"tf32", {DataType::kFp32, DataType::kTf32}},
     {"fp32", {DataType::kFp32, DataType::kFp32}},
     {"fp8", {DataType::kBf16, DataType::kFp8}},
     {"nvfp4", {DataType::kBf16, DataType::kNvfp4}}}};

/// What an execution means for the launches of a framework.
struct Execution {
  bool is_compiled = false;
  CudaGraphs graphs = CudaGraphs::kOff;
};

constexpr std::array<Spelling<Execution>, 5> kExecutions{
    {{"eager", {}},
     {"compile", {.is_compiled = true}},
     {"xla", {.is_compiled = true}},
     {"cuda_graph: per layer", {.graphs = CudaGraphs::kLayers}},
     {"cuda_graph: whole step", {.graphs = CudaGraphs::kStep}}}};

// "num_layers_in_first_pipeline_stage=15, middle 16, last 14": the first, the last, and the rest
// evenly.
std::optional<std::vector<int>> LayersOfStages(std::string_view text, int stages,
                                               std::int64_t layers) {
  const std::vector<std::int64_t> numbers = NumbersIn<std::int64_t>(text);
  const std::int64_t first = numbers.empty() ? 0 : numbers.front();
  const std::int64_t last = numbers.size() < 3 ? 0 : numbers[2];
  const std::int64_t others = stages - (last > 0 ? 2 : 1);
  const std::int64_t rest = layers - first - last;
  if (first <= 0 || others < 1 || rest < 0 || rest % others != 0) {
    return std::nullopt;
  }
  std::vector<int> of_stage(static_cast<std::size_t>(stages), static_cast<int>(rest / others));
  of_stage.front() = static_cast<int>(first);
  of_stage.back() = last > 0 ? static_cast<int>(last) : of_stage.back();
  return of_stage;
}

Status ReadStageLayers(const RunRow& row, Plan& plan) {
  const std::string text = row.Text("stage_layers");
  constexpr std::string_view kLayout = "layout ";
  std::optional<std::vector<int>> layers;
  if (text.empty() || plan.pp == 1) {
    return {};
  }
  if (text == "embedding and loss count as layers" || text == "first and last one fewer") {
    plan.counts_embedding = true;
    plan.counts_loss = true;
    return {};
  }
  if (text.starts_with(kLayout)) {
    layers = LayersOfLayout(std::string_view(text).substr(kLayout.size()));
  } else if (text.starts_with("num_layers_in_first_pipeline_stage=")) {
    layers = LayersOfStages(text, plan.pp, row.Integer("layers").value_or(0));
  }
  if (!layers) {
    return Unsupported("stage_layers '{}' is not understood", text);
  }
  // A layout that has several chunks for each stage says so.
  const int chunks = static_cast<int>(layers->size()) / plan.pp;
  if (chunks > 1 && layers->size() % static_cast<std::size_t>(plan.pp) == 0) {
    plan.chunks = chunks;
    plan.schedule = PipelineSchedule::kInterleaved;
  }
  plan.layers_per_stage = *std::move(layers);
  return {};
}

// Where chunks are not told, pipelines are interleaved as far as a framework usually goes: with the
// largest divisor of a stage's layers within its limit.
int UsualChunks(const RunRow& row, const Job& job) {
  const auto layers = static_cast<int>(row.Integer("layers").value_or(0));
  const int of_stage = layers % job.plan.pp == 0 ? layers / job.plan.pp : 0;
  int chunks = std::max(1, std::min(of_stage, job.framework.most_chunks));
  while (chunks > 1 && of_stage % chunks != 0) {
    --chunks;
  }
  return chunks;
}

Status ReadPipeline(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  if (plan.pp == 1) {
    return {};
  }
  ORRERY_TRY(const auto schedule, ReadWord(row, "schedule", kScheduleNames));
  plan.chunks = row.Degree("chunks");
  const bool may_interleave =
      schedule.value_or(PipelineSchedule::kInterleaved) == PipelineSchedule::kInterleaved;
  if (row.Text("chunks").empty() && may_interleave) {
    plan.chunks = UsualChunks(row, job);
    row.Assume(plan.chunks > 1 ? fmt::format("{} virtual stages per GPU", plan.chunks)
                               : "schedule 1F1B");
  }
  plan.schedule = schedule.value_or(PipelineSchedule::k1f1b);
  // Chunks are those of an interleaved 1F1B.
  if (plan.chunks > 1 && plan.schedule == PipelineSchedule::k1f1b) {
    plan.schedule = PipelineSchedule::kInterleaved;
  }
  ORRERY_TRY_STATUS(ReadStageLayers(row, plan));
  if (plan.schedule == PipelineSchedule::kInterleaved && plan.chunks == 1) {
    return Unsupported("the schedule is interleaved, and the number of chunks is not stated");
  }
  return {};
}

Status ReadExperts(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  // Megatron shards experts as everything else, unless told otherwise.
  const int ranks = plan.tp * plan.cp * plan.dp;
  const bool follows = job.framework.cuts_experts && ranks % (plan.ep * plan.tp) == 0;
  plan.expert_tp = row.Integer("etp") ? row.Degree("etp") : follows ? plan.tp : 1;
  ORRERY_TRY(const auto dispatch, ReadWord(row, "dispatcher", kDispatcherWords));
  plan.dispatch = dispatch.value_or(job.framework.dispatch);
  plan.expert_nodes = job.framework.expert_nodes;
  const std::string capacity = row.Text("capacity");
  constexpr std::string_view kFactor = "capacity factor";
  if (capacity.starts_with(kFactor)) {
    const std::vector<double> numbers = NumbersIn<double>(capacity);
    plan.capacity_factor = numbers.empty() ? 1 : numbers.front();
  }
  return {};
}

Status ReadPlan(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  job.training.adapter_rank = row.Integer("adapter_rank").value_or(0);
  if (job.training.adapter_rank > 0) {
    row.Assume("LoRA adapters on attention projections");
  }
  const std::string sequence = row.Text("seq_parallel");
  const bool is_open = sequence.empty() || sequence.starts_with("not stated");
  plan.sequence_parallel = plan.tp > 1 && (is_open || sequence.starts_with("yes"));
  if (plan.tp > 1 && is_open) {
    row.Assume("sequence parallelism on");
  }
  const std::string context = row.Text("cp_kind");
  for (const auto& [word, kind] : kContextWords) {
    // "p2p (TE default ring)"
    plan.context = context.starts_with(word) ? kind : plan.context;
  }
  ORRERY_TRY_STATUS(ReadPipeline(row, job));
  return ReadExperts(row, job);
}

// What a run says of its own execution goes before what its framework usually does.
Status ReadExecution(RunRow& row, Framework& framework) {
  if (row.Text("attention") == "flash") {
    // Of which version is not told: that of the framework, where it has one.
    const bool has_one = framework.attention != AttentionKernel::kMaterialised;
    framework.attention = has_one ? framework.attention : AttentionKernel::kFlash2;
  } else {
    ORRERY_TRY(const auto attention, ReadWord(row, "attention", kAttentionWords));
    framework.attention = attention.value_or(framework.attention);
  }
  ORRERY_TRY(const auto execution, ReadWord(row, "execution", kExecutions));
  if (execution) {
    framework.is_compiled = execution->is_compiled;
    framework.graphs = execution->graphs;
  }
  ORRERY_TRY(const auto is_blocking, ReadWord(row, "launch_blocking", kYesOrNo));
  framework.launch_blocking = is_blocking.value_or(framework.launch_blocking);
  ORRERY_TRY(const auto is_grouped, ReadWord(row, "grouped_gemm", kYesOrNo));
  if (!is_grouped.value_or(true)) {
    framework.launches_each_expert = true;
  }
  ORRERY_TRY(const auto tensor, ReadWord(row, "tp_overlap", kYesOrNo));
  if (tensor) {
    framework.tensor_overlap = *tensor ? framework.tensor_overlap_on : framework.tensor_overlap_off;
  }
  ORRERY_TRY(const auto gradients, ReadWord(row, "grad_overlap", kYesOrNo));
  if (gradients) {
    framework.data_overlap = *gradients ? DataOverlap::kBuckets : DataOverlap::kAfterBackward;
  }
  ORRERY_TRY(const auto parameters, ReadWord(row, "param_overlap", kYesOrNo));
  framework.gathers_in_forward = parameters.value_or(framework.gathers_in_forward);
  ORRERY_TRY(const auto messages, ReadWord(row, "p2p_overlap", kYesOrNo));
  framework.overlaps_pipeline_sends = messages.value_or(framework.overlaps_pipeline_sends);
  return {};
}

// Some whole blocks. A forward pass is a third of a model's operations, so the share of blocks is
// three times what the hardware executes beyond the model's.
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

// Modules that the text names, as Megatron does ("[mla_up_proj, mlp]") or in words. False where
// there are none.
bool ReadParts(std::string_view text, Plan& plan) {
  struct PartWords {
    bool RecomputedParts::* member;
    std::array<std::string_view, 3> words;
  };

  static constexpr std::array<PartWords, 5> kParts{
      {{&RecomputedParts::norms, {"layernorm", "norm", "elementwise"}},
       {&RecomputedParts::latent_up, {"mla_up_proj", "MLA up", "mla_up"}},
       {&RecomputedParts::activations, {"moe_act", "activation", "elementwise"}},
       {&RecomputedParts::experts, {"moe,", "moe]", "experts"}},
       {&RecomputedParts::mlp, {"mlp,", "mlp]", "MLP"}}}};
  bool has_any = false;
  for (const PartWords& part : kParts) {
    const bool is_named = std::ranges::any_of(
        part.words, [&](std::string_view word) { return Mentions(text, word); });
    plan.recompute_parts.*part.member = is_named;
    has_any = has_any || is_named;
  }
  const bool has_core = Contains(text, "core_attn") || Contains(text, "attention core");
  plan.recompute = has_core ? Recompute::kSelective : Recompute::kNothing;
  return has_any || has_core;
}

// False where the row does not say.
Result<bool> ReadRecompute(RunRow& row, Plan& plan) {
  ORRERY_TRY(const auto word, ReadWord(row, "recompute_kind", kRecomputeWords));
  const std::string text = row.Text("recompute");
  if (!word) {
    row.Assume("no recomputation");
    return false;
  }
  switch (*word) {
    case RecomputeWord::kNone:
      break;
    case RecomputeWord::kSelective:
      plan.recompute = Recompute::kSelective;
      if (Contains(text, "[")) {
        ReadParts(text, plan);
      }
      break;
    case RecomputeWord::kFull:
      plan.recompute = Recompute::kFull;
      break;
    case RecomputeWord::kBlocks:
      ReadSelectiveBlocks(row, plan);
      break;
    case RecomputeWord::kOps:
      plan.recompute = Recompute::kOperators;
      break;
    case RecomputeWord::kParts:
      if (!ReadParts(text, plan)) {
        plan.recompute = Recompute::kFull;
        row.Assume("whole blocks recomputed, since no part is named");
      }
      break;
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
  // "FSDP (shard group 64)", "FSDP2 over 8 ranks", "FSDP 256"
  static const RE2 kGroup("(?:shard group|over|FSDP) (\\d{1,9})");
  int ranks = 0;
  if (RE2::PartialMatch(text, kGroup, &ranks)) {
    plan.shard_ranks = std::min(ranks, plan.dp * plan.cp);
  }
}

Status ReadPrecision(RunRow& row, Precision& precision) {
  ORRERY_TRY(const auto types, ReadWord(row, "number_format", kNumberFormats));
  if (!types) {
    row.Assume("bf16");
  }
  std::tie(precision.compute, precision.gemm_type) = types.value_or(kNumberFormats.front().second);
  ORRERY_TRY(const auto has_blocks, ReadWord(row, "fp8_recipe", kBlockScales));
  if (has_blocks.value_or(false) && precision.gemm_type == DataType::kFp8) {
    precision.gemm_type = DataType::kFp8Block;
  }
  const bool is_half = precision.compute != DataType::kFp32;
  precision.has_master = is_half;
  precision.gathered_bytes = is_half ? 2 : 4;
  // Composer's: gradients are reduced in the type of activations.
  precision.gradient_bytes = Mentions(row.Text("precision"), "PURE") ? 2 : precision.gradient_bytes;
  return {};
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

void ReadFramework(RunRow& row, Job& job) {
  const Framework* const framework = FindFramework(row.Text("framework"), row.Text("release"));
  job.framework = framework != nullptr ? *framework : UnknownFramework();
  if (framework == nullptr) {
    row.Assume(fmt::format("'{}' has no profile: what most frameworks do, nothing fitted",
                           row.Text("framework")));
  }
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
  run.team = row.Text("team");
  run.release = row.Text("release");
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
  ORRERY_TRY_STATUS(ReadExecution(row, job.framework));
  ORRERY_TRY_STATUS(ReadPlan(row, job));
  ORRERY_TRY(const bool says_recompute, ReadRecompute(row, job.plan));
  run.recompute_is_open = !says_recompute;
  ORRERY_TRY_STATUS(ReadPrecision(row, job.training.precision));
  ORRERY_TRY_STATUS(ReadBatch(row, job));
  ORRERY_TRY(job.model, PublishedModel(row, job));
  plan.expert_tp = HasExperts(job.model) ? plan.expert_tp : 1;
  ORRERY_TRY(MeasuredStep measured, MeasuredStepOf(row, job));
  run.measured_s = measured.seconds;
  run.derived_from = std::move(measured.derived_from);
  run.micro_batch_is_open = !row.Integer("mbs");
  run.tensor_is_open = row.Text("tp").empty() && row.Text("pp").empty() && job.gpus > 1;
  for (bool goes_on = run.tensor_is_open; goes_on && !CheckJob(job);) {
    goes_on = CutTensorsFurther(job);
  }
  ORRERY_TRY_STATUS(CheckJob(job));
  return run;
}

}  // namespace orrery::workload
