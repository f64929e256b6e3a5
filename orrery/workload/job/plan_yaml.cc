#include "orrery/workload/job/plan_yaml.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/keys/words.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

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
  if (training.adapter_targets != AdapterTargets::kAttention) {
    facts.Add("adapter_targets", "linear");
  }
  if (training.base_format != BaseFormat::kSame) {
    facts.Add("base_format", "nf4");
  }
  facts.AddDegree("frozen_blocks", training.frozen_blocks, 1);
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
    facts.Add("context", WordOf(kContextKindWords, plan.context));
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
  facts.Add("sharding", WordOf(kShardingWords, plan.sharding));
  facts.AddDegree("shard_ranks", plan.shard_ranks);
  if (plan.sharding == Sharding::kParameters && !ReshardsAfterForward(plan)) {
    facts.Add("reshard", ReshardName(plan.reshard));
  }
  facts.Add("recompute", WordOf(kRecomputeWords, plan.recompute));
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
  if (plan.offload_activations > 0) {
    facts.Add("offload_activations", plan.offload_activations);
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
  return fmt::format("sharding {}{}{}", WordOf(kShardingWords, plan.sharding),
                     plan.shard_ranks > 1 ? fmt::format(" over {} ranks", plan.shard_ranks) : "",
                     is_kept ? " not resharded after forward" : "");
}

std::string RecomputeText(const Plan& plan) {
  if (const std::string parts = PartsText(plan.recompute_parts); !parts.empty()) {
    return "recomputation of " + parts;
  }
  return plan.recompute == Recompute::kNothing
             ? "no recomputation"
             : fmt::format("{} recomputation", WordOf(kRecomputeWords, plan.recompute));
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
  ReadKeys("training", fields, {.training = &training});
  fields.RefuseOthers();
}

void ReadPlan(YamlFields& fields, Plan& plan) {
  plan.dp = 0;
  ReadKeys("plan", fields, {.plan = &plan});
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
