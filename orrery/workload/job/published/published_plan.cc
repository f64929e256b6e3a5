#include "orrery/workload/job/published/published_plan.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <re2/re2.h>

#include "orrery/base/error.h"
#include "orrery/base/text/number_list.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/job/published/published_words.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

/// Whole blocks that are recomputed, a share of them, or parts and operators of all.
enum class RecomputeWord : std::uint8_t { kNone, kSelective, kFull, kBlocks, kOps, kParts };

constexpr std::array<Spelling<RecomputeWord>, 6> kRecomputeKinds{
    {{"none", RecomputeWord::kNone},
     {"selective", RecomputeWord::kSelective},
     {"full", RecomputeWord::kFull},
     {"blocks", RecomputeWord::kBlocks},
     {"ops", RecomputeWord::kOps},
     {"parts", RecomputeWord::kParts}}};

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

// If chunks are not stated, pipelines are interleaved as far as a framework usually goes: with the
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
  ORRERY_TRY(const auto schedule, ReadWord(row, "schedule", kPipelineScheduleWords));
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
  ORRERY_TRY(const auto dispatch, ReadWord(row, "dispatcher", kPublishedTokenDispatchWords));
  plan.dispatch = dispatch.value_or(job.framework.dispatch);
  plan.expert_nodes = job.framework.expert_nodes;
  const std::string capacity = row.Text("capacity");
  constexpr std::string_view kFactor = "capacity factor";
  if (capacity.starts_with(kFactor)) {
    const std::vector<double> numbers = NumbersIn<double>(capacity);
    plan.capacity_factor = numbers.empty() ? 1 : numbers.front();
  }
  if (Contains(row.Text("options"), "moe_a2a_overlap=yes")) {
    job.framework.overlaps_experts = true;
  }
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

}  // namespace

void ReadRouting(RunRow& row, Plan& plan) {
  const double imbalance = NamedTokenImbalance(row.Text("capacity"));
  if (imbalance > 1 && plan.ep > 1) {
    plan.token_imbalance = imbalance;
    row.Assume(fmt::format("learnt routing: the busiest expert rank has {} times the mean load",
                           imbalance));
  }
}

void ReadSharding(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  const std::string text = row.Text("zero_fsdp");
  for (const auto& [words, sharding] : {std::pair("ZeRO-2 like", Sharding::kKeepGathered),
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
  // "FSDP (shard group 64)", "FSDP2 over 8 ranks", "FSDP 256", "ZeRO-1 within a node"
  static const RE2 kGroup("(?:shard group|over|FSDP) (\\d{1,9})");
  static const RE2 kNode("(?i)\\b(?:in|inside|within) (?:a|each|the) node\\b");
  int ranks = 0;
  if (!RE2::PartialMatch(text, kGroup, &ranks) && RE2::PartialMatch(text, kNode)) {
    ranks = std::max(1, job.cluster.gpus_per_node / plan.tp);
    row.Assume(fmt::format("states sharded among the {} data-parallel ranks of a node", ranks));
  }
  if (ranks > 0) {
    plan.shard_ranks = std::min(ranks, plan.dp * plan.cp);
  }
}

// The products with adapters are in no column of their own: sources name their modules.
AdapterTargets TargetsOf(const RunRow& row) {
  static const RE2 kFeedForward("(?i)adapter_rank[^,;]*\\((?:[^)]*[ ,:])?(?:w1|up|gate|MLP)\\b");
  return RE2::PartialMatch(row.Text("fields_not_in_source"), kFeedForward)
             ? AdapterTargets::kLinear
             : AdapterTargets::kAttention;
}

// The trained part, the storage of the rest, and activations on the host.
Status ReadFineTuning(RunRow& row, Job& job) {
  Training& training = job.training;
  training.adapter_rank = row.Integer("adapter_rank").value_or(0);
  const std::string options = row.Text("options");
  if (training.adapter_rank > 0) {
    training.adapter_targets = TargetsOf(row);
    row.Assume(training.adapter_targets == AdapterTargets::kLinear
                   ? "LoRA adapters on attention projections and feed-forward networks"
                   : "LoRA adapters on attention projections");
  }
  if (Mentions(options, "QLoRA") || Mentions(options, "Q-LoRA")) {
    training.base_format = BaseFormat::kNf4;
    row.Assume("a base of four bits is NF4");
  }

  struct NotDescribed {
    std::string_view words;
    std::string_view what;
  };

  constexpr std::array<NotDescribed, 3> kNotDescribed{
      {{"LoRA (emb)", "training of embedding and head beside adapters"},
       {"CPU offload True", "offloading of parameters to the host"},
       {"optimizer step in the backward pass", "an optimizer step inside the backward pass"}}};
  for (const auto& [words, what] : kNotDescribed) {
    if (Mentions(options, words)) {
      return Unsupported("no key describes {}", what);
    }
  }
  if (Mentions(options, "activation offloading")) {
    job.plan.offload_activations = 1;
  }
  return {};
}

Status ReadPlan(RunRow& row, Job& job) {
  Plan& plan = job.plan;
  ORRERY_TRY_STATUS(ReadFineTuning(row, job));
  const std::string sequence = row.Text("seq_parallel");
  const bool is_open = sequence.empty() || sequence.starts_with("not stated");
  plan.sequence_parallel = plan.tp > 1 && (is_open || sequence.starts_with("yes"));
  if (plan.tp > 1 && is_open) {
    row.Assume("sequence parallelism on");
  }
  const std::string context = row.Text("cp_kind");
  for (const auto& [word, kind] : kPublishedContextKindWords) {
    // "p2p (TE default ring)"
    plan.context = context.starts_with(word) ? kind : plan.context;
  }
  ORRERY_TRY_STATUS(ReadPipeline(row, job));
  return ReadExperts(row, job);
}

Result<bool> ReadRecompute(RunRow& row, const Framework& framework, Plan& plan) {
  ORRERY_TRY(const auto word, ReadWord(row, "recompute_kind", kRecomputeKinds));
  const std::string text = row.Text("recompute");
  if (!word && framework.recompute_parts != RecomputedParts{}) {
    plan.recompute_parts = framework.recompute_parts;
    row.Assume(
        fmt::format("recomputed: {}, as {} does", PartsText(plan.recompute_parts), framework.name));
    return true;
  }
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

}  // namespace orrery::workload
