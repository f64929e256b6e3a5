#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "orrery/kernel/data_type.h"

namespace orrery::kernel {

/// A tensor as a framework's operator sees it.
struct AtenTensor {
  std::vector<std::int64_t> dims = {};
  std::vector<std::int64_t> strides = {};  // in elements; empty: row major
  std::optional<DataType> type = {};
  bool on_gpu = true;
  bool is_defined = true;  // lists may have undefined tensors
  std::optional<std::int64_t> storage = {};
  std::int64_t offset = 0;  // of the first element in the storage

  /// Saturates at 2^50.
  [[nodiscard]] std::int64_t Elements() const;

  [[nodiscard]] std::int64_t Stride(std::size_t dim) const;
};

/// An argument of a call. Booleans are the integers 0 and 1.
using AtenValue = std::variant<std::monostate, AtenTensor, std::vector<AtenTensor>, std::int64_t,
                               double, std::vector<std::int64_t>, std::string>;

/// One call of an operator of PyTorch ("aten::addmm"), its inputs in the order of its schema.
/// Outputs are empty if not recorded.
struct AtenCall {
  std::string_view name;
  std::vector<AtenValue> inputs = {};
  std::vector<AtenTensor> outputs = {};
  // Settings of the framework, which calls do not contain; these are its defaults.
  bool products_allow_tf32 = false;
  bool convolutions_allow_tf32 = true;

  /// Nothing for other arguments and undefined tensors.
  [[nodiscard]] const AtenTensor* TensorAt(std::size_t position) const;
  [[nodiscard]] const AtenTensor* TensorAt(std::size_t position, std::size_t num_dims) const;

  /// The tensors of a list, including undefined ones; empty for other arguments.
  [[nodiscard]] std::span<const AtenTensor> TensorsAt(std::size_t position) const;

  /// The integers of a list, or a single integer.
  [[nodiscard]] std::vector<std::int64_t> IntegersAt(std::size_t position) const;

  [[nodiscard]] std::optional<std::int64_t> IntegerAt(std::size_t position) const;

  /// An integer or a floating-point number.
  [[nodiscard]] std::optional<double> NumberAt(std::size_t position) const;

  [[nodiscard]] bool IsTrueAt(std::size_t position) const;

  [[nodiscard]] std::string_view TextAt(std::size_t position) const;

  /// The first output; nothing if outputs are not recorded.
  [[nodiscard]] const AtenTensor* Output() const;

  /// All defined tensors among the inputs, including those of lists.
  [[nodiscard]] std::vector<const AtenTensor*> InputTensors() const;
};

}  // namespace orrery::kernel
