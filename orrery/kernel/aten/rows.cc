// Normalization, dropout, softmax, losses, recurrent layers, reductions, sorting, running sums.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/data_type.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

const AtenTensor* TypedTensorAt(const AtenCall& call, std::size_t position) {
  const AtenTensor* tensor = call.TensorAt(position);
  return tensor != nullptr && tensor->type ? tensor : nullptr;
}

const AtenTensor* ShapedTensorAt(const AtenCall& call, std::size_t position) {
  const AtenTensor* tensor = TypedTensorAt(call, position);
  return tensor != nullptr && !tensor->dims.empty() ? tensor : nullptr;
}

// The last dimensions, as many as the argument after the input lists, are normalized.
template <OperatorKind kKind, std::size_t kInputAt>
MappedOperators MapNorm(const AtenCall& call) {
  const AtenTensor* input = TypedTensorAt(call, kInputAt);
  const std::size_t num_normalized = call.IntegersAt(kInputAt + 1).size();
  if (input == nullptr || num_normalized == 0 || num_normalized > input->dims.size()) {
    return std::nullopt;
  }
  const std::size_t first = input->dims.size() - num_normalized;
  Operator op(kKind, *input->type);
  op.Set(kRows, Product(input->dims, 0, first));
  op.Set(kCols, Product(input->dims, first, input->dims.size()));
  return std::vector{op.Set(kPass, kInputAt == 0 ? "fwd" : "bwd")};
}

// In inference the statistics are given: one pass that scales each channel.
Operator ScaleOfChannels(const AtenTensor& images) {
  Operator op(OperatorKind::kElementwise, *images.type);
  const auto bytes = static_cast<std::int64_t>(ElementBytes(*images.type));
  op.Set(kFunction, "other").Set(kN, images.Elements()).Set(kMode, "broadcast");
  return op.Set(kReadBytes, bytes).Set(kWriteBytes, bytes);
}

