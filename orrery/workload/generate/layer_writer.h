#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/collective/request.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/parameters.h"

/// Parts of layers as models of Hugging Face run them, one kernel for each operation
/// (Framework::has_unfused_layers). Counted in recordings of PyTorch 2.11 (data/traced).
namespace orrery::workload {

/// The sizes of one micro-batch on one rank.
struct MicrobatchShape {
  const Job* job = nullptr;
  std::int64_t batch = 1;           // samples
  std::int64_t sequence = 1;        // tokens of a sample, all of them
  std::int64_t tokens = 1;          // of this rank: batch · sequence / cp
  std::int64_t sharded_tokens = 1;  // the same where sequence parallelism cuts
  std::int64_t hidden = 0;
  int tp = 1;
  DataType type = DataType::kBf16;       // of activations
  DataType gemm_type = DataType::kBf16;  // of products
  std::int64_t element_bytes = 2;

  [[nodiscard]] const Plan& plan() const { return job->plan; }

  /// True if each operation of a layer is a kernel of its own.
  [[nodiscard]] bool is_unfused() const {
    return framework().has_unfused_layers && !framework().is_compiled;
  }

  [[nodiscard]] const Framework& framework() const { return job->framework; }

  /// Small kernels and copies that an eager framework launches beside an operation, where a
  /// compiler has none. Only the host notices them.
  [[nodiscard]] int EagerCalls(int calls) const {
    return framework().is_compiled || !job->mechanisms.host_calls ? 0 : calls;
  }

  /// True if GEMMs read narrower copies of activations; TF32 reads the activations themselves.
  [[nodiscard]] bool is_fp8() const { return gemm_type != type && gemm_type != DataType::kTf32; }

  /// True if only adapters are trained: gradients of weights are not computed.
  [[nodiscard]] bool is_frozen() const { return job->training.adapter_rank > 0; }

  /// Bytes of an element of a GEMM's input.
  [[nodiscard]] std::int64_t gemm_bytes() const;

  /// Communication of `elements` activations.
  [[nodiscard]] Communication Over(GroupRole role, CollectiveKind kind, std::int64_t elements,
                                   int overlapped_ops = 0) const {
    return {role, kind, elements * element_bytes, type, overlapped_ops};
  }

  /// Of GEMMs without weights, in attention.
  [[nodiscard]] DataType score_gemm_type() const {
    return gemm_type == DataType::kTf32 ? gemm_type : type;
  }
};

/// The shape of a transformer's decoder (or of an encoder that stands alone).
[[nodiscard]] MicrobatchShape MicrobatchShapeOf(const Job& job, const Transformer& model);

/// The shape of a model without sequences: a token is a sample.
[[nodiscard]] MicrobatchShape MicrobatchShapeOf(const Job& job);

/// The side of a matrix that tensor parallelism splits.
enum class Cut : std::uint8_t {
  kColumns,  // the output: its input is whole, gathered before with sequence parallelism
  kRows,     // the input: results are summed, and scattered with sequence parallelism
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
  // The targets of LoRA that have narrow matrices beside it; QLoRA stores it in four bits.
  std::optional<AdapterTargets> adapted_by = {};
};

/// Writes the operations of a unit, sublayer by sublayer: forward operations are appended to the
/// end of the forward pass, and its backward pass runs before that of the sublayers written
/// earlier.
class LayerWriter {
 public:
  explicit LayerWriter(const MicrobatchShape& shape) : shape_(shape) {}

  [[nodiscard]] const MicrobatchShape& shape() const { return shape_; }

  void Forward(const LayerOp& op) { forward_.push_back(op); }

  /// Ops of one sublayer's backward pass, in order.
  void Backward(std::vector<LayerOp> ops) { backward_.push_back(std::move(ops)); }

  /// A GEMM with the casts and communication that precision and tensor parallelism require.
  void Linear(const Matrix& matrix);

  void Norm(NormKind kind, std::int64_t rows, std::int64_t cols);

  /// An elementwise operator over `n` elements. Bytes are of one element of the result.
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
  /// pass if `is_recomputed`. A part inside a recomputed one belongs to it.
  template <typename Write>
  void WritePart(bool is_recomputed, const Write& write) {
    const bool begins = is_recomputed && !is_in_recomputed_;
    const std::size_t begin = forward_.size();
    is_in_recomputed_ = is_in_recomputed_ || begins;
    write();
    if (begins) {
      recompute_.insert(recompute_.end(), forward_.begin() + static_cast<std::ptrdiff_t>(begin),
                        forward_.end());
      is_in_recomputed_ = false;
    }
  }

