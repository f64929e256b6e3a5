#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

enum class AttentionKernel : std::uint8_t {
  kFlash,         // one kernel, scores stay on the chip; the fastest for a GPU
  kFlash2,        // FlashAttention-2 and its like, made for Ampere
  kFlash1,        // the first FlashAttention and its like
  kMaterialised,  // two GEMMs and a softmax over scores in memory
};

enum class TensorOverlap : std::uint8_t {
  kNever,
  kBackward,   // the sum of input gradients overlaps with the weight gradient
  kPipelined,  // GEMMs and communication are split into pieces (user buffers)
};

enum class CudaGraphs : std::uint8_t {
  kOff,
  kLayers,  // of each layer; what depends on the routing of tokens is launched one by one
  kStep,    // launches cost nothing
};

enum class DataOverlap : std::uint8_t {
  kAfterBackward,  // one message when all gradients are complete
  kBuckets,        // each bucket as soon as its gradients are complete
};

/// The behaviour of a framework, declared, and its efficiency, fitted. Declared properties say
/// what overlaps and which kernels exist; at most six fitted scalars say how fast
/// they are relative to kernels and collectives alone. data/workload/frameworks.yaml has them
/// with their origin (docs/formats/framework.md); a job may override declared ones
/// and launch_us.
struct Framework {
  std::string name;
  hardware::MatchWords match = {};         // its name in tables of published runs
  std::vector<std::string> releases = {};  // that it is limited to, by their beginning; empty: all
  std::string origin;
  std::vector<std::string> guessed = {};  // keys of declared properties that no document states

  // Declared.
  AttentionKernel attention = AttentionKernel::kFlash;
  bool fuses_bias_activation = true;
  bool fuses_dropout_add = true;
  bool fuses_rope = true;
  // Scale, mask and softmax of scores in memory are one kernel, for batch · heads in fours.
  bool fuses_softmax = true;
  bool fuses_norm = true;                   // one kernel, not five
  bool fuses_cross_entropy = false;         // logits are read once forward and once backward
  bool splits_loss = false;                 // written out over logits even on one rank
  bool fuses_gradient_accumulation = true;  // in the weight gradient's product
  bool narrows_gradients = false;           // fp16 ones are summed and reduced as fp16, not fp32
  bool scales_gradients_once = false;       // fp16 ones are unscaled and clipped by one kernel
  bool is_compiled = false;                 // elementwise chains are one kernel, few host gaps
  bool has_unfused_layers = false;          // as Hugging Face writes them, map by map
  bool copies_shards = false;               // from and to the buffers of their communications
  bool wraps_communication = false;         // in Python: they cost the host as much as a kernel
  // More calls of the host for each GEMM whose weight tensor parallelism cuts: those of DTensor.
  int sharded_weight_calls = 0;
  bool has_eager_modules = false;    // of Transformer Engine or Megatron-Core
  int module_calls = 0;              // of the host more for each GEMM, norm and core of attention
  bool module_per_expert = false;    // eager modules: not all experts of a rank together
  int step_calls = 0;                // of the host between two steps
  bool logs_parameter_norm = false;  // of every step: the host reads it
  bool logs_gradient_zeros = false;  // likewise
  bool weighs_in_experts = false;    // activations of experts: kept before it, too, without a gate
  bool loss_in_place = false;        // fp32 logits become loss and gradient in place
  bool prioritises_communication = false;  // its streams go first where kernels wait for room
  CudaGraphs graphs = CudaGraphs::kOff;
  bool launch_blocking = false;        // CUDA_LAUNCH_BLOCKING=1: the host waits for each kernel
  bool fuses_permute = false;          // tokens are sorted to experts and back by one kernel each
  bool launches_each_expert = false;   // grouped GEMMs are a loop over experts on the host
  bool sends_narrow_tokens = false;    // to experts, where their GEMMs are narrow
  bool reads_routing = false;          // the host waits for the number of tokens of each expert
  bool keeps_gathered_inputs = false;  // of products, where the sequence is cut: no gather backward
  TensorOverlap tensor_overlap = TensorOverlap::kBackward;
  // The overlap of a run that says that it overlaps tensor parallelism, and of one that denies it.
  TensorOverlap tensor_overlap_on = TensorOverlap::kPipelined;
  TensorOverlap tensor_overlap_off = TensorOverlap::kNever;
  DataOverlap data_overlap = DataOverlap::kAfterBackward;
  bool gathers_in_forward = false;     // sharded parameters come back during the next forward pass
  Reshard reshard = Reshard::kAlways;  // of jobs that do not say (Plan::reshard)
  bool overlaps_pipeline_sends = true;
  bool cuts_experts = false;  // tensor parallelism cuts experts unless told otherwise
  // How a published run sends tokens to experts unless it says so, and to how many nodes at most.
  TokenDispatch dispatch = TokenDispatch::kAllToAll;
  int expert_nodes = 0;
  // Recomputation and storage of a published run that does not state them.
  RecomputedParts recompute_parts = {};
  int moment_bytes = 4;            // of each moment of the optimizer
  int activation_input_bytes = 0;  // of what activation functions keep; 0: as it is computed
  bool scales_fp8_blocks = false;  // fp8 has a scale for each block
  bool overlaps_experts = false;   // dispatch of one micro-batch beside work of another
  bool waits_each_pipeline_message = false;  // the host waits for it
  bool waits_each_batch = false;         // the host waits for all work before a micro-batch begins
  std::int64_t bucket_bytes = 25 << 20;  // of gradients; 0: one bucket
  std::int64_t first_bucket_bytes = 1 << 20;
  std::int64_t least_bucket_elements = 0;  // Megatron: max(this, 1,000,000 · dp) elements
  bool scales_bucket_with_ranks = false;
  int vocabulary_multiple = 128;  // times tp
  int most_chunks =
      1;  // of a device, where its recipes interleave and a table does not say how far
  bool splits_layers_by_work = false;  // stages get equal work, the head's included (nanotron)
  bool uses_dropout = false;           // in GPT models of published runs that do not say so
  bool counts_causal_flops = false;    // in the TFLOP/s that its tables publish

