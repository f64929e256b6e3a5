#include "orrery/kernel/work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>

#include "orrery/base/data_type.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using enum Key;

enum class Pass { kForward, kBackward, kInputGradient, kWeightGradient };

Pass PassOf(const Operator& op) {
  return static_cast<Pass>(op.GetOr(kPass, 0));
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
  const double m = op.Number(kM);
  const double n = op.Number(kN);
  const double k = op.Number(kK);
  const double groups = std::min(op.Number(kG), m);
  return {.flops = 2 * m * n * k,
          .read_bytes = Elements(op) * (m * k + groups * k * n),
          .write_bytes = ResultBytes(op) * m * n};
}

/// The share of the query-key pairs that a mask leaves.
double AttendedShare(const Operator& op) {
  const double queries = op.Number(kQueryLength);
  const double keys = op.Number(kKeyLength);
  double share = 1;
  if (op.Get(kCausal) != 0) {
    share = queries <= keys ? (keys - (queries - 1) / 2) / keys : (keys + 1) / 2 / queries;
  }
  if (op.Get(kWindow) != 0) {
    share = std::min(share, op.Number(kWindow) / keys);
  }
  return share;
}

Work AttentionWork(const Operator& op) {
  const double batch = op.Number(kB);
  const double head_size = op.Number(kHeadSize);
  const double query_rows = batch * op.Number(kHeads) * op.Number(kQueryLength);
  const double key_rows = batch * op.Number(kKvHeads) * op.Number(kKeyLength);
  const double element = Elements(op);
  const double products = 2 * query_rows * op.Number(kKeyLength) * head_size;
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
  const double reach = op.Number(kDilation) * (kernel - 1) + 1;
  const double stride = std::max(op.Number(kStride), 1.0);
  const double steps = std::floor((input + 2 * op.Number(kPad) - reach) / stride);
  return std::max(steps, 0.0) + 1;
}

struct ConvShape {
  double in_pixels = 1;
  double out_pixels = 1;
  double taps = 1;
  double channels_of_group = 1;
};

ConvShape ShapeOfConv(const Operator& op) {
  const double width = op.Number(kWidth);
  const double kernel_width = op.Number(kKernelWidth);
  const bool is_flat = op.kind() == OperatorKind::kConv1d;
  const double height = is_flat ? 1 : op.Number(kHeight);
  const double kernel_height = is_flat ? 1 : op.Number(kKernelHeight);
  const double out_height = is_flat ? 1 : OutputLength(height, kernel_height, op);
  const double groups = std::max(op.Number(kGroups), 1.0);
  return {.in_pixels = height * width,
          .out_pixels = out_height * OutputLength(width, kernel_width, op),
          .taps = kernel_height * kernel_width,
          .channels_of_group = std::max(op.Number(kC) / groups, 1.0)};
}

