#include "orrery/workload/generate/layer_writer.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>
#include <utility>

#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/unfused.h"

namespace orrery::workload {
namespace {

using collective::CollectiveKind;
using kernel::OperatorKind;

std::int64_t WidthIn(const Matrix& matrix, int tp) {
  return matrix.cut == Cut::kRows ? matrix.in / tp : matrix.in;
}

std::int64_t WidthOut(const Matrix& matrix, int tp) {
  return matrix.cut == Cut::kColumns ? matrix.out / tp : matrix.out;
}

Communication OverTensor(const MicrobatchShape& shape, CollectiveKind kind, std::int64_t elements,
                         int overlapped_ops) {
  return {GroupRole::kTensor, kind, elements * shape.element_bytes, shape.element, overlapped_ops};
}

// With user buffers a communication is split into one piece per rank and overlaps with
// the product it belongs to: only one piece is waited for.
void AddCommunication(const MicrobatchShape& shape, std::string_view name,
                      const Communication& communication, std::vector<LayerOp>& ops) {
  if (shape.framework().tensor_overlap != TensorOverlap::kPipelined ||
      communication.overlapped_ops > 0) {
    ops.push_back(CommunicationOp(name, communication));
    return;
  }
  Communication exposed = communication;
  exposed.bytes = communication.bytes / shape.tp;
  ops.push_back(CommunicationOp(name, exposed));
}

}  // namespace

std::int64_t BytesOf(kernel::DataType type) {
  return static_cast<std::int64_t>(std::ceil(kernel::ElementBytes(type)));
}

collective::Element ElementOf(kernel::DataType type) {
  switch (type) {
    case kernel::DataType::kFp16:
      return collective::Element::kHalf;
    case kernel::DataType::kFp32:
    case kernel::DataType::kTf32:
      return collective::Element::kFloat;
    case kernel::DataType::kFp8:
    case kernel::DataType::kFp8Block:
      return collective::Element::kFp8;
    default:
      return collective::Element::kBfloat16;
  }
}

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
  shape.element = ElementOf(shape.type);
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

void LayerWriter::GatherSequence(const Matrix& matrix) {
  if (shape_.tp > 1 && shape_.plan().sequence_parallel) {
    AddCommunication(shape_, "gather sequence",
                     OverTensor(shape_, CollectiveKind::kAllGather, matrix.rows * matrix.in, 0),
                     forward_);
  }
}

void LayerWriter::ReduceOutput(const Matrix& matrix) {
  if (shape_.tp > 1) {
    const bool scatters = shape_.plan().sequence_parallel;
    AddCommunication(
        shape_, scatters ? "scatter sum" : "sum",
        OverTensor(shape_, scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   matrix.rows * matrix.out, 0),
        forward_);
  }
}

void LayerWriter::Linear(const Matrix& matrix) {
  const std::int64_t in = WidthIn(matrix, shape_.tp);
  const std::int64_t out = WidthOut(matrix, shape_.tp);
  if (matrix.cut == Cut::kColumns) {
    GatherSequence(matrix);
  }
  if (matrix.casts_input) {
    Cast("cast input", matrix.rows, in, forward_);
  }
  forward_.push_back(
      OperatorOp(matrix.name, Category::kGemm, Gemm(matrix.rows, out, in, "nt", shape_.gemm_type)));
  if (matrix.cut == Cut::kRows) {
    ReduceOutput(matrix);
  }
  backward_.push_back(LinearBackward(matrix));
  if (!shape_.is_frozen()) {
    KeepForWeights(WeightInputBytes(matrix));
  } else if (matrix.has_adapter) {
    AddAdapter(matrix);
  }
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

// What is replicated on every rank is kept in parts with sequence parallelism.
std::int64_t LayerWriter::WeightInputBytes(const Matrix& matrix) const {
  const int parts = shape_.plan().sequence_parallel ? shape_.tp : 1;
  const std::int64_t in = WidthIn(matrix, shape_.tp) / (matrix.cut == Cut::kColumns ? parts : 1);
  const std::int64_t out = WidthOut(matrix, shape_.tp) / (matrix.cut == Cut::kRows ? parts : 1);
  return matrix.rows * (in + out) * shape_.gemm_bytes();
}

std::vector<LayerOp> LayerWriter::LinearBackward(const Matrix& matrix) {
  std::vector<LayerOp> ops;
  const bool is_cut = shape_.tp > 1;
  const bool by_sequence = is_cut && shape_.plan().sequence_parallel;
  if (matrix.cut == Cut::kRows && by_sequence) {
    AddCommunication(shape_, "gather gradient",
                     OverTensor(shape_, CollectiveKind::kAllGather, matrix.rows * matrix.out, 0),
                     ops);
  }
  if (matrix.casts_gradient) {
    Cast("cast gradient", matrix.rows, WidthOut(matrix, shape_.tp), ops);
  }
  // The saved input of a rank is its part of the sequence; the weight gradient needs all of it.
  if (matrix.cut == Cut::kColumns && by_sequence && !shape_.framework().keeps_gathered_inputs &&
      !shape_.is_frozen()) {
    ops.push_back(CommunicationOp(
        "gather saved input",
        OverTensor(shape_, CollectiveKind::kAllGather, matrix.rows * matrix.in, 1)));
  }
  AddInputGradient(matrix, ops);
  if (!shape_.is_frozen()) {
    AddWeightGradient(matrix, ops);
  }
  return ops;
}

void LayerWriter::AddInputGradient(const Matrix& matrix, std::vector<LayerOp>& ops) {
  ops.push_back(OperatorOp(matrix.name, Category::kGemm,
                           Gemm(matrix.rows, WidthIn(matrix, shape_.tp),
                                WidthOut(matrix, shape_.tp), "nn", shape_.gemm_type)));
  const int branches = shape_.is_unfused() ? matrix.branches : 1;
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
  const int overlapped_ops = is_alone ? 0 : 1;
  ops.push_back(CommunicationOp(
      scatters ? "scatter gradient" : "sum gradient",
      OverTensor(shape_, scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                 matrix.rows * matrix.in, overlapped_ops)));
}

void LayerWriter::AddWeightGradient(const Matrix& matrix, std::vector<LayerOp>& ops) {
  const std::int64_t in = WidthIn(matrix, shape_.tp);
  const std::int64_t out = WidthOut(matrix, shape_.tp);
  LayerOp product =
      OperatorOp(matrix.name, Category::kGemm, Gemm(out, in, matrix.rows, "tn", shape_.gemm_type));
  product.is_wgrad = true;
  ops.push_back(product);
  // Gradients of several micro-batches are summed in fp32: inside the product, which then reads and
  // writes four bytes more than it would, or by a kernel of its own.
  const bool is_fused = shape_.framework().fuses_gradient_accumulation;
  if (shape_.job->microbatches() == 1 && !is_fused) {
    return;
  }
  const int bytes = shape_.job->training.precision.gradient_bytes;
  LayerOp sum = OperatorOp("accumulate gradient", Category::kElementwise,
                           is_fused ? Elementwise("add", in * out, bytes, std::max(bytes - 2, 0),
                                                  kernel::DataType::kFp32)
                                    : Elementwise("add", in * out, bytes + shape_.element_bytes,
                                                  bytes, kernel::DataType::kFp32),
                           is_fused ? 0 : 1);
  sum.is_wgrad = true;
  ops.push_back(sum);
}

void LayerWriter::Norm(NormKind kind, std::int64_t rows, std::int64_t cols) {
  if (kind == NormKind::kRms && shape_.is_unfused()) {
    UnfusedNorm(rows, cols);
    return;
  }
  const OperatorKind op =
      kind == NormKind::kRms ? OperatorKind::kRmsNorm : OperatorKind::kLayerNorm;
  // Without a fused kernel a norm is a cast, a mean of squares, two products and a cast back.
  const int launches = shape_.framework().fuses_norm ? 1 : 5;
  WritePart(shape_.plan().recompute_parts.norms, [&] {
    forward_.push_back(
        OperatorOp("norm", Category::kNorm, RowWise(op, rows, cols, "fwd", shape_.type), launches));
  });
  backward_.push_back({OperatorOp("norm", Category::kNorm,
                                  RowWise(op, rows, cols, "bwd", shape_.type), 2 * launches)});
}

void LayerWriter::UnfusedNorm(std::int64_t rows, std::int64_t cols) {
  WritePart(shape_.plan().recompute_parts.norms, [&] {
    std::ranges::move(UnfusedRmsNorm(Pass::kForward, {rows, cols}, shape_),
                      std::back_inserter(forward_));
  });
  backward_.push_back(UnfusedRmsNorm(Pass::kBackward, {rows, cols}, shape_));
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

void LayerWriter::RecomputeFrom(std::size_t begin) {
  recompute_.insert(recompute_.end(), forward_.begin() + static_cast<std::ptrdiff_t>(begin),
                    forward_.end());
}

UnitOps LayerWriter::Finish() {
  UnitOps unit;
  unit.forward = std::move(forward_);
  unit.recompute = std::move(recompute_);
  unit.weight_inputs = weight_inputs_;
  for (std::vector<LayerOp>& ops : std::views::reverse(backward_)) {
    std::ranges::move(ops, std::back_inserter(unit.backward));
  }
  return unit;
}

}  // namespace orrery::workload
