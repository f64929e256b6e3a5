// Pooling and nearest upsampling of images.
#include <algorithm>
#include <array>

#include "orrery/kernel/aten/layout.h"
#include "orrery/kernel/aten/mapping.h"

namespace orrery::kernel {
namespace {

std::int64_t FirstOf(const AtenCall& call, std::size_t position, std::int64_t otherwise) {
  const std::vector<std::int64_t> settings = call.IntegersAt(position);
  return settings.empty() ? otherwise : settings.front();
}

Operator OfImages(OperatorKind kind, const AtenTensor& images, bool is_backward) {
  Operator op(kind, *images.type);
  op.Set(Key::kB, images.dims[0]).Set(Key::kC, images.dims[1]);
  op.Set(Key::kHeight, images.dims[2]).Set(Key::kWidth, images.dims[3]);
  op.Set(Key::kChannelsLast, IsChannelsLast(images) ? 1 : 0);
  return op.Set(Key::kPass, is_backward ? "bwd" : "fwd");
}

// Window, stride and padding follow the images; without a stride windows are adjacent.
MappedOperators MapPool(const AtenCall& call, OperatorKind kind, std::size_t images_at) {
  const AtenTensor* images = call.TensorAt(images_at, 4);
  if (images == nullptr || !images->type) {
    return std::nullopt;
  }
  Operator op = OfImages(kind, *images, images_at == 1);
  const std::int64_t window = FirstOf(call, images_at + 1, 1);
  op.Set(Key::kKernelHeight, window).Set(Key::kStride, FirstOf(call, images_at + 2, window));
  return std::vector{op.Set(Key::kPad, FirstOf(call, images_at + 3, 0))};
}

MappedOperators MapMaxPool(const AtenCall& call) {
  return MapPool(call, OperatorKind::kMaxPool, 0);
}

MappedOperators MapMaxPoolBackward(const AtenCall& call) {
  return MapPool(call, OperatorKind::kMaxPool, 1);
}

MappedOperators MapAvgPool(const AtenCall& call) {
  return MapPool(call, OperatorKind::kAvgPool, 0);
}

MappedOperators MapAvgPoolBackward(const AtenCall& call) {
  return MapPool(call, OperatorKind::kAvgPool, 1);
}

// The window follows from the output size.
MappedOperators MapAdaptive(const AtenTensor* images, std::int64_t out_height, bool is_backward) {
  if (images == nullptr || !images->type || out_height < 1) {
    return std::nullopt;
  }
  Operator op = OfImages(OperatorKind::kAvgPool, *images, is_backward);
  const std::int64_t window = std::max<std::int64_t>(images->dims[2] / out_height, 1);
  return std::vector{op.Set(Key::kKernelHeight, window).Set(Key::kStride, window)};
}

MappedOperators MapAdaptivePool(const AtenCall& call) {
  return MapAdaptive(call.TensorAt(0, 4), FirstOf(call, 1, 1), false);
}

MappedOperators MapAdaptivePoolBackward(const AtenCall& call) {
  const AtenTensor* gradient = call.TensorAt(0, 4);
  return MapAdaptive(call.TensorAt(1, 4), gradient == nullptr ? 0 : gradient->dims[2], true);
}

MappedOperators MapUpsample(const AtenCall& call) {
  const AtenTensor* images = call.TensorAt(0, 4);
  if (images == nullptr || !images->type || images->dims[2] < 1) {
    return std::nullopt;
  }
  const std::int64_t height = FirstOf(call, 1, images->dims[2]);
  return std::vector{OfImages(OperatorKind::kUpsample, *images, false)
                         .Set(Key::kScale, std::max<std::int64_t>(height / images->dims[2], 1))};
}

// The third argument is the shape of the images before upsampling.
MappedOperators MapUpsampleBackward(const AtenCall& call) {
  const AtenTensor* gradient = call.TensorAt(0, 4);
  const std::vector<std::int64_t> shape = call.IntegersAt(2);
  if (gradient == nullptr || !gradient->type || shape.size() != 4 || shape[2] < 1) {
    return std::nullopt;
  }
  Operator op = OfImages(OperatorKind::kUpsample, *gradient, true);
  op.Set(Key::kHeight, shape[2]).Set(Key::kWidth, shape[3]);
  return std::vector{op.Set(Key::kScale, std::max<std::int64_t>(gradient->dims[2] / shape[2], 1))};
}

constexpr auto kMappings = std::to_array<Mapping>({
    {"max_pool2d_with_indices", MapMaxPool},
    {"max_pool2d_with_indices_backward", MapMaxPoolBackward},
    {"avg_pool2d", MapAvgPool},
    {"avg_pool2d_backward", MapAvgPoolBackward},
    {"_adaptive_avg_pool2d", MapAdaptivePool},
    {"_adaptive_avg_pool2d_backward", MapAdaptivePoolBackward},
    {"upsample_nearest2d", MapUpsample},
    {"upsample_nearest2d_backward", MapUpsampleBackward},
});

}  // namespace

std::span<const Mapping> PoolingMappings() {
  return kMappings;
}

}  // namespace orrery::kernel
