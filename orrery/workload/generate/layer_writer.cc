#include "orrery/workload/generate/layer_writer.h"

#include <algorithm>
#include <iterator>
#include <ranges>
#include <utility>

#include "orrery/workload/generate/operators.h"
#include "orrery/workload/generate/spelled_out.h"

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

Exchange OverTensor(const Scene& scene, CollectiveKind kind, std::int64_t elements, int beside) {
  return {Slot::kTensor, kind, elements * scene.element_bytes, scene.element, beside};
}

// With user buffers an exchange is cut into as many pieces as there are ranks and runs beside the
// product it belongs to: only one piece is waited for.
void AddExchange(const Scene& scene, std::string_view name, const Exchange& exchange,
                 std::vector<Step>& steps) {
  if (scene.framework().tensor_overlap != TensorOverlap::kPipelined || exchange.beside > 0) {
    steps.push_back(ExchangeStep(name, exchange));
    return;
  }
  Exchange exposed = exchange;
  exposed.bytes = exchange.bytes / scene.tp;
  steps.push_back(ExchangeStep(name, exposed));
}

}  // namespace

Step ExchangeStep(std::string_view name, const Exchange& exchange) {
  Step step;
  step.name = name;
  step.exchange = exchange;
  return step;
}

Step OperatorStep(std::string_view name, Category category, const kernel::Operator& op,
                  int launches) {
  Step step;
  step.name = name;
  step.category = category;
  step.op = op;
  step.launches = launches;
  return step;
}

void LayerWriter::Cast(std::string_view name, std::int64_t rows, std::int64_t cols,
                       std::vector<Step>& steps) {
  if (scene_.is_fp8()) {
    // One pass that writes it as it is and turned, for the gradient of weights.
    steps.push_back(
        OperatorStep(name, Category::kCast, Elementwise("other", rows * cols, 2, 2, scene_.type)));
  }
}

void LayerWriter::GatherSequence(const Matrix& matrix) {
  if (scene_.tp > 1 && scene_.plan().sequence_parallel) {
    AddExchange(scene_, "gather sequence",
                OverTensor(scene_, CollectiveKind::kAllGather, matrix.rows * matrix.in, 0),
                forward_);
  }
}

void LayerWriter::ReduceOutput(const Matrix& matrix) {
  if (scene_.tp > 1) {
    const bool scatters = scene_.plan().sequence_parallel;
    AddExchange(
        scene_, scatters ? "scatter sum" : "sum",
        OverTensor(scene_, scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                   matrix.rows * matrix.out, 0),
        forward_);
  }
}

void LayerWriter::Linear(const Matrix& matrix) {
  const std::int64_t in = WidthIn(matrix, scene_.tp);
  const std::int64_t out = WidthOut(matrix, scene_.tp);
  if (matrix.cut == Cut::kColumns) {
    GatherSequence(matrix);
  }
  if (matrix.casts_input) {
    Cast("cast input", matrix.rows, in, forward_);
  }
  forward_.push_back(OperatorStep(matrix.name, Category::kProduct,
                                  Product(matrix.rows, out, in, "nt", scene_.products)));
  if (matrix.cut == Cut::kRows) {
    ReduceOutput(matrix);
  }
  backward_.push_back(LinearBackward(matrix));
  if (!scene_.is_frozen()) {
    KeepForWeights(WeightInputBytes(matrix));
  } else if (matrix.has_adapter) {
    AddAdapter(matrix);
  }
}

