#include "orrery/kernel/floor.h"

#include <algorithm>

#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

/// Winograd's and Fourier's convolutions multiply less than their definition. Measured, the fastest
/// one takes a third of the time at the peak (docs/design/0022-collective-physics.md).
constexpr double kFewestProducts = 0.25;

/// Vector units calculate with two halves at once.
constexpr double kHalvesAtOnce = 0.5;

/// AMD's cache beyond the L2 from CDNA 3 on, which the catalogue does not count.
constexpr double kInfinityCacheBytes = 256.0 * (1 << 20);

double CachedBytes(const hardware::Gpu& gpu) {
  const bool has_more = gpu.generation == "cdna3" || gpu.generation == "cdna4";
  return static_cast<double>(gpu.last_level_cache.count) + (has_more ? kInfinityCacheBytes : 0);
}

bool IsConvolution(OperatorKind kind) {
  return kind == OperatorKind::kConv || kind == OperatorKind::kConv1d;
}

/// Returns true if all bytes of the work surely move: false if indices, a skewed choice of experts
/// or a stride may leave some out, or if the description does not say which bytes are read twice.
bool MovesAllBytes(const Operator& op) {
  using enum OperatorKind;
  switch (op.kind()) {
    case kEmbedding:
    case kEmbeddingBag:
    case kIndex:
    case kMoe:
    case kMoePermute:
    case kGroupedGemm:
    case kTriton:
    case kElementwise:
    case kCopy:
    case kScatter:
    case kNll:
      return false;
    case kAttention:
      return op.Get(Key::kWindow) == 0;
    default:
      return !IsConvolution(op.kind());
  }
}

/// The part of the arithmetic at the catalogue's peak that a kernel needs at least.
double ShareOfArithmetic(const Operator& op) {
  if (IsConvolution(op.kind()) && op.type() == DataType::kFp32) {
    return kFewestProducts;
  }
  return IsGemm(op.kind()) ? 1 : kHalvesAtOnce;
}

}  // namespace

double FloorSeconds(const Operator& op, const hardware::Gpu& gpu) {
  if (HasBothGradients(op)) {
    return FloorSeconds(Operator(op).Set(Key::kPass, "dgrad"), gpu) +
           FloorSeconds(Operator(op).Set(Key::kPass, "wgrad"), gpu);
  }
  const Work work = WorkOf(op);
  const Bound bound = BoundOf(op, work, gpu);
  const double compute = bound.compute_seconds * ShareOfArithmetic(op);
  const double bytes = work.Bytes();
  const double moved = MovesAllBytes(op) ? std::max(0.0, bytes - CachedBytes(gpu)) : 0;
  const double memory = bytes > 0 ? bound.memory_seconds * moved / bytes : 0;
  return std::max(compute, memory);
}

}  // namespace orrery::kernel
