#include "orrery/kernel/work.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace orrery::kernel {

namespace {

enum class Pass { kForward, kBackward, kInputGradient, kWeightGradient };

Pass PassOf(const Operator& op) {
  return static_cast<Pass>(op.GetOr(Key::kPass, 0));
}

bool IsBackward(const Operator& op) {
  return PassOf(op) != Pass::kForward;
}

double Elements(const Operator& op) {
  return ElementBytes(op.type());
}

/// Bytes of one element of a GEMM's result: inputs of eight bits and fewer give bf16.
double ResultBytes(const Operator& op) {
  return std::max(Elements(op), 2.0);
}

Work GemmWork(const Operator& op) {
  const GemmShape shape = GemmOf(op);
  const double element = Elements(op);
  return {.flops = 2 * shape.batch * shape.m * shape.n * shape.k,
          .read_bytes = element * shape.batch * (shape.m * shape.k + shape.k * shape.n),
          .write_bytes = ResultBytes(op) * shape.batch * shape.m * shape.n};
}

Work GroupedWork(const Operator& op) {
  const double m = op.Number(Key::kM);
  const double n = op.Number(Key::kN);
  const double k = op.Number(Key::kK);
  const double groups = std::min(op.Number(Key::kG), m);
  return {.flops = 2 * m * n * k,
          .read_bytes = Elements(op) * (m * k + groups * k * n),
          .write_bytes = ResultBytes(op) * m * n};
}

/// The share of the query-key pairs that a mask leaves.
double AttendedShare(const Operator& op) {
  const double queries = op.Number(Key::kQueryLength);
  const double keys = op.Number(Key::kKeyLength);
  double share = 1;
  if (op.Get(Key::kCausal) != 0) {
    share = queries <= keys ? (keys - (queries - 1) / 2) / keys : (keys + 1) / 2 / queries;
  }
  if (op.Get(Key::kWindow) != 0) {
    share = std::min(share, op.Number(Key::kWindow) / keys);
  }
  return share;
}

Work AttentionWork(const Operator& op) {
  const double batch = op.Number(Key::kB);
  const double head_size = op.Number(Key::kHeadSize);
  const double query_rows = batch * op.Number(Key::kHeads) * op.Number(Key::kQueryLength);
  const double key_rows = batch * op.Number(Key::kKvHeads) * op.Number(Key::kKeyLength);
  const double element = Elements(op);
  const double products = 2 * query_rows * op.Number(Key::kKeyLength) * head_size;
  const double flops = products * AttendedShare(op);
  if (IsBackward(op)) {
    // Five matrix multiplications instead of two; reads q, k, v, o, do and writes dq, dk, dv.
    return {.flops = 5 * flops,
            .read_bytes = element * head_size * (3 * query_rows + 2 * key_rows) + 8 * query_rows,
            .write_bytes = element * head_size * (query_rows + 2 * key_rows)};
  }
  return {.flops = 2 * flops,
          .read_bytes = element * head_size * (query_rows + 2 * key_rows),
          .write_bytes = element * head_size * query_rows + 4 * query_rows};
}

double OutputLength(double input, double kernel, const Operator& op) {
  const double reach = op.Number(Key::kDilation) * (kernel - 1) + 1;
  const double stride = std::max(op.Number(Key::kStride), 1.0);
  const double steps = std::floor((input + 2 * op.Number(Key::kPad) - reach) / stride);
  return std::max(steps, 0.0) + 1;
}

struct ConvShape {
  double in_pixels = 1;
  double out_pixels = 1;
  double taps = 1;
  double channels_of_group = 1;
};

ConvShape ShapeOfConv(const Operator& op) {
  const double width = op.Number(Key::kWidth);
  const double kernel_width = op.Number(Key::kKernelWidth);
  const bool is_flat = op.kind() == OperatorKind::kConv1d;
  const double height = is_flat ? 1 : op.Number(Key::kHeight);
  const double kernel_height = is_flat ? 1 : op.Number(Key::kKernelHeight);
  const double out_height = is_flat ? 1 : OutputLength(height, kernel_height, op);
  const double groups = std::max(op.Number(Key::kGroups), 1.0);
  return {.in_pixels = height * width,
          .out_pixels = out_height * OutputLength(width, kernel_width, op),
          .taps = kernel_height * kernel_width,
          .channels_of_group = std::max(op.Number(Key::kC) / groups, 1.0)};
}

Work ConvWork(const Operator& op) {
  const ConvShape shape = ShapeOfConv(op);
  const double batch = op.Number(Key::kB);
  const double element = Elements(op);
  const double input = element * batch * op.Number(Key::kC) * shape.in_pixels;
  const double output = element * batch * op.Number(Key::kOutChannels) * shape.out_pixels;
  const double weight =
      element * op.Number(Key::kOutChannels) * shape.channels_of_group * shape.taps;
  const double flops = 2 * batch * shape.out_pixels * op.Number(Key::kOutChannels) *
                       shape.channels_of_group * shape.taps;
  switch (PassOf(op)) {
    case Pass::kForward:
      return {flops, input + weight, output};
    case Pass::kInputGradient:
      return {flops, output + weight, input};
    case Pass::kWeightGradient:
      return {flops, input + output, weight};
    case Pass::kBackward:
      return {2 * flops, 2 * output + input + weight, input + weight};
  }
  return {};
}

GemmShape ConvGemm(const Operator& op) {
  const ConvShape shape = ShapeOfConv(op);
  const double pixels = op.Number(Key::kB) * shape.out_pixels;
  const double groups = std::max(op.Number(Key::kGroups), 1.0);
  const double out_channels = std::max(op.Number(Key::kOutChannels) / groups, 1.0);
  const double window = shape.channels_of_group * shape.taps;
  switch (PassOf(op)) {
    case Pass::kInputGradient:
      return {groups, op.Number(Key::kB) * shape.in_pixels, shape.channels_of_group,
              out_channels * shape.taps};
    case Pass::kWeightGradient:
      return {groups, out_channels, window, pixels};
    default:
      return {groups, pixels, out_channels, window};
  }
}

/// Expected distinct rows of `lookups` uniform draws from `rows`.
double DistinctRows(double rows, double lookups) {
  return rows * -std::expm1(lookups * std::log1p(-1 / std::max(rows, 2.0)));
}

Work LookupWork(const Operator& op, double lookups, double results) {
  const double row_bytes = Elements(op) * op.Number(Key::kDim);
  const double rows = op.Number(Key::kRows);
  if (IsBackward(op)) {
    // The dense gradient is cleared, then the rows that were used are read and written.
    return {lookups * op.Number(Key::kDim), lookups * row_bytes + 8 * lookups,
            rows * row_bytes + DistinctRows(rows, lookups) * row_bytes};
  }
  return {results < lookups ? lookups * op.Number(Key::kDim) : 0,
          std::min(lookups, DistinctRows(rows, lookups)) * row_bytes + 8 * lookups,
          results * row_bytes};
}

/// An operator that streams: `flops`, element reads and element writes for each of n elements.
Work StreamWork(const Operator& op, double n, double flops, double reads, double writes) {
  return {flops * n, reads * n * Elements(op), writes * n * Elements(op)};
}

Work NormWork(const Operator& op) {
  const double n = op.kind() == OperatorKind::kBatchNorm
                       ? op.Number(Key::kB) * op.Number(Key::kC) * op.Number(Key::kPixels)
                       : op.Number(Key::kRows) * op.Number(Key::kCols);
  const double flops = op.kind() == OperatorKind::kRmsNorm ? 5 : 8;
  return IsBackward(op) ? StreamWork(op, n, 2 * flops, 2, 1) : StreamWork(op, n, flops, 1, 1);
}

Work SoftmaxWork(const Operator& op) {
  const double n = op.Number(Key::kRows) * op.Number(Key::kCols);
  return IsBackward(op) ? StreamWork(op, n, 4, 2, 1) : StreamWork(op, n, 6, 1, 1);
}

Work NllWork(const Operator& op) {
  const double rows = op.Number(Key::kRows);
  if (IsBackward(op)) {
    return {rows, 8 * rows, Elements(op) * rows * op.Number(Key::kCols)};
  }
  return {rows, rows * (8 + Elements(op)), Elements(op)};
}

Work CrossEntropyWork(const Operator& op) {
  const double n = op.Number(Key::kRows) * op.Number(Key::kCols);
  return IsBackward(op) ? StreamWork(op, n, 6, 2, 2) : StreamWork(op, n, 6, 1, 1);
}

Work DropoutWork(const Operator& op) {
  const double n = op.Number(Key::kN);
  const double element = Elements(op);
  return IsBackward(op) ? Work{2 * n, n * (element + 1), n * element}
                        : Work{2 * n, n * element, n * (element + 1)};
}

double CopyTargetBytes(const Operator& op) {
  if (op.Get(Key::kTo) == 0) {
    return Elements(op);
  }
  return ElementBytes(FindDataType(op.Word(Key::kTo)).value_or(op.type()));
}

Work ReduceWork(const Operator& op) {
  const double results = op.Number(Key::kOuter) * op.Number(Key::kInner);
  const double n = results * op.Number(Key::kReduced);
  return {n, Elements(op) * n, Elements(op) * results};
}

Work TrilWork(const Operator& op) {
  const double all = op.Number(Key::kB) * op.Number(Key::kM) * op.Number(Key::kN);
  const double kept = all / 2;
  return IsBackward(op) ? Work{kept, kept * Elements(op), (all + kept) * Elements(op)}
                        : Work{0, kept * Elements(op), kept * Elements(op)};
}

Work IndexWork(const Operator& op) {
  const double moved = op.Number(Key::kLookups) * op.Number(Key::kDim) * Elements(op);
  const double indices = 8 * op.Number(Key::kLookups);
  return IsBackward(op) ? Work{moved / Elements(op), 2 * moved + indices, moved}
                        : Work{0, moved + indices, moved};
}

Work OptimizerWork(const Operator& op) {
  const double n = op.Number(Key::kN);
  const double element = Elements(op);
  const double master = op.Get(Key::kMaster) != 0 ? 4 : 0;
  if (op.Word(Key::kFunction) == "sgd") {
    return {4 * n, n * (2 * element + master), n * (element + master)};
  }
  // Reads parameter, gradient and two moments, writes all but the gradient.
  const double moments = 2 * (master > 0 ? 4 : element);
  return {12 * n, n * (2 * element + moments + master), n * (element + moments + master)};
}

Work ForeachWork(const Operator& op) {
  const bool is_norm = op.Word(Key::kFunction) == "norm";
  return StreamWork(op, op.Number(Key::kN), 1, op.Number(Key::kLists), is_norm ? 0 : 1);
}

Work MoePermuteWork(const Operator& op) {
  const double moved =
      op.Number(Key::kTokens) * op.Number(Key::kK) * op.Number(Key::kHidden) * Elements(op);
  return {0, moved * (IsBackward(op) ? 2 : 1), moved};
}

/// Tokens for the experts of one GPU with uniform load.
double LocalTokens(const Operator& op) {
  const double gpus = std::max(op.Number(Key::kGroups), 1.0);
  return std::max(op.Number(Key::kTokens) * op.Number(Key::kK) / gpus, 1.0);
}

/// Experts of one GPU that receive a token.
double LocalExperts(const Operator& op) {
  const double gpus = std::max(op.Number(Key::kGroups), 1.0);
  return std::min(std::max(op.Number(Key::kExperts) / gpus, 1.0), LocalTokens(op));
}

Work MoeWork(const Operator& op) {
  const double tokens = LocalTokens(op);
  const double hidden = op.Number(Key::kHidden);
  const double inner = op.Number(Key::kIntermediate);
  const double experts = LocalExperts(op);
  // Gate and up projection together, then down.
  return {.flops = 2 * tokens * hidden * inner * 3,
          .read_bytes = Elements(op) * (3 * experts * hidden * inner + tokens * (hidden + inner)),
          .write_bytes = ResultBytes(op) * tokens * (hidden + 3 * inner)};
}

Work PoolWork(const Operator& op) {
  const double stride = std::max(op.Number(Key::kStride), 1.0);
  const double in =
      op.Number(Key::kB) * op.Number(Key::kC) * op.Number(Key::kHeight) * op.Number(Key::kWidth);
  const double out = std::max(in / (stride * stride), 1.0);
  const double window = op.Number(Key::kKernelHeight) * op.Number(Key::kKernelHeight);
  const double index = op.kind() == OperatorKind::kMaxPool ? 8 * out : 0;
  return IsBackward(op) ? Work{out * window, out * Elements(op) + index, in * Elements(op)}
                        : Work{out * window, in * Elements(op), out * Elements(op) + index};
}

Work UpsampleWork(const Operator& op) {
  const double in =
      op.Number(Key::kB) * op.Number(Key::kC) * op.Number(Key::kHeight) * op.Number(Key::kWidth);
  const double out = in * op.Number(Key::kScale) * op.Number(Key::kScale);
  return IsBackward(op) ? Work{out, out * Elements(op), in * Elements(op)}
                        : Work{0, in * Elements(op), out * Elements(op)};
}

Work SortWork(const Operator& op) {
  // A radix sort of keys and indices makes about one pass over both for each byte of the key.
  const double n = op.Number(Key::kN);
  const double passes = Elements(op);
  return {0, passes * n * (Elements(op) + 8), passes * n * (Elements(op) + 8)};
}

Work ElementwiseWork(const Operator& op) {
  const double n = op.Number(Key::kN);
  return {n, n * op.Number(Key::kReadBytes), n * op.Number(Key::kWriteBytes)};
}

Work RopeWork(const Operator& op) {
  const double n = op.Number(Key::kB) * op.Number(Key::kSequence) * op.Number(Key::kHeads) *
                   op.Number(Key::kHeadSize);
  return StreamWork(op, n, 6, 1, 1);
}

}  // namespace

