#include "orrery/workload/job/job.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

std::optional<int> ReadRank(std::string_view text) {
  const std::optional<int> rank = ParseWhole<int>(text);
  return rank && *rank >= 0 ? rank : std::nullopt;
}

Result<OtherGpus> ReadRanks(std::string_view text) {
  const std::size_t dash = text.find('-');
  const std::optional<int> first = ReadRank(text.substr(0, dash));
  const std::optional<int> last =
      dash == std::string_view::npos ? first : ReadRank(text.substr(dash + 1));
  if (!first || !last || *last < *first) {
    return Refuse("gpu_of '{}' names no ranks: write 8-15, or 8 for one", text);
  }
  return OtherGpus{.first = *first, .last = *last, .gpu = {}};
}

constexpr int kLargestDegree = 1'000'000;
constexpr std::int64_t kLargestSize = 1'000'000'000;
constexpr std::int64_t kMostMicrobatches = 1'000'000;
constexpr std::int64_t kMostExperts = 100'000;

// Elements of activations in a step that 64-bit byte counts can still express.
constexpr double kMostElements = 1e17;

// Numbers of a plan are in the range of their keys, whoever made it.
Status CheckRanges(const Plan& plan) {
  for (const JobKey& key : JobKeys()) {
    const double value = key.value == nullptr ? key.least : key.value(plan);
    if (value >= key.least && value <= std::min<double>(key.most, kLargestDegree)) {
      continue;
    }
    return key.most < kLargestDegree
               ? Refuse("{} is {}: give {} to {}", key.path, value, key.least, key.most)
               : Refuse("{} is {}: give {} or more, up to {}", key.path, value, key.least,
                        kLargestDegree);
  }
  return {};
}

Status CheckGpus(const Job& job) {
  const Plan& plan = job.plan;
  if (job.gpus < 1 || job.gpus > kLargestDegree) {
    return Refuse("gpus is {}: give 1 or more, up to {}", job.gpus, kLargestDegree);
  }
  const std::int64_t model = std::int64_t{plan.tp} * plan.pp * plan.cp;
  if (job.gpus % model != 0) {
    return Refuse(
        "plan.tp {} · plan.pp {} · plan.cp {} = {} does not divide gpus {}: change one of them",
        plan.tp, plan.pp, plan.cp, model, job.gpus);
  }
  if (model * plan.dp != job.gpus) {
    return Refuse(
        "plan.tp {} · plan.pp {} · plan.cp {} · plan.dp {} is not gpus {}: set plan.dp to {}",
        plan.tp, plan.pp, plan.cp, plan.dp, job.gpus, job.gpus / model);
  }
  return {};
}

Status CheckCluster(const Job& job) {
  const hardware::Cluster& cluster = job.cluster;
  const std::int64_t most = std::int64_t{cluster.nodes} * cluster.gpus_per_node;
  if (most > 0 && job.gpus > most) {
    return Refuse(
        "gpus {} is more than the {} of {}: take fewer, another cluster, or set cluster.nodes to 0 "
        "for any number",
        job.gpus, most, cluster.name);
  }
  if (job.gpus > cluster.gpus_per_node && cluster.nics.kind == hardware::NetworkKind::kNone) {
    return Refuse(
        "gpus {} is more than the {} of a node, and {} has no network: take fewer or another "
        "cluster",
        job.gpus, cluster.gpus_per_node, cluster.name);
  }
  return {};
}

// Experts have no adapters, and frozen ones are not gathered.
Status CheckAdapters(const Job& job) {
  const Training& training = job.training;
  const std::int64_t rank = training.adapter_rank;
  if (rank < 0 || rank > kLargestSize) {
    return Refuse("training.adapter_rank is {}: give 0 for none, or the rank", rank);
  }
  if (rank > 0 && job.model.transformer() == nullptr) {
    return Refuse("training.adapter_rank is for transformers: set it to 0");
  }
  if (rank > 0 && HasExperts(job.model) &&
      (ShardsParameters(job.plan) || training.adapter_targets == AdapterTargets::kLinear)) {
    return Refuse(
        "training.adapter_rank with experts is for attention and whole parameters: set "
        "training.adapter_targets to attention and plan.sharding to none, zero1 or zero2");
  }
  if (training.base_format != BaseFormat::kSame && (rank == 0 || HasExperts(job.model))) {
    return Refuse(
        "training.base_format is for frozen matrices beside adapters, without experts: set "
        "training.adapter_rank, or base_format to same");
  }
  return {};
}

