#include "orrery/workload/generate/layer_writer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <ranges>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/operators.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using kernel::Key;
using kernel::Operator;
using kernel::OperatorKind;

std::int64_t WidthIn(const Matrix& matrix, int tp) {
  return matrix.cut == Cut::kRows ? matrix.in / tp : matrix.in;
}

std::int64_t WidthOut(const Matrix& matrix, int tp) {
  return matrix.cut == Cut::kColumns ? matrix.out / tp : matrix.out;
}

std::int64_t BytesOf(DataType type) {
  return static_cast<std::int64_t>(std::ceil(ElementBytes(type)));
}

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
    copy.Set(Key::kTo, DataTypeName(spelled.is_wide ? shape.type : DataType::kFp32));
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
  return MakeOperator(OperatorKind::kReduce, spelled.is_wide ? DataType::kFp32 : shape.type,
                      {{Key::kOuter, over_rows ? 1 : extent.rows},
                       {Key::kReduced, over_rows ? extent.rows : extent.cols},
                       {Key::kInner, over_rows ? extent.cols : 1}})
      .Set(Key::kFunction, "sum");
}

Operator OperatorOf(const Spelled& spelled, const Extent& extent, const MicrobatchShape& shape) {
  const std::int64_t n = extent.rows * extent.cols / spelled.share;
  if (spelled.kind == Kind::kSum) {
    return SumOf(spelled, extent, shape);
  }
  const bool is_copy = spelled.kind == Kind::kCopy || spelled.kind == Kind::kStridedCopy;
  return is_copy ? CopyOf(spelled, n, shape) : MapOf(spelled, n, shape);
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
constexpr Spelled kZeros{.kind = Kind::kFill};
constexpr Spelled kSumOfHalves{.function = "add", .operands = 2};
constexpr Spelled kReordered{.kind = Kind::kStridedCopy};
constexpr std::array<Spelled, 10> kRopeBackward{
    kTurned,     kTurned,     kNegatedHalf, kZeros,       kZeros,
    kCopiedHalf, kCopiedHalf, kSumOfHalves, kSumOfTurned, kReordered};

}  // namespace

std::int64_t MicrobatchShape::gemm_bytes() const {
  return is_fp8() ? BytesOf(gemm_type) : element_bytes;
}

MicrobatchShape MicrobatchShapeOf(const Job& job) {
  MicrobatchShape shape;
  shape.job = &job;
  shape.batch = job.training.micro_batch;
  shape.tokens = shape.batch;
  shape.sharded_tokens = shape.batch;
  shape.tp = job.plan.tp;
  shape.type = job.training.precision.compute;
  shape.gemm_type = job.training.precision.gemm_type;
  shape.element_bytes = BytesOf(shape.type);
  return shape;
}

MicrobatchShape MicrobatchShapeOf(const Job& job, const Transformer& model) {
  MicrobatchShape shape = MicrobatchShapeOf(job);
  // A ViT sees a token for each patch and one for the class.
  const std::int64_t side = model.patch > 0 ? model.image / model.patch : 0;
  shape.sequence = side > 0 ? side * side + 1 : job.training.sequence;
  shape.tokens = shape.batch * shape.sequence / job.plan.cp;
  shape.sharded_tokens = job.plan.sequence_parallel ? shape.tokens / shape.tp : shape.tokens;
  shape.hidden = model.hidden;
  return shape;
}

LayerOp CommunicationOp(std::string_view name, const Communication& communication) {
  return {.name = name, .communication = communication};
}

LayerOp OperatorOp(std::string_view name, Category category, const kernel::Operator& op,
                   int launches) {
  return {.name = name, .category = category, .launches = launches, .op = op};
}

void LayerWriter::Cast(std::string_view name, std::int64_t rows, std::int64_t cols,
                       std::vector<LayerOp>& ops) {
  if (shape_.is_fp8()) {
    // One pass that writes it and its transpose, for the weight gradient.
    ops.push_back(
        OperatorOp(name, Category::kCast, Elementwise("other", rows * cols, 2, 2, shape_.type)));
  }
}

// With user buffers a GEMM and its communication are cut into a piece for each rank, and run beside
// each other. A GEMM begins with the piece that its rank has.
void LayerWriter::Gather(std::string_view name, std::int64_t elements, bool is_cast,
                         std::vector<LayerOp>& ops) const {
  Communication gather = shape_.Over(GroupRole::kTensor, CollectiveKind::kAllGather, elements);
  if (IsInPieces()) {
    gather.in_pieces = true;
    gather.overlapped_ops = is_cast && shape_.is_fp8() ? 2 : 1;
  }
  ops.push_back(CommunicationOp(name, gather));
}

