#include "orrery/workload/job/job_file.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/gate_loads.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

constexpr double kGigabyte = 1e9;

std::vector<std::string> PathOf(std::string_view text) {
  std::vector<std::string> path;
  while (true) {
    const std::size_t dot = text.find('.');
    path.emplace_back(text.substr(0, dot));
    if (dot == std::string_view::npos) {
      return path;
    }
    text.remove_prefix(dot + 1);
  }
}

Status Apply(const YAML::Node& root, const std::string& text) {
  const std::size_t equals = text.find('=');
  const std::vector<std::string> path = PathOf(text.substr(0, equals));
  if (equals == std::string::npos || std::ranges::any_of(path, &std::string::empty)) {
    return Refuse("'{}' is not an override: write it as plan.tp=4", text);
  }
  YAML::Node parent;
  parent.reset(root);
  for (std::size_t i = 0; i + 1 < path.size(); ++i) {
    YAML::Node child = parent[path[i]];
    if (child.IsDefined() && child.IsScalar()) {
      YAML::Node map;
      map[path[i] == "model" ? "preset" : "name"] = child.Scalar();
      parent[path[i]] = map;
      child.reset(map);
    } else if (child.IsDefined() && !child.IsMap() && !child.IsNull()) {
      return Refuse("'{}': {} is a list and has no such key", text, path[i]);
    }
    parent.reset(child);
  }
  parent[path.back()] = YAML::Load(text.substr(equals + 1));
  return {};
}

// Applies texts like "plan.tp=4" to the tree of a job: the value, itself YAML, replaces what is
// under the path. A model, cluster or framework that is only a name becomes a mapping that begins
// with it, so that "model.layers=4" changes a preset.
Status ApplyOverrides(YAML::Node root, std::span<const std::string> overrides) {
  for (const std::string& text : overrides) {
    try {
      ORRERY_TRY_STATUS(Apply(root, text));
    } catch (const YAML::Exception& exception) {
      return Refuse("'{}' cannot be read: {}", text, exception.msg);
    }
  }
  return {};
}

constexpr std::int64_t kMostGpus = 1'000'000'000;

// The framework of a job that names none.
std::string UsualFramework(const Job& job) {
  const Sharding sharding = job.plan.sharding;
  if (job.model.transformer() == nullptr) {
    return "pytorch";
  }
  return sharding == Sharding::kParameters || sharding == Sharding::kKeepGathered ? "torch-fsdp"
                                                                                  : "megatron-lm";
}

class JobReader {
 public:
  JobReader(const YAML::Node& root, const JobText& text)
      : text_(text), top_(root, text.place, first_error_) {}

  Result<JobFile> Read() && {
    file_.job.name = top_.Text("name", std::filesystem::path(text_.place).stem().string());
    ORRERY_TRY_STATUS(ReadMachine());
    if (top_.Has("megatron")) {
      ORRERY_TRY_STATUS(ReadMegatron());
    } else {
      ORRERY_TRY_STATUS(ReadSections());
    }
    top_.Expect({"model", "training", "plan", "megatron", "search"});
    top_.RefuseOthers();
    ORRERY_TRY_STATUS(FirstError());
    return std::move(file_);
  }

 private:
  Status FirstError() const {
    return first_error_ ? Status(tl::unexpected(*first_error_)) : Status();
  }

  template <typename... Arguments>
  Status Refuse(fmt::format_string<Arguments...> text, Arguments&&... arguments) const {
    return workload::Refuse("{}: {}", text_.place,
                            fmt::format(text, std::forward<Arguments>(arguments)...));
  }

  // A name, or a mapping with one.
  std::string NameOf(std::string_view key, const std::optional<std::string>& fallback = {}) {
    const bool is_map = top_.Has(key) && top_.Node(key).IsMap();
    return is_map ? top_.Map(key).Text("name", fallback) : top_.Text(key, fallback);
  }

  Status NoSuchGpu(const std::string& name) const {
    return Refuse("gpu '{}' is not in the catalogue; the nearest is {}", name,
                  NearestName(name, hardware::GpuCatalogue()));
  }

