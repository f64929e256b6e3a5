// Normalisation and dropout.
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

// The last dimensions, as many as `shape_at` lists, are normalised.
MappedOperators MapRows(const AtenCall& call, OperatorKind kind, std::size_t input_at,
                        std::size_t shape_at) {
  const AtenTensor* input = call.TensorAt(input_at);
  const std::size_t num_normalized = call.IntegersAt(shape_at).size();
  if (input == nullptr || !input->type || num_normalized == 0 ||
      num_normalized > input->dims.size()) {
    return std::nullopt;
  }
  const std::size_t first = input->dims.size() - num_normalized;
  Operator op(kind, *input->type);
  op.Set(Key::kRows, Product(input->dims, 0, first));
  op.Set(Key::kCols, Product(input->dims, first, input->dims.size()));
  op.Set(Key::kPass, input_at == 0 ? "fwd" : "bwd");
  return std::vector{op};
}

MappedOperators MapLayerNorm(const AtenCall& call) {
  return MapRows(call, OperatorKind::kLayerNorm, 0, 1);
}

MappedOperators MapLayerNormBackward(const AtenCall& call) {
  return MapRows(call, OperatorKind::kLayerNorm, 1, 2);
}

MappedOperators MapRmsNorm(const AtenCall& call) {
  return MapRows(call, OperatorKind::kRmsNorm, 0, 1);
}

MappedOperators MapRmsNormBackward(const AtenCall& call) {
  return MapRows(call, OperatorKind::kRmsNorm, 1, 2);
}

std::optional<Operator> BatchNorm(const AtenTensor* images, std::string_view pass) {
  if (images == nullptr || !images->type || images->dims.size() < 2) {
    return std::nullopt;
  }
  Operator op(OperatorKind::kBatchNorm, *images->type);
  op.Set(Key::kB, images->dims[0]).Set(Key::kC, images->dims[1]);
  op.Set(Key::kPixels, Product(images->dims, 2, images->dims.size()));
  op.Set(Key::kChannelsLast, IsChannelsLast(*images) ? 1 : 0).Set(Key::kPass, pass);
  return op;
}

// In inference the statistics are given: one pass that scales each channel.
Operator ScaleOfChannels(const AtenTensor& images) {
  Operator op(OperatorKind::kElementwise, *images.type);
  const auto bytes = static_cast<std::int64_t>(ElementBytes(*images.type));
  op.Set(Key::kFunction, "other").Set(Key::kN, images.Elements()).Set(Key::kMode, "broadcast");
  op.Set(Key::kReadBytes, bytes).Set(Key::kWriteBytes, bytes);
  return op;
}

MappedOperators MapBatchNorm(const AtenCall& call) {
  constexpr std::size_t kTraining = 5;
  const auto op = BatchNorm(call.TensorAt(0), "fwd");
  if (!op) {
    return std::nullopt;
  }
  return std::vector{call.IsTrueAt(kTraining) ? *op : ScaleOfChannels(*call.TensorAt(0))};
}

// Both tensors of images come first, the gradient and the input in either order.
MappedOperators MapBatchNormBackward(const AtenCall& call) {
  const auto op = BatchNorm(call.TensorAt(1), "bwd");
  return op ? MappedOperators(std::vector{*op}) : std::nullopt;
}

MappedOperators MapDropout(const AtenCall& call, std::string_view pass) {
  const AtenTensor* input = call.TensorAt(0);
  if (input == nullptr || !input->type) {
    return std::nullopt;
  }
  return std::vector{Operator(OperatorKind::kDropout, *input->type)
                         .Set(Key::kN, input->Elements())
                         .Set(Key::kPass, pass)};
}

MappedOperators MapDropoutForward(const AtenCall& call) {
  return MapDropout(call, "fwd");
}

MappedOperators MapDropoutBackward(const AtenCall& call) {
  return MapDropout(call, "bwd");
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"native_layer_norm", MapLayerNorm},
    {"native_layer_norm_backward", MapLayerNormBackward},
    {"_fused_rms_norm", MapRmsNorm},
    {"_fused_rms_norm_backward", MapRmsNormBackward},
    {"native_batch_norm", MapBatchNorm},
    {"_native_batch_norm_legit", MapBatchNorm},
    {"cudnn_batch_norm", MapBatchNorm},
    {"miopen_batch_norm", MapBatchNorm},
    {"native_batch_norm_backward", MapBatchNormBackward},
    {"cudnn_batch_norm_backward", MapBatchNormBackward},
    {"miopen_batch_norm_backward", MapBatchNormBackward},
    {"native_dropout", MapDropoutForward},
    {"native_dropout_backward", MapDropoutBackward},
});

}  // namespace

std::span<const Mapping> NormalizationMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
