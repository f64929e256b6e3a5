#pragma once

#include <cstdint>

#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Memory that a forward pass of one micro-batch through one block leaves on a rank for the
/// backward pass.
struct BlockActivations {
  std::int64_t input = 0;      // of the block: all that is kept when the whole block is recomputed
  std::int64_t norms = 0;      // other inputs of norms, masks of dropout behind sums
  std::int64_t attention = 0;  // inputs of its products, queries, keys, values, output
  std::int64_t core = 0;       // inside attention: scores and their masks, or flash's sums
  std::int64_t mlp = 0;        // of the feed-forward network; the input where there are experts
  std::int64_t experts = 0;    // of router, shared expert and routed tokens

  // Of these, what parts make that may be recomputed.
  std::int64_t norm_results = 0;
  std::int64_t latent_results = 0;      // queries, keys and values of latent attention
  std::int64_t activation_results = 0;  // of the feed-forward network, or of experts
  std::int64_t mlp_results = 0;         // between the GEMMs of the feed-forward network

  [[nodiscard]] std::int64_t total() const {
    return input + norms + attention + core + mlp + experts;
  }
};

/// The inputs of activation memory.
struct ActivationSetting {
  const Transformer& model;
  const Training& training;
  const Plan& plan;
  const Framework& framework;
};

/// Everything, as if nothing were recomputed. Korthikanti's table for materialised attention with
/// dropout; the layer of today for flash attention.
///
/// Tensor parallelism divides what it computes; what it repeats is divided by sequence parallelism
/// only. Products in fp8 keep their inputs in one byte. The busiest expert rank is meant.
[[nodiscard]] BlockActivations ActivationsOf(const Block& block, const ActivationSetting& setting);

/// Memory that the backward pass of a block uses beside that while it runs: gradients of
/// activations of its widest part, and the gathered sequence.
[[nodiscard]] std::int64_t WorkingBytes(const Block& block, const ActivationSetting& setting);

/// The place of a block; both count from 0.
struct BlockPlace {
  int of_stage = 0;
  int of_model = 0;
};

/// The recomputation of a block. A share p of all blocks is spread as fms-fsdp does: of the first
/// n, the whole part of n·p + ½ are recomputed.
[[nodiscard]] Recompute RecomputeOf(const Plan& plan, const BlockPlace& place);

/// Bytes of the activations that stay until the backward pass.
[[nodiscard]] std::int64_t KeptBytes(const BlockActivations& activations, const Plan& plan,
                                     Recompute recompute);

/// Memory that the embedding leaves: the mask of its dropout.
[[nodiscard]] std::int64_t EmbeddingActivationBytes(const ActivationSetting& setting);

/// Memory that the last norm, the head and the loss leave.
struct HeadActivations {
  std::int64_t inputs = 0;       // of the norm and of the head
  std::int64_t norm_result = 0;  // of these
  std::int64_t logits = 0;       // in fp32
  std::int64_t working = 0;      // while the loss is computed: as computed, shifted, raised

  [[nodiscard]] std::int64_t kept() const { return inputs + logits; }
};

/// `vocabulary` is the padded one.
[[nodiscard]] HeadActivations HeadActivationsOf(const ActivationSetting& setting,
                                                std::int64_t vocabulary);

/// The output that a block hands to the next one, on one rank: also the message between stages.
[[nodiscard]] std::int64_t BlockOutputBytes(const ActivationSetting& setting);

/// Tokens that an expert takes of one rank where it has a capacity: ⌈factor · tokens · k / E⌉.
[[nodiscard]] std::int64_t ExpertCapacity(double factor, std::int64_t tokens,
                                          const Experts& experts);

/// The expected load of the busiest of `ranks`, relative to the mean, when each of `assignments`
/// tokens of a rank chooses its expert independently: 1 + √(2 ln ranks / assignments).
[[nodiscard]] double UniformImbalance(int ranks, std::int64_t assignments);

