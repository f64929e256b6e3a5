#pragma once

#include <cstdint>

#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// How many parameters the parts of a model have.
///
/// Tensor parallelism cuts `split` into equal parts and copies `whole`.
struct PartParameters {
  std::int64_t split = 0;    // matrices and their biases that tensor parallelism cuts
  std::int64_t whole = 0;    // norms, biases after a sum, routers
  std::int64_t experts = 0;  // all routed experts

  [[nodiscard]] std::int64_t total() const { return split + whole + experts; }

  bool operator==(const PartParameters&) const = default;
};

[[nodiscard]] PartParameters ParametersOf(const Block& block, std::int64_t hidden);

/// `vocabulary` is given apart because frameworks pad it.
[[nodiscard]] PartParameters EmbeddingParameters(const Transformer& model, std::int64_t vocabulary);

/// Final norms and head; a tied head counts where `with_tied` (a stage of its own holds a copy).
[[nodiscard]] PartParameters HeadParameters(const Transformer& model, std::int64_t vocabulary,
                                            bool with_tied);

/// One of the model's extra predictions: a block as the last one, the projection that joins the
/// next token's embedding to the hidden vector, and their norms. Embedding and head are shared.
[[nodiscard]] PartParameters ExtraPredictionParameters(const Transformer& model);

/// Numbers that enter the first layer of `top`: the dense vector and all pairs of vectors.
[[nodiscard]] std::int64_t InteractionWidth(const Dlrm& model);

/// All parameters, each once, vocabulary as it is; extra predictions count.
[[nodiscard]] std::int64_t TotalParameters(const Model& model);

/// Those that one token meets: experts count `per_token` of `count`, tables
/// the rows that are looked up.
[[nodiscard]] std::int64_t ActiveParameters(const Model& model);

}  // namespace orrery::workload
