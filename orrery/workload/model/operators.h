#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>

#include "orrery/kernel/operator.h"

/// Operators of layers.
namespace orrery::workload {

using Sizes = std::initializer_list<std::pair<kernel::Key, std::int64_t>>;

[[nodiscard]] inline kernel::Operator MakeOperator(kernel::OperatorKind kind, DataType type,
                                                   Sizes sizes) {
  kernel::Operator op(kind, type);
  for (const auto& [key, size] : sizes) {
    op.Set(key, size);
  }
  return op;
}

[[nodiscard]] inline kernel::Operator Gemm(std::int64_t m, std::int64_t n, std::int64_t k,
                                           std::string_view layout, DataType type) {
  using enum kernel::Key;
  return MakeOperator(kernel::OperatorKind::kGemm, type, {{kM, m}, {kN, n}, {kK, k}})
      .Set(kLayout, layout);
}

[[nodiscard]] inline kernel::Operator BatchedGemm(std::int64_t batch, std::int64_t m,
                                                  std::int64_t n, std::int64_t k, DataType type) {
  using enum kernel::Key;
  return MakeOperator(kernel::OperatorKind::kBatchedGemm, type,
                      {{kB, batch}, {kM, m}, {kN, n}, {kK, k}});
}

/// `reads` and `writes` are bytes of one element of the result.
[[nodiscard]] inline kernel::Operator Elementwise(std::string_view function, std::int64_t n,
                                                  std::int64_t reads, std::int64_t writes,
                                                  DataType type) {
  using enum kernel::Key;
  return MakeOperator(kernel::OperatorKind::kElementwise, type,
                      {{kN, n}, {kReadBytes, reads}, {kWriteBytes, writes}})
      .Set(kFunction, function);
}

/// Norms, softmax and the loss: something over the columns of each row.
[[nodiscard]] inline kernel::Operator RowWise(kernel::OperatorKind kind, std::int64_t rows,
                                              std::int64_t cols, std::string_view pass,
                                              DataType type) {
  using enum kernel::Key;
  return MakeOperator(kind, type, {{kRows, rows}, {kCols, cols}}).Set(kPass, pass);
}

[[nodiscard]] inline kernel::Operator Lookup(std::int64_t rows, std::int64_t dim,
                                             std::int64_t lookups, std::string_view pass,
                                             DataType type) {
  using enum kernel::Key;
  return MakeOperator(kernel::OperatorKind::kEmbedding, type,
                      {{kRows, rows}, {kDim, dim}, {kLookups, lookups}})
      .Set(kPass, pass);
}

}  // namespace orrery::workload
