// Normalization, dropout, softmax, losses, reductions, sorting and running sums.
#include <array>
#include <optional>

#include "orrery/kernel/aten/mapping.h"

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

std::span<const Mapping> RowMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