// Down to the rank and up again beside the frozen matrix; backward, gradients of both and of the
// input, which is added to that of the frozen matrix. Exchanges of vectors of the rank are left
// out.
void LayerWriter::AddAdapter(const Matrix& matrix) {
  const std::int64_t rank = scene_.job->training.adapter_rank;
  const std::int64_t in = WidthIn(matrix, scene_.tp);
  const std::int64_t out = WidthOut(matrix, scene_.tp);
  const std::int64_t rows = matrix.rows;
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k,
                           std::string_view layout) {
    return OperatorStep("adapter", Category::kProduct, Product(m, n, k, layout, scene_.type));
  };
  const auto sum = [&](std::int64_t width) {
    return OperatorStep("adapter", Category::kElementwise,
                        Elementwise("add", rows * width, 2 * scene_.element_bytes,
                                    scene_.element_bytes, scene_.type));
  };
  forward_.push_back(product(rows, rank, in, "nt"));
  forward_.push_back(product(rows, out, rank, "nt"));
  forward_.push_back(sum(out));
  std::vector<Step> steps = {product(rows, rank, out, "nn"), product(out, rank, rows, "tn"),
                             product(rows, in, rank, "nn"), product(rank, in, rows, "tn"), sum(in)};
  steps[1].is_for_weights = true;
  steps[3].is_for_weights = true;
  backward_.push_back(std::move(steps));
}

// What is whole on every rank is kept in parts where the sequence is cut.
std::int64_t LayerWriter::WeightInputBytes(const Matrix& matrix) const {
  const int parts = scene_.plan().sequence_parallel ? scene_.tp : 1;
  const std::int64_t in = WidthIn(matrix, scene_.tp) / (matrix.cut == Cut::kColumns ? parts : 1);
  const std::int64_t out = WidthOut(matrix, scene_.tp) / (matrix.cut == Cut::kRows ? parts : 1);
  return matrix.rows * (in + out) * scene_.product_bytes();
}

std::vector<Step> LayerWriter::LinearBackward(const Matrix& matrix) {
  std::vector<Step> steps;
  const bool is_cut = scene_.tp > 1;
  const bool by_sequence = is_cut && scene_.plan().sequence_parallel;
  if (matrix.cut == Cut::kRows && by_sequence) {
    AddExchange(scene_, "gather gradient",
                OverTensor(scene_, CollectiveKind::kAllGather, matrix.rows * matrix.out, 0), steps);
  }
  if (matrix.casts_gradient) {
    Cast("cast gradient", matrix.rows, WidthOut(matrix, scene_.tp), steps);
  }
  // The saved input of a rank is its part of the sequence; the weight's gradient needs it whole.
  if (matrix.cut == Cut::kColumns && by_sequence && !scene_.framework().keeps_gathered_inputs &&
      !scene_.is_frozen()) {
    steps.push_back(
        ExchangeStep("gather saved input",
                     OverTensor(scene_, CollectiveKind::kAllGather, matrix.rows * matrix.in, 1)));
  }
  AddInputGradient(matrix, steps);
  if (!scene_.is_frozen()) {
    AddWeightGradient(matrix, steps);
  }
  return steps;
}

void LayerWriter::AddInputGradient(const Matrix& matrix, std::vector<Step>& steps) {
  steps.push_back(OperatorStep(matrix.name, Category::kProduct,
                               Product(matrix.rows, WidthIn(matrix, scene_.tp),
                                       WidthOut(matrix, scene_.tp), "nn", scene_.products)));
  const int branches = scene_.is_spelled_out() ? matrix.branches : 1;
  for (int branch = 0; branch < branches; ++branch) {
    AddInputGradientSum(matrix, steps);
  }
  std::ranges::move(SumsOfBranches(branches, {matrix.rows, WidthIn(matrix, scene_.tp)}, scene_),
                    std::back_inserter(steps));
}

void LayerWriter::AddInputGradientSum(const Matrix& matrix, std::vector<Step>& steps) const {
  if (matrix.cut != Cut::kColumns || scene_.tp == 1) {
    return;
  }
  const bool scatters = scene_.plan().sequence_parallel;
  // Beside the gradient of the weight, if there is one.
  const bool is_alone =
      scene_.framework().tensor_overlap == TensorOverlap::kNever || scene_.is_frozen();
  const int beside = is_alone ? 0 : 1;
  steps.push_back(ExchangeStep(
      scatters ? "scatter gradient" : "sum gradient",
      OverTensor(scene_, scatters ? CollectiveKind::kReduceScatter : CollectiveKind::kAllReduce,
                 matrix.rows * matrix.in, beside)));
}