Work WorkOf(const Operator& op) {
  const auto n = [&] { return op.Number(Key::kN); };
  const auto matrix = [&] { return op.Number(Key::kRows) * op.Number(Key::kCols); };
  switch (op.kind()) {
    case OperatorKind::kGemm:
    case OperatorKind::kBatchedGemm:
      return GemmWork(op);
    case OperatorKind::kGroupedGemm:
      return GroupedWork(op);
    case OperatorKind::kAttention:
      return AttentionWork(op);
    case OperatorKind::kConv:
    case OperatorKind::kConv1d:
      return ConvWork(op);
    case OperatorKind::kEmbedding:
      return LookupWork(op, op.Number(Key::kLookups), op.Number(Key::kLookups));
    case OperatorKind::kEmbeddingBag:
      return LookupWork(op, op.Number(Key::kBags) * op.Number(Key::kPool), op.Number(Key::kBags));
    case OperatorKind::kLayerNorm:
    case OperatorKind::kRmsNorm:
    case OperatorKind::kBatchNorm:
      return NormWork(op);
    case OperatorKind::kSoftmax:
      return SoftmaxWork(op);
    case OperatorKind::kNll:
      return NllWork(op);
    case OperatorKind::kCrossEntropy:
      return CrossEntropyWork(op);
    case OperatorKind::kDropout:
      return DropoutWork(op);
    case OperatorKind::kElementwise:
      return ElementwiseWork(op);
    case OperatorKind::kCopy:
      return {0, n() * Elements(op), n() * CopyTargetBytes(op)};
    case OperatorKind::kFill:
    case OperatorKind::kArange:
      return {0, 0, n() * Elements(op)};
    case OperatorKind::kReduce:
      return ReduceWork(op);
    case OperatorKind::kConcat:
      return StreamWork(op, n(), 0, 1, 1);
    case OperatorKind::kTranspose:
      return StreamWork(op, op.Number(Key::kB) * op.Number(Key::kM) * n(), 0, 1, 1);
    case OperatorKind::kTril:
      return TrilWork(op);
    case OperatorKind::kIndex:
      return IndexWork(op);
    case OperatorKind::kScatter:
      return {0, op.Number(Key::kLookups) * (8 + Elements(op)),
              op.Number(Key::kLookups) * Elements(op)};
    case OperatorKind::kSort:
      return SortWork(op);
    case OperatorKind::kCumsum:
      return StreamWork(op, matrix(), 1, 1, 1);
    case OperatorKind::kTopK:
      return {matrix(), matrix() * Elements(op),
              op.Number(Key::kRows) * op.Number(Key::kK) * (8 + Elements(op))};
    case OperatorKind::kMemcpy:
      return {0, op.Number(Key::kBytes), op.Number(Key::kBytes)};
    case OperatorKind::kOptimizer:
      return OptimizerWork(op);
    case OperatorKind::kGradientNorm:
      return StreamWork(op, n(), 2, 1, 0);
    case OperatorKind::kForeach:
      return ForeachWork(op);
    case OperatorKind::kRope:
      return RopeWork(op);
    case OperatorKind::kMoePermute:
      return MoePermuteWork(op);
    case OperatorKind::kMoe:
      return MoeWork(op);
    case OperatorKind::kMaxPool:
    case OperatorKind::kAvgPool:
      return PoolWork(op);
    case OperatorKind::kUpsample:
      return UpsampleWork(op);
    case OperatorKind::kQuantize:
      return {matrix(), 2 * matrix() * Elements(op), matrix()};
  }
  return {};
}

