#pragma once

#include <cstdint>

#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// The tokens of one step: `samples` sequences of `sequence` tokens.
struct TokenBatch {
  std::int64_t sequence = 0;
  std::int64_t samples = 1;

  [[nodiscard]] double tokens() const {
    return static_cast<double>(sequence) * static_cast<double>(samples);
  }
};

/// Floating-point operations of one forward pass, a multiplication and an addition each counted.
/// Only matrix products count; norms, softmax and the like do not.
struct ForwardFlops {
  double products = 0;  // projections, feed-forward networks, the experts that tokens go to
  double router = 0;
  // Queries times keys and weights times values: the whole square, or a band as wide as the window.
  double scores = 0;
  double causal_scores = 0;  // the part of it that causal masks leave
  double head = 0;           // logits, and what stands before them
};

[[nodiscard]] ForwardFlops ForwardFlopsOf(const Transformer& model, const TokenBatch& batch);

/// The conventions in which papers and logs count the operations of a step. Where a convention was
/// written for GPT, it is carried over to grouped heads, gated networks and experts part by part;
/// for GPT the published formula comes out. The vocabulary is that of the model: pad it first where
/// the source did.

/// Narayanan et al., SC'21, equation 3: hardware, with all layers computed twice. Not causal.
/// 96·B·s·L·h²(1 + s/(6h) + V/(16Lh)).
[[nodiscard]] double RecomputedFlops(const Transformer& model, const TokenBatch& batch);

/// Korthikanti et al., equation 7, and nanotron: the model's, not causal.
/// 72·B·L·s·h²(1 + s/(6h) + V/(12hL)).
///
/// Gradients of frozen weights are not computed, and frozen blocks have no backward pass.
[[nodiscard]] double ModelFlops(const Transformer& model, const TokenBatch& batch,
                                const TrainedPart& trained = {});

/// Hardware FLOPs with selective recomputation: equation 7 and 4·B·L·s²·h. (Equation 8 of
/// Korthikanti et al. as printed counts what is recomputed three times.)
[[nodiscard]] double SelectiveFlops(const Transformer& model, const TokenBatch& batch);

/// llm-foundry and FlashAttention-2: 3·(2·N·s + 4·L·h·s²)·B, all parameters, not causal.
[[nodiscard]] double LlmFoundryFlops(const Transformer& model, const TokenBatch& batch);

/// Megatron-LM today, Megatron-Bridge, NeMo: causal scores are halved, experts count those of a
/// token, routers do not count.
[[nodiscard]] double MegatronFlops(const Transformer& model, const TokenBatch& batch);

/// 6·N·tokens with the parameters that a token meets; eightfold with recomputation.
[[nodiscard]] double SixNFlops(const Transformer& model, const TokenBatch& batch);

/// The execution of a step, as far as it changes the count.
struct Execution {
  Recompute recompute = Recompute::kNothing;
  double recomputed_share = 1;  // of the layers, Recompute::kFull
  RecomputedParts parts = {};   // of the other layers
  bool skips_masked = true;     // a kernel that leaves masked scores out
  bool rebuilds_scores = true;  // flash: the backward pass computes scores again, 2.5 passes
  TrainedPart trained = {};
};

/// FLOPs that the hardware executes in a step: all products of both passes, routers too, and
/// recomputation.
[[nodiscard]] double ExecutedFlops(const Transformer& model, const TokenBatch& batch,
                                   const Execution& execution);

/// The products of a list of layers, as its operators say; the backward pass twice the forward
/// pass where a layer names none.
[[nodiscard]] double ModelFlops(const LayerList& list, std::int64_t samples);

/// The products of the two networks and of the interaction.
[[nodiscard]] double ModelFlops(const Dlrm& model, std::int64_t samples);

/// By the conventions above that are the model's own and not causal.
[[nodiscard]] double ModelFlops(const Model& model, const TokenBatch& batch,
                                const TrainedPart& trained = {});

}  // namespace orrery::workload