// A prefix of the model without a backward pass.
Status CheckFrozenBlocks(const Job& job) {
  const std::int64_t frozen = job.training.frozen_blocks;
  const Transformer* const model = job.model.transformer();
  if (frozen == 0) {
    return {};
  }
  if (model == nullptr || frozen < 0 || frozen >= model->num_blocks()) {
    return Refuse("training.frozen_blocks is {}: give less than the blocks of a transformer",
                  frozen);
  }
  if (job.plan.pp > 1) {
    return Refuse("training.frozen_blocks needs a model without a pipeline: set plan.pp to 1");
  }
  if (model->is_tied && job.training.adapter_rank == 0) {
    return Refuse(
        "training.frozen_blocks freezes the embedding, which is the head of this model too: set "
        "it to 0, or take a model with a head of its own");
  }
  return {};
}

Status CheckBatch(const Job& job) {
  const Training& training = job.training;
  if (training.micro_batch < 1 || training.global_batch < 1) {
    return Refuse("training.{} must be at least 1",
                  training.micro_batch < 1 ? "micro_batch" : "global_batch");
  }
  if (std::max({training.micro_batch, training.global_batch, training.sequence}) > kLargestSize) {
    return Refuse("training has a size beyond {}: lower it", kLargestSize);
  }
  const std::int64_t pass = training.micro_batch * job.plan.dp;
  if (training.global_batch % pass != 0) {
    return Refuse(
        "training.global_batch {} does not divide by training.micro_batch {} · plan.dp {}: take a "
        "multiple of {}",
        training.global_batch, training.micro_batch, job.plan.dp, pass);
  }
  if (job.microbatches() > kMostMicrobatches) {
    return Refuse(
        "training.global_batch {} makes {} micro-batches: lower it or raise training.micro_batch",
        training.global_batch, job.microbatches());
  }
  return {};
}

Status CheckDivides(std::string_view what, std::int64_t size, std::string_view key, int degree) {
  if (size % degree == 0) {
    return {};
  }
  return Refuse("{} {} does not divide by {} {}: set {} to a divisor of {}", what, size, key,
                degree, key, size);
}

Status CheckAttention(const Attention& attention, const Plan& plan) {
  ORRERY_TRY_STATUS(CheckDivides("model.heads", attention.heads, "plan.tp", plan.tp));
  if (attention.kv_heads % plan.tp != 0 && plan.tp % attention.kv_heads != 0) {
    return Refuse("model.kv_heads {} and plan.tp {} do not divide each other: change plan.tp",
                  attention.kv_heads, plan.tp);
  }
  if (plan.context == ContextKind::kUlyssesRing) {
    ORRERY_TRY_STATUS(CheckDivides("model.heads over plan.tp", attention.heads / plan.tp,
                                   "plan.ulysses_ranks", plan.ulysses_ranks));
  }
  if (plan.context == ContextKind::kUlysses &&
      attention.heads % (std::int64_t{plan.tp} * plan.cp) != 0) {
    return Refuse(
        "model.heads {} does not divide by plan.tp {} · plan.cp {}, as plan.context ulysses needs: "
        "lower plan.cp or take ring",
        attention.heads, plan.tp, plan.cp);
  }
  return {};
}