// All pieces of a sum but the last are sent while the GEMM computes the next ones.
void LayerWriter::ScatterBeside(const LayerOp& gemm, std::int64_t elements,
                                std::vector<LayerOp>& ops) const {
  Communication scatter = shape_.Over(GroupRole::kTensor, CollectiveKind::kReduceScatter, elements);
  if (IsInPieces()) {
    Communication hidden = scatter;
    hidden.bytes = scatter.bytes / shape_.tp * (shape_.tp - 1);
    hidden.in_pieces = true;
    hidden.overlapped_ops = 1;
    ops.push_back(CommunicationOp("scatter sum", hidden));
    scatter.bytes /= shape_.tp;
    scatter.in_pieces = true;
  }
  ops.push_back(gemm);
  ops.push_back(CommunicationOp("scatter sum", scatter));
}

int LayerWriter::HostCalls(const Matrix& matrix, int beside) const {
  const bool is_sharded = matrix.cut != Cut::kNothing && shape_.tp > 1;
  const int wrapped = is_sharded ? shape_.framework().sharded_weight_calls : 0;
  return BranchesOf(matrix) * (1 + shape_.EagerCalls(beside + wrapped));
}

void LayerWriter::Linear(const Matrix& matrix) {
  const std::int64_t in = WidthIn(matrix, shape_.tp);
  const std::int64_t out = WidthOut(matrix, shape_.tp);
  const bool by_sequence = shape_.plan().sequence_parallel;
  if (matrix.cut == Cut::kColumns && shape_.tp > 1 && by_sequence) {
    Gather("gather sequence", matrix.rows * matrix.in, matrix.casts_input, forward_);
  }
  if (matrix.casts_input) {
    Cast("cast input", matrix.rows, in, forward_);
  }
  AddDequantised(matrix, forward_);
  const LayerOp gemm =
      OperatorOp(matrix.name, Category::kGemm, Gemm(matrix.rows, out, in, "nt", shape_.gemm_type),
                 HostCalls(matrix, 1));  // its bias, or a copy of its input
  const bool is_summed = matrix.cut == Cut::kRows && shape_.tp > 1;
  if (is_summed && by_sequence) {
    ScatterBeside(gemm, matrix.rows * matrix.out, forward_);
  } else {
    forward_.push_back(gemm);
  }
  if (is_summed && !by_sequence) {
    forward_.push_back(CommunicationOp(
        "sum",
        shape_.Over(GroupRole::kTensor, CollectiveKind::kAllReduce, matrix.rows * matrix.out)));
  }
  backward_.push_back(LinearBackward(matrix));
  if (!shape_.is_frozen()) {
    KeepForWeights(WeightInputBytes(matrix));
  } else if (matrix.adapted_by && shape_.job->training.adapter_targets >= *matrix.adapted_by) {
    AddAdapter(matrix);
  }
}

// Four bits and scales of blocks to what GEMMs read, in memory: the scales, which were quantised
// too, in a kernel and the sum with their mean; then a kernel that reads two elements a byte.
void LayerWriter::AddDequantised(const Matrix& matrix, std::vector<LayerOp>& ops) const {
  if (!matrix.adapted_by || shape_.job->training.base_format != BaseFormat::kNf4) {
    return;
  }
  const std::int64_t elements = WidthIn(matrix, shape_.tp) * WidthOut(matrix, shape_.tp);
  const int branches = BranchesOf(matrix);
  ops.push_back(OperatorOp("dequantise scales", Category::kCast,
                           Elementwise("mul", elements / kNf4Block, 1, 4, DataType::kFp32),
                           2 * branches));
  ops.push_back(OperatorOp(
      "dequantise", Category::kCast,
      Elementwise("mul", elements / 2, 1, 2 * shape_.element_bytes, shape_.type), branches));
}

// Down to the rank and up again beside the frozen matrix; backward, gradients of both and of the
// input, which is added to that of the frozen matrix. Communications of vectors of the rank are
// left out.
void LayerWriter::AddAdapter(const Matrix& matrix) {
  const std::int64_t rank = shape_.job->training.adapter_rank;
  const std::int64_t in = WidthIn(matrix, shape_.tp);
  const std::int64_t out = WidthOut(matrix, shape_.tp);
  const std::int64_t rows = matrix.rows;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                           std::string_view layout) {
    return OperatorOp("adapter", Category::kGemm, Gemm(m, n, k, layout, shape_.type));
  };
  const auto sum = [&](std::int64_t width) {
    return OperatorOp("adapter", Category::kElementwise,
                      Elementwise("add", rows * width, 2 * shape_.element_bytes,
                                  shape_.element_bytes, shape_.type));
  };
  forward_.push_back(product(rows, rank, in, "nt"));
  forward_.push_back(product(rows, out, rank, "nt"));
  forward_.push_back(sum(out));
  std::vector<LayerOp> ops = {product(rows, rank, out, "nn"), product(out, rank, rows, "tn"),
                              product(rows, in, rank, "nn"), product(rank, in, rows, "tn"),
                              sum(in)};
  ops[1].is_wgrad = true;
  ops[3].is_wgrad = true;
  backward_.push_back(std::move(ops));
}

