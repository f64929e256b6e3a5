#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/microbatch_shape.h"

namespace orrery::workload {

/// Which side of a product tensor parallelism cuts.
enum class Cut : std::uint8_t {
  kColumns,  // the output: its input is whole, gathered before when the sequence is cut
  kRows,     // the input: results are summed, and scattered when the sequence is cut
  kNothing,  // every rank has all of it
};

/// One matrix: `rows` are tokens, `in` and `out` its whole widths.
struct Matrix {
  std::string_view name;
  std::int64_t rows = 0;
  std::int64_t in = 0;
  std::int64_t out = 0;
  Cut cut = Cut::kNothing;
  bool casts_input = true;     // to fp8, by a kernel of its own; else what makes it does so
  bool casts_gradient = true;  // the same of the gradient of its output
  int branches = 1;            // matrices of one input that stand side by side in it
  bool has_adapter = false;    // LoRA trains two narrow matrices beside it
};

/// Writes the steps of a unit, sublayer by sublayer: what a sublayer does forward goes to the end
/// of the forward pass, and its backward pass runs before that of the sublayers written earlier.
class LayerWriter {
 public:
  explicit LayerWriter(const MicrobatchShape& shape) : shape_(shape) {}

  [[nodiscard]] const MicrobatchShape& shape() const { return shape_; }

  void Forward(LayerOp step) { forward_.push_back(std::move(step)); }

  /// Ops of one sublayer's backward pass, in order.
  void Backward(std::vector<LayerOp> steps) { backward_.push_back(std::move(steps)); }

  /// A matrix product with what precision and tensor parallelism ask for around it.
  void Linear(const Matrix& matrix);

  void Norm(NormKind kind, std::int64_t rows, std::int64_t cols);

  /// A map over `n` elements. Bytes are of one element of the result.
  struct Map {
    std::string_view name;
    std::string_view forward;
    std::string_view backward;
    std::int64_t n = 0;
    std::int64_t reads = 0;
    std::int64_t writes = 0;
    std::int64_t backward_reads = 0;
    std::int64_t backward_writes = 0;
    int launches = 1;
  };

  void Elements(const Map& map);

  /// The sum with the residual, with dropout where the model has it.
  void AddResidual(double dropout);

  /// Does what `write` does; what it writes of the forward pass runs again before the backward
  /// pass if `is_recomputed`. A part inside of a recomputed one belongs to it.
  template <typename Write>
  void WritePart(bool is_recomputed, const Write& write) {
    const bool begins = is_recomputed && !is_in_recomputed_;
    const std::size_t begin = forward_.size();
    is_in_recomputed_ = is_in_recomputed_ || begins;
    write();
    if (begins) {
      RecomputeFrom(begin);
      is_in_recomputed_ = false;
    }
  }

  /// Inputs and gradients of outputs, in bytes, that a put-off gradient of a weight needs.
  void KeepForWeights(std::int64_t bytes) { weight_inputs_ += bytes; }

  [[nodiscard]] UnitOps Finish();

 private:
  void GatherSequence(const Matrix& matrix);
  void ReduceOutput(const Matrix& matrix);
  void Cast(std::string_view name, std::int64_t rows, std::int64_t cols,
            std::vector<LayerOp>& steps);
  [[nodiscard]] std::int64_t WeightInputBytes(const Matrix& matrix) const;
  void AddAdapter(const Matrix& matrix);
  [[nodiscard]] std::vector<LayerOp> LinearBackward(const Matrix& matrix);
  void AddInputGradient(const Matrix& matrix, std::vector<LayerOp>& steps);
  void AddInputGradientSum(const Matrix& matrix, std::vector<LayerOp>& steps) const;
  void UnfusedNorm(std::int64_t rows, std::int64_t cols);
  void AddWeightGradient(const Matrix& matrix, std::vector<LayerOp>& steps);
  void RecomputeFrom(std::size_t begin);

  const MicrobatchShape& shape_;
  std::vector<LayerOp> forward_;
  std::vector<std::vector<LayerOp>> backward_;
  std::vector<LayerOp> recompute_;
  bool is_in_recomputed_ = false;
  std::int64_t weight_inputs_ = 0;
};

/// An communication as a step.
[[nodiscard]] LayerOp CommunicationOp(std::string_view name, const Communication& communication);

/// An operator as a step.
[[nodiscard]] LayerOp OperatorOp(std::string_view name, Category category,
                                 const kernel::Operator& op, int launches = 1);

}  // namespace orrery::workload