Status CheckExperts(const Experts& experts, const Plan& plan) {
  if (experts.count > kMostExperts) {
    return Refuse("model.experts is {}: give up to {}", experts.count, kMostExperts);
  }
  ORRERY_TRY_STATUS(CheckDivides("model.experts", experts.count, "plan.ep", plan.ep));
  ORRERY_TRY_STATUS(CheckDivides("the width of an expert", experts.expert.width, "plan.expert_tp",
                                 plan.expert_tp));
  const std::int64_t ranks = std::int64_t{plan.dp} * plan.cp * plan.tp;
  const std::int64_t group = std::int64_t{plan.ep} * plan.expert_tp;
  if (ranks % group != 0) {
    return Refuse(
        "plan.ep {} · plan.expert_tp {} does not divide the {} ranks of plan.dp · plan.cp · "
        "plan.tp: take a divisor",
        plan.ep, plan.expert_tp, ranks);
  }
  return {};
}

Status CheckBlock(const Block& block, const Plan& plan) {
  ORRERY_TRY_STATUS(CheckAttention(block.self, plan));
  if (const Experts* const experts = block.experts()) {
    return CheckExperts(*experts, plan);
  }
  return CheckDivides("the width model.ffn", block.feed_forward()->width, "plan.tp", plan.tp);
}

Status CheckSequence(const Job& job) {
  const std::int64_t sequence = job.training.sequence;
  const Plan& plan = job.plan;
  if (sequence < 1) {
    return Refuse("training.sequence is missing: give the tokens of a sample");
  }
  if (sequence % plan.cp != 0) {
    return Refuse("training.sequence {} does not divide by plan.cp {}: change one", sequence,
                  plan.cp);
  }
  if (plan.sequence_parallel && sequence / plan.cp % plan.tp != 0) {
    return Refuse(
        "training.sequence {} over plan.cp {} does not divide by plan.tp {}, as "
        "plan.sequence_parallel needs: change one",
        sequence, plan.cp, plan.tp);
  }
  return {};
}

// Interleaved chunks must be alike; where layers do not divide, the ends and extra predictions may
// count as one each.
Status CheckInterleaved(const Job& job, const Transformer& model) {
  const std::int64_t layers = model.num_blocks();
  const std::int64_t with_ends = layers + model.extra_predictions + 2;
  const std::int64_t parts = std::int64_t{job.plan.pp} * job.plan.chunks;
  if (job.plan.schedule != PipelineSchedule::kInterleaved || !job.plan.layers_per_stage.empty() ||
      job.framework.splits_layers_by_work || layers % parts == 0 || with_ends % parts == 0) {
    return {};
  }
  return Refuse(
      "model.layers {} does not divide by plan.pp {} · plan.chunks {}, as plan.schedule "
      "interleaved needs: change plan.chunks or give plan.layers_per_stage",
      layers, job.plan.pp, job.plan.chunks);
}

Status CheckPipeline(const Job& job, const Transformer& model) {
  ORRERY_TRY_STATUS(CheckInterleaved(job, model));
  const PipelineShape shape = ShapeOf(job.plan, static_cast<int>(job.microbatches()));
  ORRERY_TRY_STATUS(CheckShape(shape));
  const auto parts = CutLayers(LayerCutOf(model, job.plan, job.framework, shape));
  return parts ? Status() : tl::unexpected(parts.error());
}

// Elements that the widest tensor of a block has for a token, but for attention scores.
double WidthOf(const Block& block, const Transformer& model, const Plan& plan) {
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  const Attention& attention = block.self;
  const double heads =
      real(attention.heads) * (real(attention.head_size) + real(attention.value_head_size));
  const Experts* const experts = block.experts();
  const double mlp = experts == nullptr ? real(block.feed_forward()->width)
                                        : real(experts->per_token) * real(experts->expert.width) *
                                              std::max(plan.capacity_factor, plan.token_imbalance);
  return std::max({real(model.hidden), real(model.vocabulary), heads, mlp});
}