// Inputs that are replicated on every rank are kept in parts with sequence parallelism.
std::int64_t LayerWriter::WeightInputBytes(const Matrix& matrix) const {
  const int parts = shape_.plan().sequence_parallel ? shape_.tp : 1;
  const std::int64_t in = WidthIn(matrix, shape_.tp) / (matrix.cut == Cut::kColumns ? parts : 1);
  const std::int64_t out = WidthOut(matrix, shape_.tp) / (matrix.cut == Cut::kRows ? parts : 1);
  return matrix.rows * (in + out) * shape_.gemm_bytes();
}

std::vector<LayerOp> LayerWriter::LinearBackward(const Matrix& matrix) {
  std::vector<LayerOp> ops;
  const bool by_sequence = shape_.tp > 1 && shape_.plan().sequence_parallel;
  if (matrix.cut == Cut::kRows && by_sequence) {
    Gather("gather gradient", matrix.rows * matrix.out, matrix.casts_gradient, ops);
  }
  if (matrix.casts_gradient) {
    Cast("cast gradient", matrix.rows, WidthOut(matrix, shape_.tp), ops);
  }
  // The saved input of a rank is its part of the sequence; the weight gradient needs all of it.
  if (matrix.cut == Cut::kColumns && by_sequence && !shape_.framework().keeps_gathered_inputs &&
      !shape_.is_frozen()) {
    ops.push_back(CommunicationOp(
        "gather saved input",
        shape_.Over(GroupRole::kTensor, CollectiveKind::kAllGather, matrix.rows * matrix.in, 1)));
  }
  AddInputGradient(matrix, ops);
  if (!shape_.is_frozen()) {
    AddWeightGradient(matrix, ops);
  }
  return ops;
}

void LayerWriter::AddInputGradient(const Matrix& matrix, std::vector<LayerOp>& ops) {
  AddDequantised(matrix, ops);
  ops.push_back(OperatorOp(matrix.name, Category::kGemm,
                           Gemm(matrix.rows, WidthIn(matrix, shape_.tp),
                                WidthOut(matrix, shape_.tp), "nn", shape_.gemm_type),
                           HostCalls(matrix, 0)));
  const int branches = BranchesOf(matrix);
  for (int branch = 0; branch < branches; ++branch) {
    AddInputGradientSum(matrix, ops);
  }
  std::ranges::move(SumsOfBranches(branches, {matrix.rows, WidthIn(matrix, shape_.tp)}, shape_),
                    std::back_inserter(ops));
}

void LayerWriter::AddInputGradientSum(const Matrix& matrix, std::vector<LayerOp>& ops) const {
  if (matrix.cut != Cut::kColumns || shape_.tp == 1) {
    return;
  }
  const bool scatters = shape_.plan().sequence_parallel;
  // Overlaps with the weight gradient, if there is one.
  const bool is_alone =
      shape_.framework().tensor_overlap == TensorOverlap::kNever || shape_.is_frozen();
  ops.push_back(CommunicationOp(
      scatters ? "scatter gradient" : "sum gradient",
      shape_.Over(GroupRole::kTensor,
                  scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                  matrix.rows * matrix.in, is_alone ? 0 : 1)));
}

void LayerWriter::AddWeightGradient(const Matrix& matrix, std::vector<LayerOp>& ops) {
  const std::int64_t in = WidthIn(matrix, shape_.tp);
  const std::int64_t out = WidthOut(matrix, shape_.tp);
  LayerOp product =
      OperatorOp(matrix.name, Category::kGemm, Gemm(out, in, matrix.rows, "tn", shape_.gemm_type),
                 HostCalls(matrix, 1));  // the gradient of its bias
  product.is_wgrad = true;
  ops.push_back(product);
  AddGradientSum(in * out, ops);
}

// Gradients of several micro-batches are summed in fp32: inside the product, which then reads and
// writes four bytes more than it would, or by a kernel of its own.
void LayerWriter::AddGradientSum(std::int64_t parameters, std::vector<LayerOp>& ops) const {
  const bool is_fused = shape_.framework().fuses_gradient_accumulation;
  if (shape_.job->microbatches() == 1 && !is_fused) {
    return;
  }
  const int bytes = shape_.job->training.precision.gradient_bytes;
  LayerOp sum = OperatorOp(
      "accumulate gradient", Category::kElementwise,
      is_fused ? Elementwise("add", parameters, bytes, std::max(bytes - 2, 0), DataType::kFp32)
               : Elementwise("add", parameters, bytes + shape_.element_bytes, bytes,
                             DataType::kFp32),
      is_fused ? 0 : 1);
  sum.is_wgrad = true;
  ops.push_back(sum);
}