  /// The same; what it writes depends on the routing of tokens.
  template <typename Write>
  void WriteDynamic(const Write& write) {
    const std::size_t first = forward_.size();
    const std::size_t first_backward = backward_.size();
    write();
    for (LayerOp& op : std::span(forward_).subspan(first)) {
      op.is_dynamic = true;
    }
    for (std::vector<LayerOp>& ops : std::span(backward_).subspan(first_backward)) {
      for (LayerOp& op : ops) {
        op.is_dynamic = true;
      }
    }
  }

  /// The same; what it writes takes as long as the busiest expert rank has tokens.
  template <typename Write>
  void WriteRouted(const Write& write) {
    const std::size_t first = forward_.size();
    const std::size_t first_backward = backward_.size();
    write();
    for (LayerOp& op : std::span(forward_).subspan(first)) {
      op.is_routed = true;
    }
    for (std::vector<LayerOp>& ops : std::span(backward_).subspan(first_backward)) {
      for (LayerOp& op : ops) {
        op.is_routed = true;
      }
    }
  }

  /// Adds the gradient of parameters to that of the micro-batches before, where there are several.
  void AddGradientSum(std::int64_t parameters, std::vector<LayerOp>& ops) const;

  /// Inputs and output gradients, in bytes, that a deferred weight gradient needs.
  void KeepForWeights(std::int64_t bytes) { weight_inputs_ += bytes; }

  [[nodiscard]] UnitOps Finish();

 private:
  void RecomputeOperators();

  /// True if GEMMs and communication of tensor parallelism run beside each other, piece by piece.
  [[nodiscard]] bool IsInPieces() const {
    return shape_.framework().tensor_overlap == TensorOverlap::kPipelined &&
           shape_.job->mechanisms.user_buffers;
  }

  /// `is_cast`: a cast follows before the GEMM that reads it.
  void Gather(std::string_view name, std::int64_t elements, bool is_cast,
              std::vector<LayerOp>& ops) const;
  void ScatterBeside(const LayerOp& gemm, std::int64_t elements, std::vector<LayerOp>& ops) const;
  void Cast(std::string_view name, std::int64_t rows, std::int64_t cols, std::vector<LayerOp>& ops);
  [[nodiscard]] std::int64_t WeightInputBytes(const Matrix& matrix) const;
  void AddAdapter(const Matrix& matrix);
  void AddDequantised(const Matrix& matrix, std::vector<LayerOp>& ops) const;
  [[nodiscard]] std::vector<LayerOp> LinearBackward(const Matrix& matrix);
  void AddInputGradient(const Matrix& matrix, std::vector<LayerOp>& ops);
  void AddInputGradientSum(const Matrix& matrix, std::vector<LayerOp>& ops) const;
  void AddWeightGradient(const Matrix& matrix, std::vector<LayerOp>& ops);

  // The number of separate GEMMs for the matrices that stand side by side in it.
  [[nodiscard]] int BranchesOf(const Matrix& matrix) const {
    return shape_.is_unfused() ? matrix.branches : 1;
  }

  // Of its GEMM, with `beside` small kernels.
  [[nodiscard]] int HostCalls(const Matrix& matrix, int beside) const;

  const MicrobatchShape& shape_;
  std::vector<LayerOp> forward_;
  std::vector<std::vector<LayerOp>> backward_;
  std::vector<LayerOp> recompute_;
  bool is_in_recomputed_ = false;
  std::int64_t weight_inputs_ = 0;
};

/// A communication as an operation.
[[nodiscard]] LayerOp CommunicationOp(std::string_view name, const Communication& communication);

/// An operator as an operation of a layer.
[[nodiscard]] LayerOp OperatorOp(std::string_view name, Category category,
                                 const kernel::Operator& op, int launches = 1);

enum class Pass : std::uint8_t { kForward, kBackward };

/// The matrix that kernels go over.
struct Extent {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
};

/// RMSNorm over rows: computed in fp32, with the weight's gradient backward.
[[nodiscard]] std::vector<LayerOp> UnfusedRmsNorm(Pass pass, const Extent& extent,
                                                  const MicrobatchShape& shape);

/// Rotary positions of queries and keys; backward, with the gradients put into
/// the order that products read.
[[nodiscard]] std::vector<LayerOp> UnfusedRope(Pass pass, const Extent& extent,
                                               const MicrobatchShape& shape);

/// The sums of input gradients from `branches` matrices.
[[nodiscard]] std::vector<LayerOp> SumsOfBranches(int branches, const Extent& extent,
                                                  const MicrobatchShape& shape);

/// The loss is computed in fp32: logits forward, their gradient backward.
[[nodiscard]] LayerOp CastOfLogits(Pass pass, const Extent& extent, const MicrobatchShape& shape);

/// Adds copies of a unit's gathered parameters before its passes and of its gradients after them
/// (Framework::copies_shards).
void AddCopiesOfShards(std::int64_t gathered, std::int64_t trained, const MicrobatchShape& shape,
                       UnitOps& unit);

}  // namespace orrery::workload