// Sums of bytes must fit 64 bits: all activations of a step, and the attention scores of a layer.
Status CheckActivations(const Job& job, const Transformer& model) {
  const auto sequence = static_cast<double>(job.training.sequence);
  const double tokens = sequence * static_cast<double>(job.training.micro_batch);
  const auto passes = static_cast<double>(job.microbatches() * model.num_blocks());
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (const BlockRun& run : *stack) {
      const double scores = tokens * sequence * static_cast<double>(run.block.self.heads);
      const double elements = tokens * passes * WidthOf(run.block, model, job.plan);
      if (std::max(scores, elements) > kMostElements) {
        return Refuse(
            "training.global_batch {} of training.sequence {} makes {:.0e} elements of "
            "activations, and {:.0e} is the limit: lower one of them",
            job.training.global_batch, job.training.sequence, std::max(scores, elements),
            kMostElements);
      }
    }
  }
  return {};
}

Status CheckTransformer(const Job& job, const Transformer& model) {
  ORRERY_TRY_STATUS(CheckSequence(job));
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (const BlockRun& run : *stack) {
      ORRERY_TRY_STATUS(CheckBlock(run.block, job.plan));
    }
  }
  for (const auto& [key, degree] :
       {std::pair("ep", job.plan.ep), {"expert_tp", job.plan.expert_tp}}) {
    if (degree > 1 && !HasExperts(job.model)) {
      return Refuse("plan.{} {} needs a model with experts: set plan.{} to 1", key, degree, key);
    }
  }
  ORRERY_TRY_STATUS(CheckActivations(job, model));
  return CheckPipeline(job, model);
}

// Layer lists and recommendation models support data parallelism only.
Status CheckOtherModel(const Job& job) {
  const Plan& plan = job.plan;
  for (const auto& [key, degree] : {std::pair("tp", plan.tp),
                                    {"pp", plan.pp},
                                    {"cp", plan.cp},
                                    {"ep", plan.ep},
                                    {"expert_tp", plan.expert_tp},
                                    {"chunks", plan.chunks}}) {
    if (degree > 1) {
      return Refuse("plan.{} {} needs a transformer: set it to 1", key, degree);
    }
  }
  if (!plan.layers_per_stage.empty()) {
    return Refuse("plan.layers_per_stage needs a transformer: leave it out");
  }
  if (plan.counts_embedding || plan.counts_loss) {
    return Refuse("plan.counts_embedding and plan.counts_loss need a transformer: leave them out");
  }
  const PipelineShape shape = ShapeOf(plan, static_cast<int>(job.microbatches()));
  if (shape.chunks > 1) {
    return Refuse("plan.schedule {} needs a transformer: set it to 1f1b",
                  ScheduleName(plan.schedule));
  }
  return CheckShape(shape);
}

Status CheckSharding(const Plan& plan) {
  const int ranks = DenseReplicas(plan);
  if (plan.shard_ranks < 0 || (plan.shard_ranks > 0 && ranks % plan.shard_ranks != 0)) {
    return Refuse(
        "plan.shard_ranks {} does not divide the {} ranks of {}plan.dp · plan.cp: take a "
        "divisor",
        plan.shard_ranks, ranks, LayerCopies(plan) > 1 ? "2 · " : "");
  }
  const int of_experts = plan.ep * plan.expert_tp;
  const int of_copy = DenseShards(plan) * plan.tp;
  if (plan.shard_ranks > 0 && of_experts % of_copy != 0 && of_copy % of_experts != 0) {
    return Refuse(
        "plan.shard_ranks · plan.tp = {} and plan.ep · plan.expert_tp = {} do not divide each "
        "other, so experts cannot be sharded like the rest: take another plan.shard_ranks",
        of_copy, of_experts);
  }
  return {};
}

}  // namespace

const Experts* ExpertsOf(const Model& model) {
  const Transformer* const transformer = model.transformer();
  if (transformer == nullptr) {
    return nullptr;
  }
  for (const std::vector<BlockRun>* const stack : {&transformer->encoder, &transformer->blocks}) {
    for (const BlockRun& run : *stack) {
      if (run.block.experts() != nullptr) {
        return run.block.experts();
      }
    }
  }
  return nullptr;
}