  Status ReadMachine() {
    const std::string gpu = NameOf("gpu", "");
    file_.job.gpus = top_.Count("gpus", 1, 0);
    const std::string name = NameOf("cluster", gpu.empty() ? std::nullopt : std::optional(gpu));
    ORRERY_TRY_STATUS(FirstError());
    if (!gpu.empty() && hardware::FindGpu(gpu) == nullptr) {
      return NoSuchGpu(gpu);
    }
    const hardware::Cluster* const cluster = hardware::FindCluster(name);
    if (cluster == nullptr && !top_.Has("cluster")) {
      return Refuse(
          "no cluster in the catalogue has gpu '{}'; name the cluster too, such as "
          "'cluster: L40 PCIe'",
          name);
    }
    if (cluster == nullptr) {
      return Refuse("cluster '{}' is not in the catalogue; the nearest is {}", name,
                    NearestName(name, hardware::ClusterCatalogue()));
    }
    file_.job.cluster = *cluster;
    if (top_.Has("cluster") && top_.Node("cluster").IsMap()) {
      YamlFields fields = top_.Map("cluster");
      fields.Expect({"name"});
      file_.job.cluster = hardware::OverrideCluster(fields, *cluster);
      fields.RefuseOthers();
    }
    const std::string& gpu_name = gpu.empty() ? file_.job.cluster.gpu : gpu;
    const hardware::Gpu* const found = hardware::FindGpu(gpu_name);
    if (found == nullptr) {
      return NoSuchGpu(gpu_name);
    }
    file_.job.gpu = *found;
    if (top_.Has("gpu") && top_.Node("gpu").IsMap()) {
      YamlFields fields = top_.Map("gpu");
      fields.Expect({"name"});
      file_.job.gpu.power_watts = fields.Positive("power_w", found->power_watts);
      const double memory_gb =
          fields.Positive("memory_gb", static_cast<double>(found->memory_size.count) / kGigabyte);
      file_.job.gpu.memory_size = {std::llround(memory_gb * kGigabyte)};
      fields.RefuseOthers();
    }
    file_.job.cluster.gpu = found->name;
    top_.Expect({"gpu_of"});
    if (!top_.Has("gpu_of")) {
      return {};
    }
    auto others = ReadOtherGpus(top_.Node("gpu_of"));
    if (!others) {
      return FailWithin(text_.place, others);
    }
    file_.job.other_gpus = *std::move(others);
    return {};
  }

  Status ReadFramework(const std::string& usual) {
    const std::string name = NameOf("framework", usual);
    ORRERY_TRY_STATUS(FirstError());
    const Framework* const framework = FindFramework(name);
    if (framework == nullptr) {
      return Refuse("framework '{}' is not known; the nearest is {}", name,
                    NearestName(name, Frameworks()));
    }
    file_.job.framework = *framework;
    return {};
  }

  // After Megatron's arguments, which they override.
  void OverrideFramework() {
    if (top_.Has("framework") && top_.Node("framework").IsMap()) {
      YamlFields fields = top_.Map("framework");
      fields.Expect({"name"});
      ReadDeclared(fields, file_.job.framework);
      ReadHostCost(fields, file_.job.framework);
      fields.RefuseOthers();
    }
  }

  Status ReadSections() {
    YamlFields training = top_.Map("training");
    ORRERY_TRY_STATUS(FirstError());
    ReadTraining(training, file_.job.training);
    file_.job.plan.dp = 0;
    bool has_reshard = false;
    if (top_.Has("plan")) {
      YamlFields plan = top_.Map("plan");
      ORRERY_TRY_STATUS(FirstError());
      has_reshard = plan.Has("reshard");
      ReadPlan(plan, file_.job.plan);
    }
    const YAML::Node model = top_.Node("model");
    ORRERY_TRY_STATUS(FirstError());
    const ModelPlace place = {.place = text_.place + ": model",
                              .folder = text_.folder,
                              .type = file_.job.training.precision.compute};
    ORRERY_TRY(file_.job.model, ReadModel(model, place, file_.not_modelled));
    if (file_.job.model.name.empty()) {
      file_.job.model.name = file_.job.name;
    }
    ORRERY_TRY_STATUS(ReadFramework(UsualFramework(file_.job)));
    OverrideFramework();
    if (!has_reshard) {
      file_.job.plan.reshard = file_.job.framework.reshard;
    }
    return {};
  }

  Result<std::string> MegatronText() {
    std::string value = top_.Text("megatron");
    if (value.find("--") != std::string::npos) {
      return value;
    }
    ORRERY_TRY(const MappedFile content, MappedFile::Open((text_.folder / value).string()));
    return std::string(content.bytes());
  }

  Status ReadMegatron() {
    for (const std::string_view key : {"model", "training", "plan"}) {
      if (top_.Has(key)) {
        return Refuse("{} and megatron are both given: keep one", key);
      }
    }
    ORRERY_TRY_STATUS(ReadFramework("megatron-lm"));
    ORRERY_TRY(const std::string arguments, MegatronText());
    const auto read = ReadMegatronArguments(arguments, file_.job.framework);
    if (!read) {
      return FailWithin(text_.place + ": megatron", read);
    }
    const auto model = MakeTransformer(read->shape);
    if (!model) {
      return FailWithin(text_.place + ": megatron", model);
    }
    file_.job.model = {.name = file_.job.name, .body = *model};
    return TakeMegatron(*read);
  }

