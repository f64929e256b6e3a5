#pragma once

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

/// Whether the operator is made of matrix products, which tensor cores compute.
[[nodiscard]] bool IsGemm(OperatorKind kind);

/// A product that a kernel cuts into tiles: `batch` results of m × n, each over k.
struct GemmShape {
  double batch = 1;
  double m = 1;
  double n = 1;
  double k = 1;
};

/// The product inside of an operator: convolutions as the implicit product, attention as query
/// rows × head size over keys. Of one result of 1 × 1 for other kinds.
[[nodiscard]] GemmShape GemmOf(const Operator& op);

}  // namespace orrery::kernel