Work ConvWork(const Operator& op) {
  const ConvShape shape = ShapeOfConv(op);
  const double batch = op.Number(kB);
  const double element = Elements(op);
  const double input = element * batch * op.Number(kC) * shape.in_pixels;
  const double output = element * batch * op.Number(kOutChannels) * shape.out_pixels;
  const double weight = element * op.Number(kOutChannels) * shape.channels_of_group * shape.taps;
  const double flops =
      2 * batch * shape.out_pixels * op.Number(kOutChannels) * shape.channels_of_group * shape.taps;
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
  const double pixels = op.Number(kB) * shape.out_pixels;
  const double groups = std::max(op.Number(kGroups), 1.0);
  const double out_channels = std::max(op.Number(kOutChannels) / groups, 1.0);
  const double window = shape.channels_of_group * shape.taps;
  switch (PassOf(op)) {
    case Pass::kInputGradient:
      return {groups, op.Number(kB) * shape.in_pixels, shape.channels_of_group,
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
  const double row_bytes = Elements(op) * op.Number(kDim);
  const double rows = op.Number(kRows);
  if (IsBackward(op)) {
    // The dense gradient is cleared, then the rows that were used are read and written.
    return {lookups * op.Number(kDim), lookups * row_bytes + 8 * lookups,
            rows * row_bytes + DistinctRows(rows, lookups) * row_bytes};
  }
  return {results < lookups ? lookups * op.Number(kDim) : 0,
          std::min(lookups, DistinctRows(rows, lookups)) * row_bytes + 8 * lookups,
          results * row_bytes};
}

/// An operator that streams: `flops`, element reads and element writes for each of n elements.
Work StreamWork(const Operator& op, double n, double flops, double reads, double writes) {
  return {flops * n, reads * n * Elements(op), writes * n * Elements(op)};
}

Work NormWork(const Operator& op) {
  const bool is_of_images =
      op.kind() == OperatorKind::kBatchNorm || op.kind() == OperatorKind::kGroupNorm;
  const double n = is_of_images ? op.Number(kB) * op.Number(kC) * op.Number(kPixels)
                                : op.Number(kRows) * op.Number(kCols);
  const double flops = op.kind() == OperatorKind::kRmsNorm ? 5 : 8;
  return IsBackward(op) ? StreamWork(op, n, 2 * flops, 2, 1) : StreamWork(op, n, flops, 1, 1);
}

/// Gates of a recurrent cell, each a matrix of its own.
double GatesOf(const Operator& op) {
  constexpr auto kGatesOfCell = std::to_array<double>({4, 3, 1, 1});
  return kGatesOfCell[static_cast<std::size_t>(op.Get(kFunction))];
}

/// Every layer reads its weights once; the results of all but the last layer are written and read.
Work RnnWork(const Operator& op) {
  const double directions = 1 + op.Number(kBidirectional);
  const double hidden = op.Number(kHidden);
  const double layers = op.Number(kLayers);
  const double rows = op.Number(kB) * op.Number(kSequence);
  const double inputs = op.Number(kInput) + (layers - 1) * directions * hidden;
  const double weights = directions * GatesOf(op) * hidden * (inputs + layers * hidden);
  const double results = rows * layers * directions * hidden;
  if (IsBackward(op)) {
    // Gradients of inputs and of weights: two products for each of the forward pass.
    return {.flops = 4 * rows * weights,
            .read_bytes = Elements(op) * (weights + rows * inputs + 2 * results),
            .write_bytes = Elements(op) * (weights + rows * inputs)};
  }
  return {.flops = 2 * rows * weights,
          .read_bytes = Elements(op) * (weights + rows * inputs),
          .write_bytes = Elements(op) * results};
}

/// Of two tensors. The mean of a loss needs no result of full size.
Work LossWork(const Operator& op) {
  const bool has_full_result = IsBackward(op) || op.Word(kReduction) == "none";
  return StreamWork(op, op.Number(kN), 4, 2, has_full_result ? 1 : 0);
}

double CopyTargetBytes(const Operator& op) {
  if (op.Get(kTo) == 0) {
    return Elements(op);
  }
  return ElementBytes(FindDataType(op.Word(kTo)).value_or(op.type()));
}

Work TrilWork(const Operator& op) {
  const double all = op.Number(kB) * op.Number(kM) * op.Number(kN);
  const double kept = all / 2;
  return IsBackward(op) ? Work{kept, kept * Elements(op), (all + kept) * Elements(op)}
                        : Work{0, kept * Elements(op), kept * Elements(op)};
}

Work IndexWork(const Operator& op) {
  const double moved = op.Number(kLookups) * op.Number(kDim) * Elements(op);
  const double indices = 8 * op.Number(kLookups);
  return IsBackward(op) ? Work{moved / Elements(op), 2 * moved + indices, moved}
                        : Work{0, moved + indices, moved};
}

Work OptimizerWork(const Operator& op) {
  const double n = op.Number(kN);
  const double element = Elements(op);
  const double master = op.Get(kMaster) != 0 ? 4 : 0;
  if (op.Word(kFunction) == "sgd") {
    return {4 * n, n * (2 * element + master), n * (element + master)};
  }
  // Reads parameter, gradient and two moments, writes all but the gradient.
  const double moments = 2 * (master > 0 ? 4 : element);
  return {12 * n, n * (2 * element + moments + master), n * (element + moments + master)};
}

/// Tokens for the experts of one GPU with uniform load.
double LocalTokens(const Operator& op) {
  const double gpus = std::max(op.Number(kGroups), 1.0);
  return std::max(op.Number(kTokens) * op.Number(kK) / gpus, 1.0);
}

double LocalExperts(const Operator& op) {
  const double gpus = std::max(op.Number(kGroups), 1.0);
  return std::min(std::max(op.Number(kExperts) / gpus, 1.0), LocalTokens(op));
}

Work MoeWork(const Operator& op) {
  const double tokens = LocalTokens(op);
  const double hidden = op.Number(kHidden);
  const double inner = op.Number(kIntermediate);
  const double experts = LocalExperts(op);
  // Gate and up projection together, then down.
  return {.flops = 2 * tokens * hidden * inner * 3,
          .read_bytes = Elements(op) * (3 * experts * hidden * inner + tokens * (hidden + inner)),
          .write_bytes = ResultBytes(op) * tokens * (hidden + 3 * inner)};
}

Work PoolWork(const Operator& op) {
  const double stride = std::max(op.Number(kStride), 1.0);
  const double in = op.Number(kB) * op.Number(kC) * op.Number(kHeight) * op.Number(kWidth);
  const double out = std::max(in / (stride * stride), 1.0);
  const double window = op.Number(kKernelHeight) * op.Number(kKernelHeight);
  const double index = op.kind() == OperatorKind::kMaxPool ? 8 * out : 0;
  return IsBackward(op) ? Work{out * window, out * Elements(op) + index, in * Elements(op)}
                        : Work{out * window, in * Elements(op), out * Elements(op) + index};
}

Work UpsampleWork(const Operator& op) {
  const double in = op.Number(kB) * op.Number(kC) * op.Number(kHeight) * op.Number(kWidth);
  const double out = in * op.Number(kScale) * op.Number(kScale);
  return IsBackward(op) ? Work{out, out * Elements(op), in * Elements(op)}
                        : Work{0, in * Elements(op), out * Elements(op)};
}

/// Types in order of width: a type that a GPU does not list runs at the rate of the next one.
constexpr auto kWider =
    std::to_array<std::string_view>({"fp4", "fp8", "int8", "bf16", "fp16", "tf32", "fp32"});

double PeakFor(DataType type, const hardware::Gpu& gpu) {
  const std::string_view name = PeakName(type);
  if (const std::optional<double> peak = gpu.PeakFlops(name)) {
    return *peak;
  }
  bool is_wider = false;
  for (const std::string_view wider : kWider) {
    is_wider = is_wider || wider == name;
    const std::optional<double> peak = is_wider ? gpu.PeakFlops(wider) : std::nullopt;
    if (peak) {
      return *peak;
    }
  }
  return gpu.PeakFlops("fp32").value_or(gpu.peak_flops.begin()->second);
}

}  // namespace

// One case for each kind: the compiler says which is missing.
// NOLINTNEXTLINE(readability-function-size)
Work WorkOf(const Operator& op) {
  using enum OperatorKind;
  const double element = Elements(op);
  const bool is_backward = IsBackward(op);
  const auto n = [&] { return op.Number(kN); };
  const auto rows = [&] { return op.Number(kRows); };
  const auto lookups = [&] { return op.Number(kLookups); };
  const auto matrix = [&] { return rows() * op.Number(kCols); };
  switch (op.kind()) {
    case kGemm:
    case kBatchedGemm:
      return GemmWork(op);
    case kGroupedGemm:
      return GroupedWork(op);
    case kAttention:
      return AttentionWork(op);
    case kConv:
    case kConv1d:
      return ConvWork(op);
    case kEmbedding:
      return LookupWork(op, lookups(), lookups());
    case kEmbeddingBag:
      return LookupWork(op, op.Number(kBags) * op.Number(kPool), op.Number(kBags));
    case kLayerNorm:
    case kRmsNorm:
    case kBatchNorm:
    case kGroupNorm:
      return NormWork(op);
    case kRnn:
      return RnnWork(op);
    case kLoss:
      return LossWork(op);
    case kTriton:
      // Traces do not record which of its tensors a generated kernel writes.
      return {matrix(), op.Number(kBytes), 0};
    case kSoftmax:
      return is_backward ? StreamWork(op, matrix(), 4, 2, 1) : StreamWork(op, matrix(), 6, 1, 1);
    case kNll:
      return is_backward ? Work{rows(), 8 * rows(), element * matrix()}
                         : Work{rows(), rows() * (8 + element), element};
    case kCrossEntropy:
      return is_backward ? StreamWork(op, matrix(), 6, 2, 2) : StreamWork(op, matrix(), 6, 1, 1);
    case OperatorKind::kDropout:
      return is_backward ? Work{2 * n(), n() * (element + 1), n() * element}
                         : Work{2 * n(), n() * element, n() * (element + 1)};
    case kElementwise:
      return {n(), n() * op.Number(kReadBytes), n() * op.Number(kWriteBytes)};
    case kCopy:
      return {0, n() * element, n() * CopyTargetBytes(op)};
    case kFill:
    case kArange:
      return {0, 0, n() * element};
    case kReduce: {
      const double results = op.Number(kOuter) * op.Number(kInner);
      const double all = results * op.Number(kReduced);
      return {all, element * all, element * results};
    }
    case kConcat:
      return StreamWork(op, n(), 0, 1, 1);
    case kTranspose:
      return StreamWork(op, op.Number(kB) * op.Number(kM) * n(), 0, 1, 1);
    case kTril:
      return TrilWork(op);
    case kIndex:
      return IndexWork(op);
    case kScatter:
      return {0, lookups() * (8 + element), lookups() * element};
    case kSort:
      // A radix sort of keys and indices makes about one pass over both for each byte of the key.
      return {0, element * n() * (element + 8), element * n() * (element + 8)};
    case kCumsum:
      return StreamWork(op, matrix(), 1, 1, 1);
    case kTopK:
      return {matrix(), matrix() * element, rows() * op.Number(kK) * (8 + element)};
    case kMemcpy:
      return {0, op.Number(kBytes), op.Number(kBytes)};
    case kOptimizer:
      return OptimizerWork(op);
    case kGradientNorm:
      return StreamWork(op, n(), 2, 1, 0);
    case kForeach:
      return StreamWork(op, n(), 1, op.Number(kLists), op.Word(kFunction) == "norm" ? 0 : 1);
    case kRope:
      return StreamWork(
          op, op.Number(kB) * op.Number(kSequence) * op.Number(kHeads) * op.Number(kHeadSize), 6, 1,
          1);
    case kMoePermute: {
      const double moved = op.Number(kTokens) * op.Number(kK) * op.Number(kHidden) * element;
      return {0, moved * (is_backward ? 2 : 1), moved};
    }
    case kMoe:
      return MoeWork(op);
    case kMaxPool:
    case kAvgPool:
      return PoolWork(op);
    case kUpsample:
      return UpsampleWork(op);
    case kQuantize:
      return {matrix(), 2 * matrix() * element, matrix()};
  }
  return {};
}

bool HasBothGradients(const Operator& op) {
  return (op.kind() == OperatorKind::kConv || op.kind() == OperatorKind::kConv1d) &&
         PassOf(op) == Pass::kBackward;
}

bool IsGemm(OperatorKind kind) {
  using enum OperatorKind;
  constexpr std::array kGemms = {kGemm, kBatchedGemm, kGroupedGemm, kAttention,
                                 kConv, kConv1d,      kMoe,         kRnn};
  return std::ranges::find(kGemms, kind) != kGemms.end();
}

GemmShape GemmOf(const Operator& op) {
  using enum OperatorKind;
  switch (op.kind()) {
    case kGemm:
    case kBatchedGemm:
      return {static_cast<double>(op.GetOr(kB, 1)), op.Number(kM), op.Number(kN), op.Number(kK)};
    case kGroupedGemm: {
      const double groups = std::min(op.Number(kG), op.Number(kM));
      return {groups, std::ceil(op.Number(kM) / groups), op.Number(kN), op.Number(kK)};
    }
    case kMoe: {
      const double tokens = LocalTokens(op);
      const double experts = LocalExperts(op);
      return {experts, std::ceil(tokens / experts), op.Number(kIntermediate), op.Number(kHidden)};
    }
    case kAttention:
      return {op.Number(kB) * op.Number(kHeads), op.Number(kQueryLength), op.Number(kHeadSize),
              op.Number(kKeyLength)};
    case kConv:
    case kConv1d:
      return ConvGemm(op);
    case kRnn:  // the recurrent product of one step
      return {1 + op.Number(kBidirectional), op.Number(kB), GatesOf(op) * op.Number(kHidden),
              op.Number(kHidden)};
    default:
      return {};
  }
}

Bound BoundOf(const Operator& op, const Work& work, const hardware::Gpu& gpu) {
  const DataType type = IsGemm(op.kind()) ? op.type() : DataType::kFp32;
  Bound bound;
  bound.compute_seconds = work.flops / PeakFor(type, gpu);
  const bool crosses_host_link = op.kind() == OperatorKind::kMemcpy && op.Word(kDirection) != "d2d";
  bound.memory_seconds = crosses_host_link ? work.read_bytes / gpu.host_link.bytes_per_second
                                           : work.Bytes() / gpu.memory.bytes_per_second;
  return bound;
}

}  // namespace orrery::kernel