  Status TakeMegatron(const MegatronJob& read) {
    Job& job = file_.job;
    job.plan = read.plan;
    job.plan.dp = 0;
    job.training = read.training;
    job.framework = read.framework;
    job.gpus = job.gpus == 0 ? read.gpus.value_or(0) : job.gpus;
    OverrideFramework();
    job.plan.reshard = job.framework.reshard;
    const std::int64_t model = std::int64_t{job.plan.tp} * job.plan.pp * job.plan.cp;
    const int replicas = static_cast<int>(job.gpus / model);
    if (!read.has_global_batch) {
      job.training.global_batch = job.training.micro_batch * std::max(replicas, 1);
    }
    if (const int ranks = replicas * job.plan.cp; read.optimizer_instances > 1 && ranks > 0) {
      if (ranks % read.optimizer_instances != 0) {
        return Refuse(
            "--num-distributed-optimizer-instances {} does not divide the {} data-parallel ranks: "
            "take a divisor",
            read.optimizer_instances, ranks);
      }
      job.plan.shard_ranks = ranks / read.optimizer_instances;
    }
    for (const std::string& argument : read.unknown) {
      file_.not_modelled.push_back(fmt::format("{} is not understood", argument));
    }
    file_.not_modelled.insert(file_.not_modelled.end(), read.not_modelled.begin(),
                              read.not_modelled.end());
    return {};
  }

  const JobText& text_;
  std::optional<Error> first_error_;
  YamlFields top_;
  JobFile file_;
};

Status ShardWithinNode(Job& job) {
  const int of_node = job.cluster.gpus_per_node / job.plan.tp;
  const std::int64_t ranks = DenseReplicas(job.plan);
  if (of_node < 2 && ranks > 1) {
    return Refuse(
        "plan.sharding hsdp shards among the data-parallel ranks of a node, and with plan.tp {} no "
        "node of {} GPUs has two: set plan.shard_ranks, or plan.sharding to fsdp",
        job.plan.tp, job.cluster.gpus_per_node);
  }
  job.plan.shard_ranks = static_cast<int>(std::min<std::int64_t>(std::max(of_node, 1), ranks));
  return {};
}

Status FinishPlan(Job& job) {
  Plan& plan = job.plan;
  const std::int64_t model = std::int64_t{plan.tp} * plan.pp * plan.cp;
  if (job.gpus == 0 && (plan.dp == 0 || model > kMostGpus || model * plan.dp > kMostGpus)) {
    return Refuse("{}", plan.dp == 0 ? "gpus is missing: give it, or plan.dp"
                                     : "the plan needs too many gpus: lower plan.dp");
  }
  job.gpus = job.gpus == 0 ? static_cast<int>(model * plan.dp) : job.gpus;
  plan.dp = plan.dp == 0 ? static_cast<int>(job.gpus / model) : plan.dp;
  return plan.shard_ranks < 0 ? ShardWithinNode(job) : Status();
}

Status FinishSequence(Job& job) {
  const Transformer* const model = job.model.transformer();
  std::int64_t& sequence = job.training.sequence;
  if (model == nullptr) {
    return {};
  }
  if (model->patch > 0) {
    const std::int64_t side = model->image / model->patch;
    const std::int64_t patches = side * side + 1;  // with the class token
    if (sequence != 0 && sequence != patches) {
      return Refuse(
          "training.sequence {} is not the {} tokens of an image of {} in patches of {}: leave it "
          "out",
          sequence, patches, model->image, model->patch);
    }
    sequence = patches;
  }
  if (model->positions > 0 && sequence > model->positions) {
    return Refuse(
        "training.sequence {} is longer than the {} positions of the model: raise model.positions",
        sequence, model->positions);
  }
  return {};
}

}  // namespace

Status FinishJob(const std::string& place, Job& job) {
  ORRERY_TRY_STATUS(FinishPlan(job));
  ORRERY_TRY_STATUS(FinishSequence(job));
  ORRERY_TRY_STATUS(ResolveTokenRouting(place, job));
  return CheckJob(job);
}

Result<JobFile> ReadOpenJob(const JobText& text, std::span<const std::string> overrides) {
  return WithYaml(text.place, text.yaml, [&](YAML::Node root) -> Result<JobFile> {
    if (!root.IsMap()) {
      return Refuse(
          "{}: a job is a mapping that begins with model, training, plan, cluster and gpus",
          text.place);
    }
    if (const Status applied = ApplyOverrides(root, overrides); !applied) {
      return FailWithin(text.place, applied);
    }
    ORRERY_TRY(JobFile file, JobReader(root, text).Read());
    file.yaml = YAML::Dump(root) + "\n";
    return file;
  });
}

Result<JobFile> ReadJob(const JobText& text, std::span<const std::string> overrides) {
  ORRERY_TRY(JobFile file, ReadOpenJob(text, overrides));
  Job& job = file.job;
  if (const Status finished = FinishJob(text.place, job); !finished) {
    return FailWithin(text.place, finished);
  }
  // Entries with the default GPU are redundant.
  std::erase_if(job.other_gpus,
                [&](const OtherGpus& other) { return other.gpu.name == job.gpu.name; });
  return file;
}

Result<JobText> ReadJobText(const std::string& path) {
  ORRERY_TRY(const MappedFile content, MappedFile::Open(path));
  return JobText{.yaml = std::string(content.bytes()),
                 .place = path,
                 .folder = std::filesystem::path(path).parent_path()};
}

Result<JobFile> ReadJobFile(const std::string& path, std::span<const std::string> overrides) {
  ORRERY_TRY(const JobText text, ReadJobText(path));
  return ReadJob(text, overrides);
}

}  // namespace orrery::workload