bool IsGemm(OperatorKind kind) {
  using enum OperatorKind;
  constexpr std::array kGemms = {kGemm, kBatchedGemm, kGroupedGemm, kAttention,
                                 kConv, kConv1d,      kMoe};
  return std::ranges::find(kGemms, kind) != kGemms.end();
}

GemmShape GemmOf(const Operator& op) {
  switch (op.kind()) {
    case OperatorKind::kGemm:
    case OperatorKind::kBatchedGemm:
      return {static_cast<double>(op.GetOr(Key::kB, 1)), op.Number(Key::kM), op.Number(Key::kN),
              op.Number(Key::kK)};
    case OperatorKind::kGroupedGemm: {
      const double groups = std::min(op.Number(Key::kG), op.Number(Key::kM));
      return {groups, std::ceil(op.Number(Key::kM) / groups), op.Number(Key::kN),
              op.Number(Key::kK)};
    }
    case OperatorKind::kMoe: {
      const double tokens = LocalTokens(op);
      const double experts = LocalExperts(op);
      return {experts, std::ceil(tokens / experts), op.Number(Key::kIntermediate),
              op.Number(Key::kHidden)};
    }
    case OperatorKind::kAttention:
      return {op.Number(Key::kB) * op.Number(Key::kHeads), op.Number(Key::kQueryLength),
              op.Number(Key::kHeadSize), op.Number(Key::kKeyLength)};
    case OperatorKind::kConv:
    case OperatorKind::kConv1d:
      return ConvGemm(op);
    default:
      return {};
  }
}

}  // namespace orrery::kernel
