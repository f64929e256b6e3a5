#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

struct TensorInput {
  std::vector<std::int64_t> dims;
  DataType type = DataType::kUnknown;

  [[nodiscard]] double Elements() const;

  /// Nothing when the size of its elements is not known.
  [[nodiscard]] std::optional<double> Bytes() const;
};

/// The arguments of an operator call, by position.
class OperatorInputs {
 public:
  OperatorInputs(const trace::Trace& trace, RowId host_op);

  /// Returns the tensor at a position; nothing for scalars, lists, omitted arguments and what was
  /// not recorded.
  [[nodiscard]] const TensorInput* TensorAt(std::size_t position) const;

  [[nodiscard]] const TensorInput* TensorAt(std::size_t position, std::size_t num_dims) const;

  [[nodiscard]] std::vector<const TensorInput*> Tensors() const;

  /// Returns the integers of a list such as a stride; empty when they are not recorded.
  [[nodiscard]] std::vector<std::int64_t> IntegersAt(std::size_t position) const;

  [[nodiscard]] bool IsTrueAt(std::size_t position) const;

 private:
  std::vector<std::optional<TensorInput>> tensors_;
  std::vector<std::string_view> values_;
};

/// The FLOPs of an operator, and the bytes it has to move at least: each input is read and the
/// output written once.
struct OperatorWork {
  double flops = 0;
  double bytes = 0;
  DataType type = DataType::kUnknown;  // of the first input

  bool operator==(const OperatorWork&) const = default;
};

/// Derives the work of a call from its shapes: GEMMs (mm, addmm, bmm, baddbmm, linear),
/// forward convolutions, forward attention (half of it when causal) and element-wise operators (one
/// FLOP for each element of the output). A multiplication and its addition are two FLOPs. Nothing
/// for other operators and where shapes or types are missing.
[[nodiscard]] std::optional<OperatorWork> WorkOfOperator(std::string_view name,
                                                         const OperatorInputs& inputs);

}  // namespace orrery::analyze