void LayerWriter::AddWeightGradient(const Matrix& matrix, std::vector<Step>& steps) {
  const std::int64_t in = WidthIn(matrix, scene_.tp);
  const std::int64_t out = WidthOut(matrix, scene_.tp);
  Step product = OperatorStep(matrix.name, Category::kProduct,
                              Product(out, in, matrix.rows, "tn", scene_.products));
  product.is_for_weights = true;
  steps.push_back(product);
  // Gradients of several micro-batches are summed in fp32: inside the product, which then reads and
  // writes four bytes more than it would, or by a kernel of its own.
  const bool is_fused = scene_.framework().fuses_gradient_accumulation;
  if (scene_.job->microbatches() == 1 && !is_fused) {
    return;
  }
  const int bytes = scene_.job->training.precision.gradient_bytes;
  Step sum = OperatorStep("accumulate gradient", Category::kElementwise,
                          is_fused ? Elementwise("add", in * out, bytes, std::max(bytes - 2, 0),
                                                 kernel::DataType::kFp32)
                                   : Elementwise("add", in * out, bytes + scene_.element_bytes,
                                                 bytes, kernel::DataType::kFp32),
                          is_fused ? 0 : 1);
  sum.is_for_weights = true;
  steps.push_back(sum);
}

void LayerWriter::Norm(NormKind kind, std::int64_t rows, std::int64_t cols) {
  if (kind == NormKind::kRms && scene_.is_spelled_out()) {
    SpelledOutNorm(rows, cols);
    return;
  }
  const OperatorKind op =
      kind == NormKind::kRms ? OperatorKind::kRmsNorm : OperatorKind::kLayerNorm;
  // Without a fused kernel a norm is a cast, a mean of squares, two products and a cast back.
  const int launches = scene_.framework().fuses_norm ? 1 : 5;
  WritePart(scene_.plan().recompute_parts.norms, [&] {
    forward_.push_back(OperatorStep("norm", Category::kNorm,
                                    RowWise(op, rows, cols, "fwd", scene_.type), launches));
  });
  backward_.push_back({OperatorStep("norm", Category::kNorm,
                                    RowWise(op, rows, cols, "bwd", scene_.type), 2 * launches)});
}

void LayerWriter::SpelledOutNorm(std::int64_t rows, std::int64_t cols) {
  WritePart(scene_.plan().recompute_parts.norms, [&] {
    std::ranges::move(SpelledOutRmsNorm(Pass::kForward, {rows, cols}, scene_),
                      std::back_inserter(forward_));
  });
  backward_.push_back(SpelledOutRmsNorm(Pass::kBackward, {rows, cols}, scene_));
}

void LayerWriter::Elements(const Map& map) {
  forward_.push_back(OperatorStep(
      map.name, Category::kElementwise,
      Elementwise(map.forward, map.n, map.reads, map.writes, scene_.type), map.launches));
  backward_.push_back({OperatorStep(
      map.name, Category::kElementwise,
      Elementwise(map.backward, map.n, map.backward_reads, map.backward_writes, scene_.type),
      map.launches)});
}

void LayerWriter::AddResidual(double dropout) {
  const std::int64_t n = scene_.sharded_tokens * scene_.hidden;
  const std::int64_t e = scene_.element_bytes;
  const std::int64_t mask = dropout > 0 ? 1 : 0;
  if (scene_.framework().fuses_dropout_add || dropout == 0) {
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

UnitSteps LayerWriter::Finish() {
  UnitSteps unit;
  unit.forward = std::move(forward_);
  unit.recompute = std::move(recompute_);
  unit.weight_inputs = weight_inputs_;
  for (std::vector<Step>& steps : std::views::reverse(backward_)) {
    std::ranges::move(steps, std::back_inserter(unit.backward));
  }
  return unit;
}

}  // namespace orrery::workload