void LayerWriter::Norm(NormKind kind, std::int64_t rows, std::int64_t cols) {
  const bool is_recomputed = shape_.plan().recompute_parts.norms;
  if (kind == NormKind::kRms && shape_.is_unfused()) {
    WritePart(is_recomputed, [&] {
      std::ranges::move(UnfusedRmsNorm(Pass::kForward, {rows, cols}, shape_),
                        std::back_inserter(forward_));
    });
    backward_.push_back(UnfusedRmsNorm(Pass::kBackward, {rows, cols}, shape_));
    return;
  }
  const OperatorKind op =
      kind == NormKind::kRms ? OperatorKind::kRmsNorm : OperatorKind::kLayerNorm;
  const Framework& framework = shape_.framework();
  // Kernels of Apex, Transformer Engine and compilers run at the memory's speed, for short rows
  // too; PyTorch's own, which were measured as norms, do not.
  const bool is_fused = framework.fuses_norm || framework.is_compiled;
  // Without a fused kernel a norm is a cast, a mean of squares, two products and a cast back.
  const int launches = framework.fuses_norm ? 1 : 5;
  const std::int64_t e = shape_.element_bytes;
  const auto norm = [&](std::string_view pass, int count) {
    const bool is_forward = pass == "fwd";
    return OperatorOp("norm", Category::kNorm,
                      is_fused ? Elementwise(is_forward ? "mul" : "other", rows * cols,
                                             is_forward ? e : 2 * e, e, shape_.type)
                               : RowWise(op, rows, cols, pass, shape_.type),
                      count);
  };
  WritePart(is_recomputed, [&] { forward_.push_back(norm("fwd", launches)); });
  backward_.push_back({norm("bwd", 2 * launches + shape_.EagerCalls(1))});
}

void LayerWriter::Elements(const Map& map) {
  forward_.push_back(OperatorOp(map.name, Category::kElementwise,
                                Elementwise(map.forward, map.n, map.reads, map.writes, shape_.type),
                                map.launches));
  backward_.push_back({OperatorOp(
      map.name, Category::kElementwise,
      Elementwise(map.backward, map.n, map.backward_reads, map.backward_writes, shape_.type),
      map.launches)});
}

void LayerWriter::AddResidual(double dropout) {
  const std::int64_t n = shape_.sharded_tokens * shape_.hidden;
  const std::int64_t e = shape_.element_bytes;
  const std::int64_t mask = dropout > 0 ? 1 : 0;
  if (shape_.framework().fuses_dropout_add || dropout == 0) {
    // Backward: where the residual branched off, two gradients meet.
    Elements({"residual", "add", "add", n, 2 * e, e + mask, 2 * e + mask, e});
    return;
  }
  Elements({"dropout", "mul", "mul", n, e, e + mask, e + mask, e});
  Elements({"residual", "add", "add", n, 2 * e, e, 2 * e, e});
}

// As torchtitan's selective checkpointing of operators: attention, reduce-scatters and every second
// GEMM keep their results, all else runs again.
void LayerWriter::RecomputeOperators() {
  bool keeps_next = false;
  for (const LayerOp& op : forward_) {
    const bool is_gemm = op.op && kernel::IsGemm(op.op->kind());
    const bool is_kept =
        (op.op && op.op->kind() == kernel::OperatorKind::kAttention) || (is_gemm && keeps_next) ||
        (op.communication && op.communication->kind == CollectiveKind::kReduceScatter);
    keeps_next = is_gemm ? !keeps_next : keeps_next;
    if (!is_kept) {
      recompute_.push_back(op);
    }
  }
}

UnitOps LayerWriter::Finish() {
  UnitOps unit;
  if (shape_.plan().recompute == Recompute::kOperators) {
    RecomputeOperators();
  }
  unit.forward = std::move(forward_);
  unit.recompute = std::move(recompute_);
  unit.weight_inputs = weight_inputs_;
  for (std::vector<LayerOp>& ops : std::views::reverse(backward_)) {
    std::ranges::move(ops, std::back_inserter(unit.backward));
  }
  return unit;
}

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

void AddCopiesOfShards(std::int64_t gathered, std::int64_t trained, const MicrobatchShape& shape,
                       UnitOps& unit) {
  const auto copy = [&](std::string_view name, std::int64_t elements) {
    return OperatorOp(name, Category::kCast, CopyOf({.kind = Kind::kCopy}, elements, shape));
  };
  unit.forward.insert(unit.forward.begin(), copy("copy out parameters", gathered));
  if (!unit.backward.empty()) {
    unit.backward.insert(unit.backward.begin(), copy("copy out parameters", gathered));
  }
  if (trained > 0) {
    unit.backward.push_back(copy("copy in gradients", trained));
  }
}

}  // namespace orrery::workload
