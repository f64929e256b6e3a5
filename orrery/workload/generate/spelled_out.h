#pragma once

#include <cstdint>
#include <vector>

#include "orrery/workload/generate/scene.h"
#include "orrery/workload/generate/step.h"

/// Parts of layers as models of Hugging Face write them, one kernel for each operation
/// (Framework::spells_out_layers). Counted in recordings of PyTorch 2.11 (data/traced).
namespace orrery::workload {

enum class Pass : std::uint8_t { kForward, kBackward };

/// RMSNorm over `n` elements: computed in fp32, with the weight's gradient backward.
[[nodiscard]] std::vector<Step> SpelledOutRmsNorm(Pass pass, std::int64_t n, const Scene& scene);

/// Rotary positions of `n` elements of queries and keys; backward, with the gradients put into
/// the order that products read.
[[nodiscard]] std::vector<Step> SpelledOutRope(Pass pass, std::int64_t n, const Scene& scene);

/// Gradients of one input of `n` elements that come from `branches` matrices: their sums.
[[nodiscard]] std::vector<Step> SumsOfBranches(int branches, std::int64_t n, const Scene& scene);

}  // namespace orrery::workload
