#include "orrery/workload/job/plan_yaml.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/data_type.h"
#include "orrery/base/parse_number.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
#include "orrery/workload/plan/stage_layers.h"

namespace orrery::workload {
namespace {

constexpr std::array<Spelling<ContextKind>, 4> kContexts{{
    {"ring", ContextKind::kRing},
    {"all_gather", ContextKind::kAllGather},
    {"ulysses", ContextKind::kUlysses},
    {"ulysses_ring", ContextKind::kUlyssesRing},
}};

constexpr std::array<Spelling<Sharding>, 7> kShardings{{
    {"none", Sharding::kReplicated},
    {"zero1", Sharding::kOptimizer},
    {"zero2", Sharding::kGradients},
    {"zero3", Sharding::kParameters},
    {"shard_grad_op", Sharding::kKeepGathered},
    {"fsdp", Sharding::kParameters},
    {"hsdp", Sharding::kParameters},
}};

constexpr std::array<Spelling<Recompute>, 4> kRecomputes{{
    {"none", Recompute::kNothing},
    {"selective", Recompute::kSelective},
    {"operators", Recompute::kOperators},
    {"full", Recompute::kFull},
}};

constexpr std::array<Spelling<TokenDispatch>, 3> kDispatches{{
    {"all_to_all", TokenDispatch::kAllToAll},
    {"all_gather", TokenDispatch::kAllGather},
    {"flex", TokenDispatch::kFlex},
}};

constexpr std::array<Spelling<TableSharding>, 3> kTables{{
    {"table", TableSharding::kTable},
    {"row", TableSharding::kRow},
    {"column", TableSharding::kColumn},
}};

constexpr std::array<Spelling<OptimizerKind>, 2> kOptimizers{{
    {"adam", OptimizerKind::kAdam},
    {"sgd", OptimizerKind::kSgd},
}};

struct PrecisionTypes {
  DataType compute;
  DataType gemm_type;
};

constexpr std::array<Spelling<PrecisionTypes>, 7> kPrecisions{{
    {"bf16", {DataType::kBf16, DataType::kBf16}},
    {"fp16", {DataType::kFp16, DataType::kFp16}},
    {"fp8", {DataType::kBf16, DataType::kFp8}},
    {"fp8_block", {DataType::kBf16, DataType::kFp8Block}},
    {"nvfp4", {DataType::kBf16, DataType::kNvfp4}},
    {"fp32", {DataType::kFp32, DataType::kFp32}},
    {"tf32", {DataType::kFp32, DataType::kTf32}},
}};

// The first spelling of a value, as in job files (docs/formats/job.md).
template <typename Value, std::size_t kCount>
std::string NameOf(const std::array<Spelling<Value>, kCount>& spellings, Value value) {
  return std::string(std::ranges::find(spellings, value, &Spelling<Value>::second)->first);
}

template <typename Value, std::size_t kCount>
void ReadWord(YamlFields& fields, std::string_view key,
              const std::array<Spelling<Value>, kCount>& spellings, Value& value) {
  value = fields.Choice(key, std::span<const Spelling<Value>>(spellings), std::optional(value));
}

// What a precision means for states, where the job says nothing else.
Precision UsualPrecision(const PrecisionTypes& types) {
  const bool is_half = types.compute != DataType::kFp32;
  return {.compute = types.compute,
          .gemm_type = types.gemm_type,
          .gradient_bytes = 4,
          .gathered_bytes = is_half ? 2 : 4,
          .has_master = is_half};
}

void ReadPrecision(YamlFields& fields, Precision& precision) {
  if (fields.Has("precision")) {
    PrecisionTypes types = kPrecisions.front().second;
    ReadWord(fields, "precision", kPrecisions, types);
    precision = UsualPrecision(types);
  }
  fields.Expect({"precision"});
  precision.gradient_bytes = fields.Count("gradient_bytes", 1, precision.gradient_bytes);
  precision.gathered_bytes = fields.Count("gathered_bytes", 1, precision.gathered_bytes);
  precision.has_master = fields.Flag("has_master", precision.has_master);
  precision.moment_bytes = fields.Count("moment_bytes", 1, precision.moment_bytes);
  precision.activation_input_bytes =
      fields.Count("activation_input_bytes", 0, precision.activation_input_bytes);
}

int ReadDegree(YamlFields& fields, std::string_view key, int usual) {
  constexpr int kLargest = 1'000'000;
  const int degree = fields.Count(key, 1, usual);
  if (degree > kLargest) {
    fields.Wrong(key, fmt::format("must be at most {}", kLargest), std::to_string(degree));
    return 1;
  }
  return degree;
}

void ReadPipeline(YamlFields& fields, Plan& plan) {
  plan.chunks = ReadDegree(fields, "chunks", plan.chunks);
  plan.schedule = plan.chunks > 1 && plan.schedule == PipelineSchedule::k1f1b
                      ? PipelineSchedule::kInterleaved
                      : plan.schedule;
  ReadWord(fields, "schedule", kScheduleNames, plan.schedule);
  if (fields.Has("layers_per_stage")) {
    plan.layers_per_stage.clear();
    for (const std::int64_t layers : fields.Sizes("layers_per_stage", 0)) {
      plan.layers_per_stage.push_back(static_cast<int>(layers));
    }
  }
  if (fields.Has("layout")) {
    const std::string layout = fields.Text("layout");
    auto layers = LayersOfLayout(layout);
    if (layers) {
      plan.layers_per_stage = *std::move(layers);
    } else {
      fields.Wrong("layout", "must be a pipeline layout such as Et*4|(t*4|)*14tmL", layout);
    }
  }
  fields.Expect({"layers_per_stage", "layout"});
  plan.counts_embedding = fields.Flag("counts_embedding", plan.counts_embedding);
  plan.counts_loss = fields.Flag("counts_loss", plan.counts_loss);
  plan.pipeline_is_innermost = fields.Flag("pipeline_is_innermost", plan.pipeline_is_innermost);
}

void ReadSharding(YamlFields& fields, Plan& plan) {
  const bool is_hybrid = fields.Has("sharding") && fields.Text("sharding") == "hsdp";
  ReadWord(fields, "sharding", kShardings, plan.sharding);
  plan.shard_ranks = fields.Count("shard_ranks", 0, is_hybrid ? -1 : plan.shard_ranks);
  ReadWord(fields, "reshard", kReshardNames, plan.reshard);
  plan.offload_optimizer = fields.Flag("offload_optimizer", plan.offload_optimizer);
}

// A number, "zipf:1.1" or a file of recorded loads.
void ReadTokenImbalance(YamlFields& fields, Plan& plan) {
  constexpr std::string_view kZipf = "zipf:";
  plan.routing.seed = static_cast<std::uint64_t>(
      fields.Count("token_seed", 0, static_cast<int>(plan.routing.seed)));
  if (!fields.Has("token_imbalance")) {
    return;
  }
  const std::string text = fields.Text("token_imbalance");
  plan.routing.zipf = 0;
  plan.routing.log.clear();
  if (text.starts_with(kZipf)) {
    const std::optional<double> exponent = ParseWhole<double>(text.substr(kZipf.size()));
    if (!exponent || !(*exponent > 0) || *exponent > 8) {
      fields.Wrong("token_imbalance", "must have an exponent above 0 and at most 8: zipf:1.1",
                   text);
    }
    plan.routing.zipf = exponent.value_or(1);
  } else if (ParseWhole<double>(text)) {
    plan.token_imbalance = fields.Number("token_imbalance", 1, plan.token_imbalance);
  } else {
    plan.routing.log = text;
  }
}

void ReadRecompute(YamlFields& fields, Plan& plan) {
  ReadWord(fields, "recompute", kRecomputes, plan.recompute);
  plan.recompute_layers = fields.Count("recompute_layers", 0, plan.recompute_layers);
  plan.recompute_share = fields.Number("recompute_share", 0, plan.recompute_share);
  if (plan.recompute_share > 1) {
    fields.Wrong("recompute_share", "must be at most 1", fmt::format("{}", plan.recompute_share));
  }
  ReadRecomputedParts(fields, plan.recompute_parts);
}

struct FactList {
  std::string section;
  std::vector<JobFact> facts;