// In the backward pass the gradient and the input come first, in either order.
template <bool kIsBackward>
MappedOperators MapBatchNorm(const AtenCall& call) {
  constexpr std::size_t kTraining = 5;
  const AtenTensor* images = TypedTensorAt(call, kIsBackward ? 1 : 0);
  if (images == nullptr || images->dims.size() < 2) {
    return std::nullopt;
  }
  if (!kIsBackward && !call.IsTrueAt(kTraining)) {
    return std::vector{ScaleOfChannels(*images)};
  }
  Operator op(OperatorKind::kBatchNorm, *images->type);
  op.Set(kB, images->dims[0]).Set(kC, images->dims[1]);
  op.Set(kPixels, Product(images->dims, 2, images->dims.size()));
  op.Set(kChannelsLast, IsChannelsLast(*images) ? 1 : 0);
  return std::vector{op.Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

// Its sizes are arguments: images, batch, channels, pixels and groups. On a GPU it takes images in
// the default memory format only; the framework copies others before, in a call of its own.
template <bool kIsBackward>
MappedOperators MapGroupNorm(const AtenCall& call) {
  constexpr std::size_t kBatchAt = kIsBackward ? 5 : 3;
  const AtenTensor* images = TypedTensorAt(call, kIsBackward ? 1 : 0);
  const auto batch = call.IntegerAt(kBatchAt);
  const auto channels = call.IntegerAt(kBatchAt + 1);
  const auto pixels = call.IntegerAt(kBatchAt + 2);
  if (images == nullptr || !batch || !channels || !pixels) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kGroupNorm, *images->type);
  op.Set(kB, *batch).Set(kC, *channels).Set(kPixels, *pixels);
  op.Set(kGroups, call.IntegerAt(kBatchAt + 3).value_or(1));
  return std::vector{op.Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

// Positions of arguments.
constexpr std::size_t kModeOfForward = 6;
constexpr std::size_t kModeOfBackward = 10;
constexpr std::size_t kBatchesAfterMode = 8;

// Packed sequences are one list of rows, the sizes of the batch at each step beside it.
template <bool kIsBackward>
MappedOperators MapRnn(const AtenCall& call) {
  constexpr std::size_t kModeAt = kIsBackward ? kModeOfBackward : kModeOfForward;
  constexpr auto kCells = std::to_array<std::string_view>({"relu", "tanh", "lstm", "gru"});
  const AtenTensor* input = TypedTensorAt(call, 0);
  const auto mode = call.IntegerAt(kModeAt);
  const auto hidden = call.IntegerAt(kModeAt + 1);
  if (input == nullptr || input->dims.size() < 2 || !hidden || !mode || *mode < 0 ||
      *mode >= static_cast<std::int64_t>(kCells.size())) {
    return std::nullopt;
  }
  const std::vector<std::int64_t> packed = call.IntegersAt(kModeAt + kBatchesAfterMode);
  const bool is_packed = input->dims.size() == 2;
  if (is_packed && packed.empty()) {
    return std::nullopt;
  }
  const std::size_t batch_at = call.IsTrueAt(kModeAt + 4) ? 0 : 1;
  const bool is_tf32 = *input->type == DataType::kFp32 && call.convolutions_allow_tf32;
  Operator op(OperatorKind::kRnn, is_tf32 ? DataType::kTf32 : *input->type);
  op.Set(kFunction, kCells[static_cast<std::size_t>(*mode)]).Set(kHidden, *hidden);
  op.Set(kB, is_packed ? packed.front() : input->dims[batch_at]);
  op.Set(kSequence,
         is_packed ? static_cast<std::int64_t>(packed.size()) : input->dims[1 - batch_at]);
  op.Set(kInput, input->dims.back()).Set(kLayers, call.IntegerAt(kModeAt + 3).value_or(1));
  op.Set(kBidirectional, call.IsTrueAt(kModeAt + 7) ? 1 : 0);
  return std::vector{op.Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

// Fused cells read gates and states and write states and what the backward pass needs, each a
// multiple of the state's size.
template <std::size_t kStateAt, std::int64_t kStateShare, std::int64_t kReads, std::int64_t kWrites>
MappedOperators MapCell(const AtenCall& call) {
  const AtenTensor* state = TypedTensorAt(call, kStateAt);
  if (state == nullptr) {
    return std::nullopt;
  }
  const auto bytes = static_cast<std::int64_t>(ElementBytes(*state->type));
  return std::vector{Operator(OperatorKind::kElementwise, *state->type)
                         .Set(kFunction, "other")
                         .Set(kN, state->Elements() / kStateShare)
                         .Set(kReadBytes, kReads * bytes)
                         .Set(kWriteBytes, kWrites * bytes)};
}

template <bool kIsBackward>
MappedOperators MapDropout(const AtenCall& call) {
  const AtenTensor* input = TypedTensorAt(call, 0);
  if (input == nullptr) {
    return std::nullopt;
  }
  return std::vector{Operator(OperatorKind::kDropout, *input->type)
                         .Set(kN, input->Elements())
                         .Set(kPass, kIsBackward ? "bwd" : "fwd")};
}

// `dim_at` is the position of the dimension over which the exponentials are summed.
template <std::size_t kDimAt, bool kIsLog>
MappedOperators MapSoftmax(const AtenCall& call) {
  const AtenTensor* input = ShapedTensorAt(call, 0);
  if (input == nullptr) {
    return std::nullopt;
  }
  return std::vector{OverRows(OperatorKind::kSoftmax, *input, call.IntegerAt(kDimAt).value_or(-1))
                         .Set(kLog, kIsLog ? 1 : 0)
                         .Set(kPass, kDimAt == 1 ? "fwd" : "bwd")};
}

// Classes are the second dimension; images of classes have more behind.
template <OperatorKind kKind, std::size_t kScoresAt>
MappedOperators MapLoss(const AtenCall& call) {
  const AtenTensor* scores = ShapedTensorAt(call, kScoresAt);
  if (scores == nullptr) {
    return std::nullopt;
  }
  return std::vector{OverRows(kKind, *scores, scores->dims.size() == 1 ? 0 : 1)
                         .Set(kPass, kScoresAt == 0 ? "fwd" : "bwd")};
}

struct PairLoss {
  std::string_view name;
  std::string_view function;
  std::size_t reduction;  // position
  bool only_passes_on = false;
};

constexpr auto kPairLosses = std::to_array<PairLoss>({
    {"mse_loss", "mse", 2},
    {"mse_loss_backward", "mse", 3},
    {"smooth_l1_loss", "smooth_l1", 2},
    {"smooth_l1_loss_backward", "smooth_l1", 3},
    {"huber_loss", "huber", 2},
    {"huber_loss_backward", "huber", 3},
    {"binary_cross_entropy", "bce", 3},
    {"binary_cross_entropy_backward", "bce", 4},
    {"l1_loss", "l1", 2, true},
    {"binary_cross_entropy_with_logits", "bce_logits", 4, true},
    {"kl_div", "kl", 2, true},
});

// Of two tensors of the same shape; the backward pass has the gradient before them.
MappedOperators MapPairLoss(const AtenCall& call) {
  constexpr auto kReductions = std::to_array<std::string_view>({"none", "mean", "sum"});
  const PairLoss* loss = std::ranges::find(kPairLosses, PlainName(call.name), &PairLoss::name);
  const bool is_backward = loss->name.ends_with("_backward");
  const AtenTensor* input = TypedTensorAt(call, is_backward ? 1 : 0);
  const std::int64_t reduction = call.IntegerAt(loss->reduction).value_or(1);
  if (input == nullptr || reduction < 0 || reduction > 2) {
    return std::nullopt;
  }
  return std::vector{Operator(OperatorKind::kLoss, *input->type)
                         .Set(kFunction, loss->function)
                         .Set(kN, input->Elements())
                         .Set(kReduction, kReductions[static_cast<std::size_t>(reduction)])
                         .Set(kPass, is_backward ? "bwd" : "fwd")};
}

constexpr auto kPairLossMappings = [] {
  std::array<Mapping, kPairLosses.size()> mappings{};
  for (std::size_t i = 0; i < kPairLosses.size(); ++i) {
    mappings[i] = {kPairLosses[i].name, MapPairLoss, kPairLosses[i].only_passes_on};
  }
  return mappings;
}();

std::vector<bool> ReducedDims(const std::vector<std::int64_t>& listed, std::size_t num_dims) {
  std::vector<bool> is_reduced(num_dims, listed.empty());
  for (const std::int64_t dim : listed) {
    if (num_dims > 0) {
      is_reduced[DimensionIndex(dim, num_dims)] = true;
    }
  }
  return is_reduced;
}

// Dimensions after the last reduced one (in memory) are inner, all other kept ones outer.
Operator Reduce(const AtenTensor& input, std::string_view function,
                const std::vector<std::int64_t>& dims) {
  const std::vector<bool> is_reduced = ReducedDims(dims, input.dims.size());
  std::int64_t outer = 1;
  std::int64_t reduced = 1;
  std::int64_t inner = 1;
  for (const std::size_t dim : MemoryOrder(input)) {
    if (is_reduced[dim]) {
      reduced = Times(reduced, input.dims[dim]);
      outer = Times(outer, inner);
      inner = 1;
    } else {
      inner = Times(inner, input.dims[dim]);
    }
  }
  Operator op(OperatorKind::kReduce, *input.type);
  op.Set(kFunction, function);
  // An empty tensor needs no kernel.
  op.Set(kReduced, input.Elements() == 0 ? 0 : reduced);
  if (reduced == 1) {
    return op.Set(kOuter, inner).Set(kInner, 1);
  }
  return op.Set(kOuter, outer).Set(kInner, inner);
}

MappedOperators MapReduction(const AtenCall& call, std::string_view function, std::size_t dims_at) {
  const AtenTensor* input = TypedTensorAt(call, 0);
  if (input == nullptr) {
    return std::nullopt;
  }
  return std::vector{Reduce(*input, function, call.IntegersAt(dims_at))};
}

MappedOperators MapSum(const AtenCall& call) {
  return MapReduction(call, PlainName(call.name) == "mean" ? "mean" : "sum", 1);
}

// With a second tensor it is the element-wise maximum.
MappedOperators MapMax(const AtenCall& call) {
  return call.TensorAt(1) != nullptr ? ElementwiseOperator(call, "other")
                                     : MapReduction(call, "max", 1);
}

template <std::size_t kDimsAt>
MappedOperators MapSquares(const AtenCall& call) {
  return MapReduction(call, "norm", kDimsAt);
}

MappedOperators MapSort(const AtenCall& call) {
  const AtenTensor* input = TypedTensorAt(call, 0);
  if (input == nullptr) {
    return std::nullopt;
  }
  return std::vector{Operator(OperatorKind::kSort, *input->type).Set(kN, input->Elements())};
}

MappedOperators MapCumsum(const AtenCall& call) {
  const AtenTensor* input = ShapedTensorAt(call, 0);
  if (input == nullptr) {
    return std::nullopt;
  }
  return std::vector{OverRows(OperatorKind::kCumsum, *input, call.IntegerAt(1).value_or(-1))};
}

MappedOperators MapTopK(const AtenCall& call) {
  const AtenTensor* input = ShapedTensorAt(call, 0);
  const auto k = call.IntegerAt(1);
  if (input == nullptr || !k) {
    return std::nullopt;
  }
  return std::vector{
      OverRows(OperatorKind::kTopK, *input, call.IntegerAt(2).value_or(-1)).Set(kK, *k)};
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"native_layer_norm", MapNorm<OperatorKind::kLayerNorm, 0>},
    {"native_layer_norm_backward", MapNorm<OperatorKind::kLayerNorm, 1>},
    {"_fused_rms_norm", MapNorm<OperatorKind::kRmsNorm, 0>},
    {"_fused_rms_norm_backward", MapNorm<OperatorKind::kRmsNorm, 1>},
    {"native_batch_norm _native_batch_norm_legit cudnn_batch_norm miopen_batch_norm",
     MapBatchNorm<false>},
    {"native_batch_norm_backward cudnn_batch_norm_backward miopen_batch_norm_backward",
     MapBatchNorm<true>},
    {"native_group_norm", MapGroupNorm<false>},
    {"native_group_norm_backward", MapGroupNorm<true>},
    {"_cudnn_rnn", MapRnn<false>},
    {"_cudnn_rnn_backward", MapRnn<true>},
    {"_thnn_fused_lstm_cell", MapCell<2, 1, 9, 6>},
    {"_thnn_fused_gru_cell", MapCell<2, 1, 7, 6>},
    {"_thnn_fused_lstm_cell_backward_impl", MapCell<2, 1, 8, 5>},
    {"_thnn_fused_gru_cell_backward", MapCell<1, 5, 6, 7>},
    {"native_dropout", MapDropout<false>},
    {"native_dropout_backward", MapDropout<true>},
    {"_softmax", MapSoftmax<1, false>},
    {"_softmax_backward_data", MapSoftmax<2, false>},
    {"_log_softmax", MapSoftmax<1, true>},
    {"_log_softmax_backward_data", MapSoftmax<2, true>},
    {"nll_loss_forward nll_loss2d_forward", MapLoss<OperatorKind::kNll, 0>},
    {"nll_loss_backward nll_loss2d_backward", MapLoss<OperatorKind::kNll, 1>},
    {"cross_entropy_loss", MapLoss<OperatorKind::kCrossEntropy, 0>, true},
    {"sum nansum prod mean", MapSum},
    {"max min amax amin argmax argmin any all", MapMax},
    {"var std var_mean", MapSquares<1>},
    {"norm linalg_vector_norm", MapSquares<2>},
    {"sort", MapSort},
    {"argsort", MapSort, true},
    {"cumsum cumprod", MapCumsum},
    {"topk", MapTopK},
});

}  // namespace

std::vector<std::int64_t> BatchesOfSteps(const AtenCall& call) {
  const std::size_t mode_at =
      PlainName(call.name).ends_with("backward") ? kModeOfBackward : kModeOfForward;
  return call.IntegersAt(mode_at + kBatchesAfterMode);
}

std::span<const Mapping> RowMappings() {
  return kMappings;
}

std::span<const Mapping> LossMappings() {
  return kPairLossMappings;
}

}  // namespace orrery::kernel