/// The share of each expert in the choices of a token, the most popular first, when they are chosen
/// as 1/i^exponent. No expert takes a token twice.
[[nodiscard]] std::vector<double> ZipfShares(const Experts& experts, double exponent);

/// The busiest of `ranks` relative to the mean when the experts are chosen as 1/i^exponent and
/// dealt to ranks in turn. No expert takes a token twice. Exponent 0: 1.
[[nodiscard]] double ZipfImbalance(const Experts& experts, int ranks, double exponent);

/// Tokens that expert ranks process in one pass, one for each expert that a token goes to.
struct ExpertTokens {
  double mean = 0;
  double busiest = 0;

  bool operator==(const ExpertTokens&) const = default;
};

/// The tokens that arrive at an expert rank when each rank sends `tokens`: as many assignments as
/// it sends, times the imbalance of the plan; with a capacity every expert is padded to it.
[[nodiscard]] ExpertTokens TokensOfExpertRank(const Experts& experts, const Plan& plan,
                                              std::int64_t tokens);

/// Parameters of one rank before data parallelism shards them.
struct RankParameters {
  std::int64_t dense = 0;
  std::int64_t experts = 0;  // reduced and sharded among fewer ranks

  bool operator==(const RankParameters&) const = default;
};

/// Memory that a rank keeps between steps.
struct StateBytes {
  std::int64_t parameters = 0;
  std::int64_t gradients = 0;
  std::int64_t optimizer = 0;  // on the GPU
  std::int64_t offloaded = 0;  // in the memory of the host

  [[nodiscard]] std::int64_t on_gpu() const { return parameters + gradients + optimizer; }

  bool operator==(const StateBytes&) const = default;
};

/// A parameter as passes read it.
[[nodiscard]] int ParameterBytes(const Training& training);

/// Master copy and moments of one parameter: 12 with Adam in mixed precision.
[[nodiscard]] int OptimizerBytes(const Training& training);

/// The states of `parameters` that `shards` ranks share as `sharding` says. Shards round up.
[[nodiscard]] StateBytes StatesOf(std::int64_t parameters, Sharding sharding, int shards,
                                  const Training& training);

/// Elements of frozen matrices in four bits (NF4) that share a scale.
inline constexpr std::int64_t kNf4Block = 64;

/// Bytes of frozen matrices as they are stored: as parameters, or in four bits with a scale of
/// eight bits for each block and one of 32 for each 256 of these.
[[nodiscard]] std::int64_t BaseBytes(std::int64_t elements, const Training& training);

/// The part of frozen parameters that a rank keeps through a step.
[[nodiscard]] std::int64_t HeldFrozenBytes(std::int64_t bytes, const Plan& plan);

/// Bytes of what a unit keeps that are copied to the host.
[[nodiscard]] std::int64_t OffloadedBytes(std::int64_t kept, const Plan& plan);

/// The states of a rank: dense parameters and experts among their own ranks, offloaded or not.
[[nodiscard]] StateBytes StatesOf(const RankParameters& parameters, const Plan& plan,
                                  const Training& training);

/// Bytes that a gathered unit of `parameters` holds while it is used (ZeRO-3, FSDP).
[[nodiscard]] std::int64_t GatheredBytes(std::int64_t parameters, const Training& training);

/// Memory use that does not follow from the model (data/workload/memory.yaml).
struct MemoryConstants {
  std::int64_t context_bytes = 0;       // CUDA's context, loaded kernels, workspaces
  std::int64_t communicator_bytes = 0;  // buffers of one communicator
  std::int64_t workspace_bytes = 0;       // of the context: what PyTorch's allocator gives out
  std::int64_t wide_workspace_bytes = 0;  // more of these from Hopper on
  double fragmentation = 0;             // reserved beyond use, of memory that comes and goes
  double host_bytes_per_second = 0;     // of the host's memory, for each GPU
  double usable = 1;                    // of the size of the memory in data sheets
};

/// Those that are part of the program.
[[nodiscard]] const MemoryConstants& DefaultMemoryConstants();

}  // namespace orrery::workload
