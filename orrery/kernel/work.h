#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The least that an operator has to do: each operand is read and each result written once.
struct Work {
  double flops = 0;  // a multiplication and its addition are two
  double read_bytes = 0;
  double write_bytes = 0;

  [[nodiscard]] double Bytes() const { return read_bytes + write_bytes; }
};

/// Derives the work from the definition of the operator; the formulas are in
/// docs/formats/operators.md.
[[nodiscard]] Work WorkOf(const Operator& op);

/// Returns true if a convolution computes both gradients: frameworks call dgrad, then wgrad, so it
/// takes as long as the two together (3 % mean difference over 1,182 measured shapes, +0.6 %
/// median).
[[nodiscard]] bool HasBothGradients(const Operator& op);

[[nodiscard]] bool IsGemm(OperatorKind kind);

/// A product that a kernel cuts into tiles: `batch` results of m × n, each over k.
struct GemmShape {
  double batch = 1;
  double m = 1;
  double n = 1;
  double k = 1;
};

/// The product inside an operator: convolutions as the implicit product, attention as query rows ×
/// head size over keys. Of one result of 1 × 1 for other kinds.
[[nodiscard]] GemmShape GemmOf(const Operator& op);

/// The lower bounds of an operator's time from a GPU's specification.
struct Bound {
  double compute_seconds = 0;
  double memory_seconds = 0;

  [[nodiscard]] double Seconds() const {
    return compute_seconds > memory_seconds ? compute_seconds : memory_seconds;
  }
};

/// Matrix multiplications run at the peak of their type (that of the next wider type where the GPU
/// lists none), everything else at the fp32 peak; bytes move at the memory's bandwidth, or the host
/// link's.
[[nodiscard]] Bound BoundOf(const Operator& op, const Work& work, const hardware::Gpu& gpu);

}  // namespace orrery::kernel
