#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// The precision of GEMMs and states.
struct Precision {
  DataType compute = DataType::kBf16;    // of activations and weights
  DataType gemm_type = DataType::kBf16;  // fp8 where they are narrower
  int gradient_bytes = 4;                // of a reduced gradient
  int gathered_bytes = 2;                // of a parameter when shards are gathered
  bool has_master = true;                // fp32 copies of parameters in the optimizer
  int moment_bytes = 4;                  // of each moment of the optimizer
  int activation_input_bytes = 0;        // of what activation functions keep; 0: as it is computed

  bool operator==(const Precision&) const = default;
};

enum class OptimizerKind : std::uint8_t {
  kAdam,
  kSgd,
  kSkipped,  // forward and backward pass only, as some people time a step
};

/// The storage of frozen matrices beside adapters.
enum class BaseFormat : std::uint8_t {
  kSame,  // as they are computed with
  kNf4,   // QLoRA: four bits, with a scale for each block that has eight
};

struct Training {
  std::int64_t sequence = 0;      // tokens of a sample; 0 for models without
  std::int64_t micro_batch = 1;   // samples of one pass of one replica
  std::int64_t global_batch = 1;  // samples of a step of the whole job
  Precision precision = {};
  OptimizerKind optimizer = OptimizerKind::kAdam;
  // LoRA: only narrow matrices of this rank beside `adapter_targets` are trained; 0: all.
  std::int64_t adapter_rank = 0;
  AdapterTargets adapter_targets = AdapterTargets::kAttention;
  BaseFormat base_format = BaseFormat::kSame;
  std::int64_t frozen_blocks = 0;  // the first ones, with the embedding

  [[nodiscard]] TrainedPart trained() const {
    return {adapter_rank, adapter_targets, frozen_blocks};
  }

  bool operator==(const Training&) const = default;
};

/// Consecutive ranks with another GPU than the rest of a job.
struct OtherGpus {
  int first = 0;
  int last = 0;
  hardware::Gpu gpu;
};

/// Mechanisms of the simulator; each can be switched off to see its effect.
struct Mechanisms {
  bool power = true;         // sustained clocks at the board's limit instead of bursts
  bool host_calls = true;    // small kernels, wrappers and checkpoints beside an operation
  bool graphs = true;        // captured launches cost the host nothing
  bool receives = true;      // of a pipeline wait for the last pass, not as soon as the host can
  bool user_buffers = true;  // communication of tensor parallelism beside its GEMMs, in pieces
  bool calibration = true;   // constants of collectives fitted to machines, not the defaults

  bool operator==(const Mechanisms&) const = default;
};

struct MechanismName {
  std::string_view name;
  bool Mechanisms::* member;
};

inline constexpr std::array<MechanismName, 6> kMechanismNames{{
    {"power", &Mechanisms::power},
    {"host_calls", &Mechanisms::host_calls},
    {"graphs", &Mechanisms::graphs},
    {"receives", &Mechanisms::receives},
    {"user_buffers", &Mechanisms::user_buffers},
    {"calibration", &Mechanisms::calibration},
}};

/// A model, its training settings, plan, machine and framework: one YAML file
/// (docs/formats/job.md).
struct Job {
  std::string name;
  Model model;
  Training training;
  Plan plan;
  int gpus = 1;
  hardware::Cluster cluster;
  hardware::Gpu gpu;
  Framework framework;
  std::vector<OtherGpus> other_gpus = {};  // ascending; ranks that do not have `gpu`
  Mechanisms mechanisms = {};

  /// Passes of one replica in a step.
  [[nodiscard]] std::int64_t microbatches() const {
    return training.global_batch / (training.micro_batch * plan.dp);
  }
};

/// Checks that all parts fit together: the plan multiplies to the GPUs, heads divide by tp, the
/// batch divides, the schedule can run. One sentence that names the key and the fix.
[[nodiscard]] Status CheckJob(const Job& job);

/// Returns true if any block of the model has a mixture of experts for its MLP.
[[nodiscard]] bool HasExperts(const Model& model);

/// The experts of the first layer that has some; nullptr: no layer has.
[[nodiscard]] const Experts* ExpertsOf(const Model& model);

/// The number of ranks of a job on a kind of GPU.
struct GpuCount {
  const hardware::Gpu* gpu = nullptr;
  int ranks = 0;
};

/// The distinct GPUs of a job: its default one, then others in the order of their first ranks.
[[nodiscard]] std::vector<GpuCount> GpusOf(const Job& job);

/// The GPU of a rank. O(entries of Job::other_gpus).
[[nodiscard]] const hardware::Gpu& GpuOfRank(const Job& job, std::uint32_t rank);

/// Checks that ranks exist, that none is named twice and that all GPUs are of one vendor.
[[nodiscard]] Status CheckOtherGpus(const Job& job);

/// "8-15", or "8" for one rank.
[[nodiscard]] std::string RanksText(const OtherGpus& other);

/// Reads `{8-15: A100-80GB, 3: A100-80GB}`: ranks and the GPU that they have. Returns ascending
/// ranks; whether a job has them is not asked here.
[[nodiscard]] Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node);

}  // namespace orrery::workload
