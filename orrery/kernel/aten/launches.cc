// Kernels of recurrent layers.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

/// Kernels for the whole operator, each layer (of each direction), and each of its steps.
struct LayerKernels {
  std::int64_t once = 0;
  std::int64_t of_layer = 0;
  std::int64_t of_step = 0;
};

// cuDNN keeps small states on the chip and then runs a layer's steps in one kernel, in no bf16. All
// 4,226 recurrent layers of data/measured/h200 agree but for 30.
bool IsPersistent(const Operator& op, bool is_gated) {
  constexpr std::int64_t kLargestGated = 128;
  constexpr std::int64_t kLargest = 256;
  return op.type() != DataType::kBf16 && op.Get(kHidden) <= (is_gated ? kLargestGated : kLargest);
}

// A step is a product and an element-wise kernel; the products of the backward pass are split over
// their inner size where that is large, and the parts are added in a third.
LayerKernels OfSteps(const Operator& op, bool is_backward) {
  constexpr std::int64_t kSplitHalf = 512;
  constexpr std::int64_t kSplit = 200;
  const bool is_half = op.type() == DataType::kBf16 || op.type() == DataType::kFp16;
  const bool is_split = op.Get(kHidden) > (is_half ? kSplitHalf : kSplit);
  return is_backward ? LayerKernels{.of_layer = 8, .of_step = is_split ? 3 : 2}
                     : LayerKernels{.of_layer = 5, .of_step = 2};
}

LayerKernels Persistent(std::string_view function, bool is_backward) {
  if (is_backward) {
    return {.once = 4, .of_layer = 9};
  }
  return function == "gru"    ? LayerKernels{.once = 1, .of_layer = 3}
         : function == "lstm" ? LayerKernels{.once = 2, .of_layer = 2}
                              : LayerKernels{.once = 1, .of_layer = 2};
}

// Launches beside those of steps where sequences of different lengths are packed: each change of
// the batch moves states. Forward, sequences that join a reversed layer get their states, in two
// copies. Backward, those that end get the gradients of each state, and their rows of a product are
// another kernel. Fourteen layers of data/operator_models/h200/operators-2.csv.gz.
std::int64_t LaunchesOfChanges(const Operator& op, std::span<const std::int64_t> batches) {
  std::int64_t changes = 0;
  for (std::size_t step = 1; step < batches.size(); ++step) {
    changes += batches[step] != batches[step - 1] ? 1 : 0;
  }
  const bool is_both = op.Get(kBidirectional) != 0;
  const std::int64_t directions = is_both ? 2 : 1;
  const std::int64_t states = op.Word(kFunction) == "lstm" ? 2 : 1;
  const std::int64_t of_layer =
      op.Word(kPass) == "bwd" ? directions * (states + 1) + (is_both ? 1 : 0) : (is_both ? 2 : 0);
  return changes * of_layer * op.Get(kLayers);
}

}  // namespace

std::int64_t RnnLaunches(const Operator& op, std::span<const std::int64_t> batches) {
  if (op.kind() != OperatorKind::kRnn) {
    return 0;
  }
  const std::string_view function = op.Word(kFunction);
  const bool is_backward = op.Word(kPass) == "bwd";
  const bool is_gated = function == "lstm" || function == "gru";
  const bool is_persistent = batches.empty() && IsPersistent(op, is_gated);
  const LayerKernels launches =
      is_persistent ? Persistent(function, is_backward) : OfSteps(op, is_backward);
  const std::int64_t layers = op.Get(kLayers) * (op.Get(kBidirectional) != 0 ? 2 : 1);
  return launches.once + layers * (launches.of_layer + op.Get(kSequence) * launches.of_step) +
         LaunchesOfChanges(op, batches);
}

}  // namespace orrery::kernel
