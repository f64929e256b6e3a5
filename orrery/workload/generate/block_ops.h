#pragma once

#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// The operations of one transformer block for one micro-batch on one rank.
[[nodiscard]] UnitOps BlockOps(const MicrobatchShape& shape, const Transformer& model,
                               const Block& block);

/// Token embedding with positions, at the begin of the first stage.
[[nodiscard]] UnitOps EmbeddingOps(const MicrobatchShape& shape, const Transformer& model);

/// Last norm, head and loss, at the end of the last stage.
[[nodiscard]] UnitOps HeadOps(const MicrobatchShape& shape, const Transformer& model);

/// One of the blocks that predict further tokens: it joins the next token's embedding to the hidden
/// vector and ends in the head that all share.
[[nodiscard]] UnitOps ExtraPredictionOps(const MicrobatchShape& shape, const Transformer& model);

/// The vocabulary as frameworks pad it.
[[nodiscard]] std::int64_t PaddedVocabulary(const Job& job, const Transformer& model);

// Parts of a block, for BlockOps.

void WriteAttention(const Attention& attention, double dropout, LayerWriter& writer);
void WriteFeedForward(const FeedForward& mlp, std::int64_t rows, bool is_cut, LayerWriter& writer);
void WriteExperts(const Experts& experts, LayerWriter& writer);

/// The activation between the matrices of a feed-forward network, `width` of this rank.
void WriteActivation(const FeedForward& mlp, std::int64_t rows, std::int64_t width,
                     LayerWriter& writer);

/// The end of a step on one rank: the norm of all gradients, then the update of what the rank owns.
[[nodiscard]] std::vector<LayerOp> OptimizerOps(const Job& job, const StageTensors& tensors);

/// The number of parameters that a rank updates itself.
[[nodiscard]] std::int64_t OwnedParameters(const Plan& plan, const RankParameters& parameters);

}  // namespace orrery::workload
