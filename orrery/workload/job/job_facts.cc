#include "orrery/workload/job/job_facts.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/kernel/data_type.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {
namespace {

// As spelled in job files (docs/formats/job.md).

std::string_view NameOf(Sharding sharding) {
  constexpr std::array<std::string_view, 5> kNames = {"none", "zero1", "zero2", "zero3",
                                                      "shard_grad_op"};
  return kNames[static_cast<std::size_t>(sharding)];
}

std::string_view NameOf(Recompute recompute) {
  constexpr std::array<std::string_view, 3> kNames = {"none", "selective", "full"};
  return kNames[static_cast<std::size_t>(recompute)];
}

// "norms, experts".
std::string PartsText(const RecomputedParts& parts) {
  std::string text;
  for (const RecomputedPartName& part : kRecomputedPartNames) {
    if (parts.*part.member) {
      text += (text.empty() ? "" : ", ") + std::string(part.name);
    }
  }
  return text;
}

std::string_view NameOf(ContextKind context) {
  constexpr std::array<std::string_view, 4> kNames = {"ring", "all_gather", "ulysses",
                                                      "ulysses_ring"};
  return kNames[static_cast<std::size_t>(context)];
}

std::string_view NameOf(OptimizerKind optimizer) {
  return optimizer == OptimizerKind::kSgd ? "sgd" : "adam";
}

// "70.6 B": parameters as people say them.
std::string ParametersText(std::int64_t count) {
  const auto number = static_cast<double>(count);
  return number >= 1e9 ? fmt::format("{:.3g} B", number / 1e9)
                       : fmt::format("{:.3g} M", number / 1e6);
}

class FactList {
 public:
  void Begin(std::string section) { section_ = std::move(section); }

  void Add(std::string name, std::string value) {
    facts_.push_back({section_, std::move(name), std::move(value)});
  }

  void AddDegree(std::string name, int degree) {
    if (degree > 1) {
      Add(std::move(name), std::to_string(degree));
    }
  }

  std::vector<JobFact> Finish() && { return std::move(facts_); }

 private:
  std::string section_;
  std::vector<JobFact> facts_;
};

void AddTraining(const Job& job, FactList& facts) {
  const Training& training = job.training;
  facts.Begin("training");
  if (training.sequence > 0) {
    facts.Add("sequence", std::to_string(training.sequence));
  }
  facts.Add("micro_batch", std::to_string(training.micro_batch));
  facts.Add("global_batch", std::to_string(training.global_batch));
  facts.Add("microbatches", std::to_string(job.microbatches()));
  facts.Add("precision", std::string(kernel::DataTypeName(training.precision.gemm_type)));
  facts.Add("optimizer", std::string(NameOf(training.optimizer)));
  if (training.adapter_rank > 0) {
    facts.Add("adapter_rank", std::to_string(training.adapter_rank));
  }
}

void AddPlan(const Job& job, FactList& facts) {
  const Plan& plan = job.plan;
  facts.Begin("plan");
  facts.Add("tp", std::to_string(plan.tp));
  facts.Add("pp", std::to_string(plan.pp));
  facts.Add("dp", std::to_string(plan.dp));
  facts.AddDegree("cp", plan.cp);
  facts.AddDegree("ep", plan.ep);
  facts.AddDegree("expert_tp", plan.expert_tp);
  if (plan.cp > 1) {
    facts.Add("context", std::string(NameOf(plan.context)));
    facts.AddDegree("ulysses_ranks", plan.ulysses_ranks);
  }
  if (plan.pp > 1) {
    facts.Add("schedule", std::string(ScheduleName(plan.schedule)));
    facts.AddDegree("chunks", plan.chunks);
  }
  if (!plan.layers_per_stage.empty()) {
    facts.Add("layers_per_stage", fmt::format("{}", fmt::join(plan.layers_per_stage, ", ")));
  }
  if (plan.tp > 1) {
    facts.Add("sequence_parallel", plan.sequence_parallel ? "true" : "false");
  }
  facts.Add("sharding", std::string(NameOf(plan.sharding)));
  facts.AddDegree("shard_ranks", plan.shard_ranks);
  facts.Add("recompute", std::string(NameOf(plan.recompute)));
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

}  // namespace

std::vector<JobFact> JobFacts(const Job& job) {
  FactList facts;
  facts.Begin("model");
  facts.Add("name", job.model.name);
  facts.Add("parameters", ParametersText(TotalParameters(job.model)));
  AddTraining(job, facts);
  AddPlan(job, facts);
  facts.Begin("machine");
  facts.Add("gpus", std::to_string(job.gpus));
  facts.Add("gpu", job.gpu.name);
  for (const OtherGpus& other : job.other_gpus) {
    facts.Add(fmt::format("gpu of {}", RanksText(other)), other.gpu.name);
  }
  facts.Add("cluster", job.cluster.name);
  facts.Add("framework", job.framework.name);
  return std::move(facts).Finish();
}

std::string JobLine(const Job& job) {
  const Plan& plan = job.plan;
  std::string line =
      fmt::format("{} on {} ({}):", job.model.name.empty() ? job.name : job.model.name,
                  GpusText(job), job.cluster.name);
  const std::array<std::pair<std::string_view, int>, 5> degrees = {
      {{"tp", plan.tp}, {"cp", plan.cp}, {"pp", plan.pp}, {"dp", plan.dp}, {"ep", plan.ep}}};
  std::string_view separator = " ";
  for (const auto& [name, degree] : degrees) {
    if (degree > 1) {
      line += fmt::format("{}{} {}", separator, name, degree);
      separator = ", ";
    }
  }
  if (plan.pp > 1) {
    line += fmt::format(", {}", ScheduleName(plan.schedule));
  }
  return line + fmt::format("{}{} micro-batch{} of {}", separator == " " ? " " : ", ",
                            job.microbatches(), job.microbatches() == 1 ? "" : "es",
                            job.training.micro_batch);
}

}  // namespace orrery::workload
