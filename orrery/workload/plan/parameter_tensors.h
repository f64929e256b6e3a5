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

  bool operator==(const ParameterTensor&) const = default;
};

/// The tensors of a block in the order in which modules define them: GPT-2's (norm, fused
/// attention, norm, network) where norms have a mean, LLaMA's (attention, network, norms) where
/// they are root mean squares. Together they are what ParametersOf counts.
[[nodiscard]] std::vector<ParameterTensor> TensorsOf(const Block& block, std::int64_t hidden);

/// The matrices that LoRA trains of a block: down to `rank` and up again beside queries, keys and
/// values as one, and beside the projection. Latent attention has the latter only.
[[nodiscard]] std::vector<ParameterTensor> AdapterTensors(const Block& block, std::int64_t hidden,
                                                          std::int64_t rank);

/// Embeddings of words, positions and segments; patches of a ViT.
[[nodiscard]] std::vector<ParameterTensor> EmbeddingTensors(const Transformer& model,
                                                            std::int64_t vocabulary);

/// Final norms and the head; a tied head only where `with_tied`.
[[nodiscard]] std::vector<ParameterTensor> HeadTensors(const Transformer& model,
                                                       std::int64_t vocabulary, bool with_tied);

/// All tensors of a model, those of block 7 as "blocks.7.…".
[[nodiscard]] std::vector<ParameterTensor> TensorsOf(const Transformer& model);

/// Adds `more` behind `tensors`, each name behind `prefix`.
void Append(std::vector<ParameterTensor>& tensors, std::string_view prefix,
            const std::vector<ParameterTensor>& more);

}  // namespace orrery::workload