  template <typename Value>
  void Add(std::string name, const Value& value) {
    facts.push_back({section, std::move(name), fmt::format("{}", value)});
  }

  void AddDegree(std::string name, std::int64_t degree, std::int64_t least = 2) {
    if (degree >= least) {
      Add(std::move(name), degree);
    }
  }
};

void AddTraining(const Job& job, FactList& facts) {
  const Training& training = job.training;
  facts.section = "training";
  facts.AddDegree("sequence", training.sequence, 1);
  facts.Add("micro_batch", training.micro_batch);
  facts.Add("global_batch", training.global_batch);
  facts.Add("microbatches", job.microbatches());
  facts.Add("precision", DataTypeName(training.precision.gemm_type));
  facts.Add("optimizer", training.optimizer == OptimizerKind::kSgd ? "sgd" : "adam");
  facts.AddDegree("adapter_rank", training.adapter_rank, 1);
}

void AddPlan(const Job& job, FactList& facts) {
  const Plan& plan = job.plan;
  facts.section = "plan";
  facts.Add("tp", plan.tp);
  facts.Add("pp", plan.pp);
  facts.Add("dp", plan.dp);
  facts.AddDegree("cp", plan.cp);
  facts.AddDegree("ep", plan.ep);
  facts.AddDegree("expert_tp", plan.expert_tp);
  if (plan.cp > 1) {
    facts.Add("context", NameOf(kContexts, plan.context));
    facts.AddDegree("ulysses_ranks", plan.ulysses_ranks);
  }
  if (plan.pp > 1) {
    facts.Add("schedule", ScheduleName(plan.schedule));
    facts.AddDegree("chunks", plan.chunks);
  }
  if (!plan.layers_per_stage.empty()) {
    facts.Add("layers_per_stage", fmt::format("{}", fmt::join(plan.layers_per_stage, ", ")));
  }
  if (plan.counts_embedding || plan.counts_loss) {
    facts.Add("counts_embedding", plan.counts_embedding);
    facts.Add("counts_loss", plan.counts_loss);
  }
  if (plan.tp > 1) {
    facts.Add("sequence_parallel", plan.sequence_parallel);
  }
  facts.Add("sharding", NameOf(kShardings, plan.sharding));
  facts.AddDegree("shard_ranks", plan.shard_ranks);
  if (plan.sharding == Sharding::kParameters && !ReshardsAfterForward(plan)) {
    facts.Add("reshard", ReshardName(plan.reshard));
  }
  facts.Add("recompute", NameOf(kRecomputes, plan.recompute));
  facts.AddDegree("recompute_layers", plan.recompute_layers);
  if (plan.recompute == Recompute::kFull && plan.recompute_share < 1) {
    facts.Add("recompute_share", fmt::format("{:.3g}", plan.recompute_share));
  }
  if (const std::string parts = PartsText(plan.recompute_parts); !parts.empty()) {
    facts.Add("recompute_parts", parts);
  }
  if (plan.offload_optimizer) {
    facts.Add("offload_optimizer", "true");
  }
}

// "8 H100 and 8 A100-80GB".
std::string GpusText(const Job& job) {
  std::string text;
  for (const GpuCount& count : GpusOf(job)) {
    if (count.ranks > 0) {
      text += fmt::format("{}{} {}", text.empty() ? "" : " and ", count.ranks, count.gpu->name);
    }
  }
  return text;
}

// "46.7 B parameters, 12.9 B active".
std::string SizeText(const Model& model) {
  const std::int64_t total = TotalParameters(model);
  const std::int64_t active = ActiveParameters(model);
  return fmt::format("{} parameters{}", ParametersText(total),
                     active < total ? fmt::format(", {} active", ParametersText(active)) : "");
}

std::string ScheduleText(const Plan& plan) {
  return plan.chunks > 1 ? fmt::format("{} with {} virtual stages per GPU",
                                       ScheduleName(plan.schedule), plan.chunks)
                         : fmt::format("{}", ScheduleName(plan.schedule));
}

std::string ShardingText(const Plan& plan) {
  if (plan.sharding == Sharding::kReplicated) {
    return "no sharding";
  }
  const bool is_kept = plan.sharding == Sharding::kParameters && !ReshardsAfterForward(plan);
  return fmt::format("sharding {}{}{}", NameOf(kShardings, plan.sharding),
                     plan.shard_ranks > 1 ? fmt::format(" over {} ranks", plan.shard_ranks) : "",
                     is_kept ? " not resharded after forward" : "");
}

std::string RecomputeText(const Plan& plan) {
  if (const std::string parts = PartsText(plan.recompute_parts); !parts.empty()) {
    return "recomputation of " + parts;
  }
  return plan.recompute == Recompute::kNothing
             ? "no recomputation"
             : NameOf(kRecomputes, plan.recompute) + " recomputation";
}

std::vector<std::string> PlanSettings(const Plan& plan) {
  std::vector<std::string> settings;
  for (const auto& [name, degree] : {std::pair("tp", plan.tp),
                                     {"cp", plan.cp},
                                     {"pp", plan.pp},
                                     {"dp", plan.dp},
                                     {"ep", plan.ep}}) {
    if (degree > 1) {
      settings.push_back(fmt::format("{} {}", name, degree));
    }
  }
  if (plan.pp > 1) {
    settings.push_back(ScheduleText(plan));
  }
  if (plan.dp > 1) {
    settings.push_back(ShardingText(plan));
  }
  settings.push_back(RecomputeText(plan));
  return settings;
}

std::string MicrobatchesText(const Job& job) {
  return fmt::format("{} micro-batch{} of {}", job.microbatches(),
                     job.microbatches() == 1 ? "" : "es", job.training.micro_batch);
}

}  // namespace

void ReadRecomputedParts(YamlFields& fields, RecomputedParts& parts) {
  for (const std::string& word : fields.Texts("recompute_parts", std::vector<std::string>{})) {
    const auto* const known =
        std::ranges::find(kRecomputedPartNames, word, &RecomputedPartName::name);
    if (known == kRecomputedPartNames.end()) {
      fields.Wrong("recompute_parts", "must be some of norms, latent_up, activations, experts, mlp",
                   word);
      return;
    }
    parts.*known->member = true;
  }
}

std::string PartsText(const RecomputedParts& parts) {
  std::string text;
  for (const RecomputedPartName& part : kRecomputedPartNames) {
    if (parts.*part.member) {
      text += (text.empty() ? "" : ", ") + std::string(part.name);
    }
  }
  return text;
}

void ReadTraining(YamlFields& fields, Training& training) {
  training.sequence = fields.Size("sequence", 1, training.sequence);
  training.micro_batch = fields.Size("micro_batch", 1, training.micro_batch);
  training.global_batch = fields.Size("global_batch", 1);
  ReadPrecision(fields, training.precision);
  ReadWord(fields, "optimizer", kOptimizers, training.optimizer);
  training.adapter_rank = fields.Size("adapter_rank", 0, training.adapter_rank);
  fields.RefuseOthers();
}

void ReadPlan(YamlFields& fields, Plan& plan) {
  plan.dp = 0;
  for (const auto& [key, degree] : {std::pair("tp", &plan.tp),
                                    {"pp", &plan.pp},
                                    {"cp", &plan.cp},
                                    {"dp", &plan.dp},
                                    {"ep", &plan.ep},
                                    {"expert_tp", &plan.expert_tp}}) {
    *degree = ReadDegree(fields, key, *degree);
  }
  plan.sequence_parallel = fields.Flag("sequence_parallel", plan.sequence_parallel);
  ReadPipeline(fields, plan);
  ReadWord(fields, "context", kContexts, plan.context);
  plan.ulysses_ranks = ReadDegree(fields, "ulysses_ranks", plan.ulysses_ranks);
  plan.context_is_balanced = fields.Flag("context_is_balanced", plan.context_is_balanced);
  ReadSharding(fields, plan);
  ReadRecompute(fields, plan);
  ReadWord(fields, "dispatch", kDispatches, plan.dispatch);
  plan.capacity_factor = fields.Number("capacity_factor", 0, plan.capacity_factor);
  plan.expert_nodes = fields.Count("expert_nodes", 0, plan.expert_nodes);
  ReadTokenImbalance(fields, plan);
  ReadWord(fields, "tables", kTables, plan.tables);
  fields.RefuseOthers();
}

std::vector<JobFact> JobFacts(const Job& job) {
  FactList facts{.section = "model", .facts = {}};
  facts.Add("name", job.model.name);
  facts.Add("parameters", ParametersText(TotalParameters(job.model)));
  AddTraining(job, facts);
  AddPlan(job, facts);
  facts.section = "machine";
  facts.Add("gpus", job.gpus);
  facts.Add("gpu", job.gpu.name);
  facts.Add("power_w", job.gpu.power_watts);
  for (const OtherGpus& other : job.other_gpus) {
    facts.Add(fmt::format("gpu of {}", RanksText(other)), other.gpu.name);
  }
  facts.Add("cluster", job.cluster.name);
  facts.Add("framework", job.framework.name);
  return std::move(facts.facts);
}

std::string ParametersText(std::int64_t parameters) {
  const auto count = static_cast<double>(parameters);
  return count >= 1e9 ? fmt::format("{:.3g} B", count / 1e9) : fmt::format("{:.3g} M", count / 1e6);
}

std::string PlanLine(const Job& job) {
  std::vector<std::string> settings = PlanSettings(job.plan);
  if (job.plan.sequence_parallel) {
    settings.emplace_back("sequence parallelism");
  }
  settings.push_back(MicrobatchesText(job));
  return fmt::format("{}", fmt::join(settings, ", "));
}

std::string JobLine(const Job& job) {
  std::vector<std::string> settings = PlanSettings(job.plan);
  settings.emplace_back(DataTypeName(job.training.precision.gemm_type));
  settings.push_back(MicrobatchesText(job));
  return fmt::format("{} ({}) on {} ({}), {}: {}", job.model.name, SizeText(job.model),
                     GpusText(job), job.cluster.name, job.framework.name,
                     fmt::join(settings, ", "));
}

}  // namespace orrery::workload