bool HasExperts(const Model& model) {
  return ExpertsOf(model) != nullptr;
}

std::vector<GpuCount> GpusOf(const Job& job) {
  std::vector<GpuCount> counts = {{.gpu = &job.gpu, .ranks = job.gpus}};
  for (const OtherGpus& other : job.other_gpus) {
    const int ranks = other.last - other.first + 1;
    counts.front().ranks -= ranks;
    const auto known = std::ranges::find_if(
        counts, [&](const GpuCount& count) { return count.gpu->name == other.gpu.name; });
    if (known == counts.end()) {
      counts.push_back({.gpu = &other.gpu, .ranks = ranks});
    } else {
      known->ranks += ranks;
    }
  }
  return counts;
}

const hardware::Gpu& GpuOfRank(const Job& job, std::uint32_t rank) {
  for (const OtherGpus& other : job.other_gpus) {
    if (rank >= static_cast<std::uint32_t>(other.first) &&
        rank <= static_cast<std::uint32_t>(other.last)) {
      return other.gpu;
    }
  }
  return job.gpu;
}

Status CheckOtherGpus(const Job& job) {
  int next = 0;
  for (const OtherGpus& other : job.other_gpus) {
    if (other.first < next) {
      return Refuse("gpu_of names rank {} twice: give each rank one GPU", other.first);
    }
    if (other.last >= job.gpus) {
      return Refuse("gpu_of {}: there is no rank {}; the job has {} ranks, counted from 0",
                    RanksText(other), other.last, job.gpus);
    }
    if (other.gpu.vendor != job.gpu.vendor) {
      return Refuse(
          "gpu_of {}: {} and {} are of different vendors and have no common library of "
          "collectives: take a GPU of {}",
          RanksText(other), other.gpu.name, job.gpu.name, job.gpu.vendor);
    }
    next = other.last + 1;
  }
  return {};
}

std::string RanksText(const OtherGpus& other) {
  return other.first == other.last ? std::to_string(other.first)
                                   : fmt::format("{}-{}", other.first, other.last);
}

Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node) {
  if (!node.IsMap()) {
    return Refuse("gpu_of is not a mapping of ranks to GPUs: write it as {{8-15: A100-80GB}}");
  }
  std::vector<OtherGpus> others;
  for (const auto& entry : node) {
    ORRERY_TRY(OtherGpus other, ReadRanks(entry.first.as<std::string>()));
    const std::string name = entry.second.IsScalar() ? entry.second.Scalar() : "";
    const hardware::Gpu* const gpu = hardware::FindGpu(name);
    if (gpu == nullptr) {
      return Refuse("gpu_of {}: gpu '{}' is not in the catalogue; the nearest is {}",
                    RanksText(other), name, NearestName(name, hardware::GpuCatalogue()));
    }
    other.gpu = *gpu;
    others.push_back(std::move(other));
  }
  std::ranges::stable_sort(others, {}, &OtherGpus::first);
  return others;
}

Status CheckJob(const Job& job) {
  ORRERY_TRY_STATUS(CheckRanges(job.plan));
  ORRERY_TRY_STATUS(CheckGpus(job));
  ORRERY_TRY_STATUS(CheckCluster(job));
  ORRERY_TRY_STATUS(CheckOtherGpus(job));
  ORRERY_TRY_STATUS(CheckAdapters(job));
  ORRERY_TRY_STATUS(CheckFrozenBlocks(job));
  ORRERY_TRY_STATUS(CheckBatch(job));
  ORRERY_TRY_STATUS(CheckSharding(job.plan));
  if (job.plan.context == ContextKind::kUlyssesRing) {
    ORRERY_TRY_STATUS(
        CheckDivides("plan.cp", job.plan.cp, "plan.ulysses_ranks", job.plan.ulysses_ranks));
  }
  if (const Transformer* const transformer = job.model.transformer()) {
    return CheckTransformer(job, *transformer);
  }
  return CheckOtherModel(job);
}

}  // namespace orrery::workload
