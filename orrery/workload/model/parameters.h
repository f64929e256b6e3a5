#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/workload/model/model.h"

namespace orrery::workload {

enum class TensorSpread : std::uint8_t {
  kSplit,   // tensor parallelism cuts it
  kWhole,   // every tensor-parallel rank has it
  kExpert,  // of a routed expert
};

/// A tensor of parameters, as a framework defines it.
struct ParameterTensor {
  std::string name;
  std::int64_t elements = 0;
  TensorSpread spread = TensorSpread::kWhole;
};

/// The tensors of a block in the order in which modules define them: GPT-2's (norm, fused
/// attention, norm, network) where norms have a mean, LLaMA's (attention, network, norms) where
/// they are root mean squares. Together they are what ParametersOf counts.
[[nodiscard]] std::vector<ParameterTensor> TensorsOf(const Block& block, std::int64_t hidden);

/// The products beside which LoRA trains narrow matrices.
enum class AdapterTargets : std::uint8_t {
  kAttention,  // its projections
  kLinear,     // those of feed-forward networks too
};

/// The part of a transformer that is trained.
struct TrainedPart {
  std::int64_t adapter_rank =
      0;  // of the narrow matrices of LoRA, all else is frozen; 0: whole ones
  AdapterTargets targets = AdapterTargets::kAttention;
  std::int64_t frozen_blocks = 0;  // the first ones, with the embedding: they run forward only

  bool operator==(const TrainedPart&) const = default;
};

/// The matrices that LoRA trains of a block: down to its rank and up again beside queries, keys and
/// values as one, beside the projection, and beside both products of a feed-forward network where
/// they are targets. Latent attention has the projection's only, experts have none.
[[nodiscard]] std::vector<ParameterTensor> AdapterTensors(const Block& block, std::int64_t hidden,
                                                          const TrainedPart& trained);

/// Elements of the matrices of a block that are stored in four bits where its base is (QLoRA):
/// projections of attention and both products of a feed-forward network.
struct BaseMatrices {
  std::int64_t elements = 0;
  std::int64_t largest = 0;  // of one product
};

[[nodiscard]] BaseMatrices BaseMatricesOf(const Block& block, std::int64_t hidden);

/// Embeddings of words, positions and segments; patches of a ViT.
[[nodiscard]] std::vector<ParameterTensor> EmbeddingTensors(const Transformer& model,
                                                            std::int64_t vocabulary);

/// Final norms and the head; a tied head only where `with_tied`.
[[nodiscard]] std::vector<ParameterTensor> HeadTensors(const Transformer& model,
                                                       std::int64_t vocabulary, bool with_tied);

/// One of the model's extra predictions: a block as the last one, the projection that joins the
/// next token's embedding to the hidden vector, and their norms. Embedding and head are shared.
[[nodiscard]] std::vector<ParameterTensor> ExtraPredictionTensors(const Transformer& model);

/// Adds `more` behind `tensors`, each name behind `prefix`.
void Append(std::vector<ParameterTensor>& tensors, std::string_view prefix,
            const std::vector<ParameterTensor>& more);

/// Numbers of parameters of the parts of a model.
///
/// Tensor parallelism cuts `split` into equal parts and copies `whole`.
struct PartParameters {
  std::int64_t split = 0;    // matrices and their biases that tensor parallelism cuts
  std::int64_t whole = 0;    // norms, biases after a sum, routers
  std::int64_t experts = 0;  // all routed experts

  [[nodiscard]] std::int64_t total() const { return split + whole + experts; }

  bool operator==(const PartParameters&) const = default;
};

[[nodiscard]] PartParameters Sum(const std::vector<ParameterTensor>& tensors);

/// Numbers that enter the first layer of `top`: the dense vector and all pairs of vectors.
[[nodiscard]] std::int64_t InteractionWidth(const Dlrm& model);

/// All parameters, each once, vocabulary as it is; extra predictions count.
[[nodiscard]] std::int64_t TotalParameters(const Model& model);

/// Those that one token meets: experts count `per_token` of `count`, tables
/// the rows that are looked up.
[[nodiscard]] std::int64_t ActiveParameters(const Model& model);

}  // namespace orrery::workload
