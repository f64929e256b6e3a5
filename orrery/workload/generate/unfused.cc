#include "orrery/workload/generate/unfused.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "orrery/workload/generate/layer_writer.h"
#include "orrery/workload/generate/operators.h"

namespace orrery::workload {
namespace {

using kernel::DataType;
using kernel::Key;
using kernel::Operator;
using kernel::OperatorKind;

/// The kind of a kernel over the elements of a matrix.
enum class Kind : std::uint8_t { kMap, kBroadcast, kStrided, kCopy, kStridedCopy, kFill, kSum };

/// Operands are of the training type, or fp32 if `is_wide`.
struct Spelled {
  Kind kind = Kind::kMap;
  std::string_view function = "other";
  int operands = 1;
  bool is_wide = false;
  bool changes_type = false;  // of a copy: the result has the other type
  std::int64_t share = 1;     // one element of so many
};

Operator CopyOf(const Spelled& spelled, std::int64_t n, const MicrobatchShape& shape) {
  Operator copy(OperatorKind::kCopy, spelled.is_wide ? DataType::kFp32 : shape.type);
  copy.Set(Key::kN, n);
  if (spelled.changes_type) {
    copy.Set(Key::kTo, kernel::DataTypeName(spelled.is_wide ? shape.type : DataType::kFp32));
  }
  return spelled.kind == Kind::kStridedCopy ? copy.Set(Key::kMode, "strided") : copy;
}

Operator MapOf(const Spelled& spelled, std::int64_t n, const MicrobatchShape& shape) {
  const std::int64_t bytes = spelled.is_wide ? 4 : shape.element_bytes;
  const std::int64_t reads = spelled.kind == Kind::kFill ? 0 : spelled.operands * bytes;
  Operator map = Elementwise(spelled.function, n, reads, bytes,
                             spelled.is_wide ? DataType::kFp32 : shape.type);
  if (spelled.kind == Kind::kBroadcast || spelled.kind == Kind::kStrided) {
    map.Set(Key::kMode, spelled.kind == Kind::kStrided ? "strided" : "broadcast");
  }
  return map;
}

/// Over each row, or over all rows where a weight is trained.
Operator SumOf(const Spelled& spelled, const Extent& extent, const MicrobatchShape& shape) {
  const bool over_rows = !spelled.is_wide;
  return Operator(OperatorKind::kReduce, spelled.is_wide ? DataType::kFp32 : shape.type)
      .Set(Key::kFunction, "sum")
      .Set(Key::kOuter, over_rows ? 1 : extent.rows)
      .Set(Key::kReduced, over_rows ? extent.rows : extent.cols)
      .Set(Key::kInner, over_rows ? extent.cols : 1);
}

Operator OperatorOf(const Spelled& spelled, const Extent& extent, const MicrobatchShape& shape) {
  const std::int64_t n = extent.rows * extent.cols / spelled.share;
  switch (spelled.kind) {
    case Kind::kCopy:
    case Kind::kStridedCopy:
      return CopyOf(spelled, n, shape);
    case Kind::kSum:
      return SumOf(spelled, extent, shape);
    default:
      return MapOf(spelled, n, shape);
  }
}

std::vector<LayerOp> OpsOf(std::span<const Spelled> kernels, const LayerOp& like,
                           const Extent& extent, const MicrobatchShape& shape) {
  std::vector<LayerOp> ops;
  for (const Spelled& spelled : kernels) {
    ops.push_back(OperatorOp(like.name, like.category, OperatorOf(spelled, extent, shape)));
  }
  return ops;
}

constexpr Spelled kToWide{.kind = Kind::kCopy, .changes_type = true};
constexpr Spelled kToNarrow{.kind = Kind::kCopy, .is_wide = true, .changes_type = true};

// Cast, square, mean, product with the root's inverse, cast back, product with the weight.
constexpr std::array<Spelled, 6> kNormForward{{
    kToWide,
    {.function = "pow", .is_wide = true},
    {.kind = Kind::kSum, .is_wide = true},
    {.kind = Kind::kBroadcast, .function = "mul", .is_wide = true},
    kToNarrow,
    {.kind = Kind::kBroadcast, .function = "mul"},
}};

constexpr std::array<Spelled, 13> kNormBackward{{
    {.function = "mul", .operands = 2},  // the weight's gradient
    {.kind = Kind::kSum},
    {.kind = Kind::kBroadcast, .function = "mul"},  // through the weight and the cast
    kToWide,
    {.kind = Kind::kBroadcast, .function = "mul", .is_wide = true},  // to the input, to the root
    {.function = "mul", .operands = 2, .is_wide = true},
    {.kind = Kind::kSum, .is_wide = true},
    {.kind = Kind::kBroadcast, .function = "div", .is_wide = true},  // of the mean, over its row
    {.kind = Kind::kCopy, .is_wide = true},                          // the square's gradient
    {.function = "mul", .is_wide = true},
    {.function = "mul", .operands = 2, .is_wide = true},
    {.function = "add", .operands = 2, .is_wide = true},  // both gradients of the input
    kToNarrow,
}};

constexpr Spelled kTurned{.kind = Kind::kStrided, .function = "mul"};
constexpr Spelled kSumOfTurned{.kind = Kind::kStrided, .function = "add", .operands = 2};
constexpr Spelled kNegatedHalf{.kind = Kind::kStrided, .function = "neg", .share = 2};
constexpr Spelled kCopiedHalf{.kind = Kind::kStridedCopy, .share = 2};

// x · cos + turned x · sin, where turned is a negated half and the other half side by side.
constexpr std::array<Spelled, 5> kRopeForward{
    {kTurned, kNegatedHalf, {.kind = Kind::kStridedCopy}, kTurned, kSumOfTurned}};

// Each half is put into zeros; at the end heads stand beside each other again.
constexpr std::array<Spelled, 10> kRopeBackward{{kTurned,
                                                 kTurned,
                                                 kNegatedHalf,
                                                 {.kind = Kind::kFill},
                                                 {.kind = Kind::kFill},
                                                 kCopiedHalf,
                                                 kCopiedHalf,
                                                 {.function = "add", .operands = 2},
                                                 kSumOfTurned,
                                                 {.kind = Kind::kStridedCopy}}};

}  // namespace

std::vector<LayerOp> UnfusedRmsNorm(Pass pass, const Extent& extent, const MicrobatchShape& shape) {
  const LayerOp like{.name = "norm", .category = Category::kNorm};
  return pass == Pass::kForward ? OpsOf(kNormForward, like, extent, shape)
                                : OpsOf(kNormBackward, like, extent, shape);
}

std::vector<LayerOp> UnfusedRope(Pass pass, const Extent& extent, const MicrobatchShape& shape) {
  const LayerOp like{.name = "rope", .category = Category::kElementwise};
  return pass == Pass::kForward ? OpsOf(kRopeForward, like, extent, shape)
                                : OpsOf(kRopeBackward, like, extent, shape);
}

std::vector<LayerOp> SumsOfBranches(int branches, const Extent& extent,
                                    const MicrobatchShape& shape) {
  constexpr Spelled kSum{.function = "add", .operands = 2};
  const LayerOp like{.name = "sum gradients of input", .category = Category::kElementwise};
  return OpsOf(std::vector<Spelled>(static_cast<std::size_t>(branches - 1), kSum), like, extent,
               shape);
}

LayerOp CastOfLogits(Pass pass, const Extent& extent, const MicrobatchShape& shape) {
  return OperatorOp("logits to fp32", Category::kElementwise,
                    OperatorOf(pass == Pass::kForward ? kToWide : kToNarrow, extent, shape));
}

void AddCopiesOfShards(std::int64_t parameters, const MicrobatchShape& shape, UnitOps& unit) {
  const auto copy = [&](std::string_view name) {
    return OperatorOp(name, Category::kCast, CopyOf({.kind = Kind::kCopy}, parameters, shape));
  };
  unit.forward.insert(unit.forward.begin(), copy("copy out parameters"));
  unit.backward.insert(unit.backward.begin(), copy("copy out parameters"));
  unit.backward.push_back(copy("copy in gradients"));
}

}  // namespace orrery::workload