  /// The framework that it shares its code with, and so the fitted scalars; empty: it has its own.
  std::string scalars_of = {};

  // Fitted, each within its range (FittedScalars).
  double gemm_rate = 1;           // of matrix products, of what kernels reach alone
  double attention_rate = 1;      // of attention, whose kernels frameworks choose
  double memory_rate = 1;         // of all other kernels
  double communication_rate = 1;  // of collectives
  double launch_us = 4;           // of the host for each kernel
  double spread = 0;              // of ranks' speeds: what waiting for the slowest adds, relative
  bool is_fitted = false;         // to rows of its own; else they are the population's mean

  bool operator==(const Framework&) const = default;
};

/// A fitted scalar, its key and what is plausible for it.
struct FittedScalar {
  std::string_view key;
  double Framework::* member;
  double least;
  double most;
};

inline constexpr std::size_t kNumScalars = 6;

/// All of them, in the order of the struct.
[[nodiscard]] std::span<const FittedScalar> FittedScalars();

/// The distribution of the fitted scalars over frameworks: the expectation for a framework without
/// measurements, and its uncertainty.
struct ScalarPopulation {
  Framework mean;
  std::array<double, kNumScalars> deviation = {};  // of the logarithm
  double noise = 0;  // deviation of ln(predicted / measured) of a run with fitted scalars
};

/// That of the shipped fits.
[[nodiscard]] const ScalarPopulation& Population();

/// Gives a framework the fitted scalars of another one.
void CopyScalars(const Framework& from, Framework& to);

/// Those that are part of the program (data/workload/frameworks.yaml), with the scalars of
/// data/workload/framework_fits.yaml.
[[nodiscard]] const std::vector<Framework>& Frameworks();

/// The same with the scalars of another file of `orrery fit frameworks` and no others.
[[nodiscard]] Result<std::vector<Framework>> FrameworksWithFits(const std::string& yaml);

/// Finds one by its name in any case, then by the words of its other names: the first match, with
/// the release where one is told. Nothing when there is none.
[[nodiscard]] const Framework* FindFramework(std::string_view name, std::string_view release = {});

/// The framework that stands for those that the catalogue does not describe: its last entry.
[[nodiscard]] const Framework& UnknownFramework();

/// Reads the scalars that `orrery fit frameworks` wrote into the frameworks of the same names, and
/// the population's mean into all others; returns the population. An error is one sentence.
[[nodiscard]] Result<ScalarPopulation> ReadFrameworkFits(const std::string& yaml,
                                                         std::vector<Framework>& frameworks);

/// Reads a file of frameworks; an error is one sentence.
[[nodiscard]] Result<std::vector<Framework>> ReadFrameworks(const std::string& yaml);

/// Reads declared properties over those of `framework`; what is not there stays as it is. For
/// catalogues and for jobs that override some.
void ReadDeclared(YamlFields& fields, Framework& framework);

/// Sets a declared property as "framework.KEY=VALUE" says.
[[nodiscard]] Status SetDeclared(const std::string& setting, Framework& framework);

/// Reads what the host takes for a kernel, the one fitted scalar that a job may know better: its
/// host may have been measured.
void ReadHostCost(YamlFields& fields, Framework& framework);

}  // namespace orrery::workload
