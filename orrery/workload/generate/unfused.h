#pragma once

#include <cstdint>
#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/layer_writer.h"

/// Parts of layers as models of Hugging Face run them, one kernel for each operation
/// (Framework::has_unfused_layers). Counted in recordings of PyTorch 2.11 (data/traced).
namespace orrery::workload {

enum class Pass : std::uint8_t { kForward, kBackward };

/// The matrix that kernels go over.
struct Extent {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// RMSNorm over rows: computed in fp32, with the weight's gradient backward.
[[nodiscard]] std::vector<LayerOp> UnfusedRmsNorm(Pass pass, const Extent& extent,
                                                  const MicrobatchShape& shape);

/// Rotary positions of queries and keys; backward, with the gradients put into
/// the order that products read.
[[nodiscard]] std::vector<LayerOp> UnfusedRope(Pass pass, const Extent& extent,
                                               const MicrobatchShape& shape);

/// The sums of input gradients from `branches` matrices.
[[nodiscard]] std::vector<LayerOp> SumsOfBranches(int branches, const Extent& extent,
                                                  const MicrobatchShape& shape);

/// The loss is computed in fp32: logits forward, their gradient backward.
[[nodiscard]] LayerOp CastOfLogits(Pass pass, const Extent& extent, const MicrobatchShape& shape);

/// Adds copies of a unit's gathered parameters before its passes and of its gradients after them
/// (Framework::copies_shards).
void AddCopiesOfShards(std::int64_t parameters, const MicrobatchShape& shape, UnitOps& unit);

}  // namespace orrery::workload
