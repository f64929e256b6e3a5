#pragma once

#include <cstdint>

#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// What a forward pass of one micro-batch through one block leaves on a rank for the backward pass.
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

  [[nodiscard]] std::int64_t total() const {
    return input + norms + attention + core + mlp + experts;
  }

  bool operator==(const BlockActivations&) const = default;
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

/// What the backward pass of a block has beside that while it runs: gradients of activations of its
/// widest part, and the gathered sequence.
[[nodiscard]] std::int64_t WorkingBytes(const Block& block, const ActivationSetting& setting);

/// Where a block stands; both count from 0.
struct BlockPlace {
  int of_stage = 0;
  int of_model = 0;
};

/// How a block is recomputed. A share p of all blocks is spread as fms-fsdp does: of the first n,
/// the whole part of n·p + ½ are recomputed.
[[nodiscard]] Recompute RecomputeOf(const Plan& plan, const BlockPlace& place);

/// What of it stays until the backward pass.
[[nodiscard]] std::int64_t KeptBytes(const BlockActivations& activations, const Plan& plan,
                                     Recompute recompute);

/// What the embedding leaves: the mask of its dropout.
[[nodiscard]] std::int64_t EmbeddingActivationBytes(const ActivationSetting& setting);

/// What the last norm, the head and the loss leave.
struct HeadActivations {
  std::int64_t inputs = 0;       // of the norm and of the head
  std::int64_t norm_result = 0;  // of these
  std::int64_t logits = 0;       // in fp32
  std::int64_t working = 0;      // while the loss is computed: as computed, shifted, raised

  [[nodiscard]] std::int64_t kept() const { return inputs + logits; }

  bool operator==(const HeadActivations&) const = default;
};

/// `vocabulary` is the padded one.
[[nodiscard]] HeadActivations HeadActivationsOf(const ActivationSetting& setting,
                                                std::int64_t vocabulary);

/// What a block hands to the next one, on one rank: also the message between stages.
[[nodiscard]] std::int64_t BlockOutputBytes(const ActivationSetting& setting);

}  // namespace orrery::workload
