#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/kernel/operator.h"

/// Operators of layers.
namespace orrery::workload {

[[nodiscard]] inline kernel::Operator Gemm(std::int64_t m, std::int64_t n, std::int64_t k,
                                           std::string_view layout, kernel::DataType type) {
  return kernel::Operator(kernel::OperatorKind::kGemm, type)
      .Set(kernel::Key::kM, m)
      .Set(kernel::Key::kN, n)
      .Set(kernel::Key::kK, k)
      .Set(kernel::Key::kLayout, layout);
}

[[nodiscard]] inline kernel::Operator BatchedGemm(std::int64_t batch, std::int64_t m,
                                                  std::int64_t n, std::int64_t k,
                                                  kernel::DataType type) {
  return kernel::Operator(kernel::OperatorKind::kBatchedGemm, type)
      .Set(kernel::Key::kB, batch)
      .Set(kernel::Key::kM, m)
      .Set(kernel::Key::kN, n)
      .Set(kernel::Key::kK, k);
}

[[nodiscard]] inline kernel::Operator GroupedGemm(std::int64_t groups, std::int64_t m,
                                                  std::int64_t n, std::int64_t k,
                                                  kernel::DataType type) {
  return kernel::Operator(kernel::OperatorKind::kGroupedGemm, type)
      .Set(kernel::Key::kG, groups)
      .Set(kernel::Key::kM, m)
      .Set(kernel::Key::kN, n)
      .Set(kernel::Key::kK, k);
}

/// `reads` and `writes` are bytes of one element of the result.
[[nodiscard]] inline kernel::Operator Elementwise(std::string_view function, std::int64_t n,
                                                  std::int64_t reads, std::int64_t writes,
                                                  kernel::DataType type) {
  return kernel::Operator(kernel::OperatorKind::kElementwise, type)
      .Set(kernel::Key::kFunction, function)
      .Set(kernel::Key::kN, n)
      .Set(kernel::Key::kReadBytes, reads)
      .Set(kernel::Key::kWriteBytes, writes);
}

/// Norms, softmax and the loss: something over the columns of each row.
[[nodiscard]] inline kernel::Operator RowWise(kernel::OperatorKind kind, std::int64_t rows,
                                              std::int64_t cols, std::string_view pass,
                                              kernel::DataType type) {
  return kernel::Operator(kind, type)
      .Set(kernel::Key::kRows, rows)
      .Set(kernel::Key::kCols, cols)
      .Set(kernel::Key::kPass, pass);
}

[[nodiscard]] inline kernel::Operator Lookup(std::int64_t rows, std::int64_t dim,
                                             std::int64_t lookups, std::string_view pass,
                                             kernel::DataType type) {
  return kernel::Operator(kernel::OperatorKind::kEmbedding, type)
      .Set(kernel::Key::kRows, rows)
      .Set(kernel::Key::kDim, dim)
      .Set(kernel::Key::kLookups, lookups)
      .Set(kernel::Key::kPass, pass);
}

}  // namespace orrery::workload
