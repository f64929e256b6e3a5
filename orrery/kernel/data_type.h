#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

#include "orrery/base/data_type.h"

namespace orrery::kernel {

inline constexpr std::size_t kNumOperatorTypes = 15;

/// The types that operators may have. Model files name a type by its place in this order, in the
/// measured types of a domain and as the feature "type".
[[nodiscard]] DataType OperatorType(std::size_t number);
[[nodiscard]] std::size_t OperatorTypeNumber(DataType type);

/// Finds the type of an operator by name; unsigned bytes count as int8.
[[nodiscard]] std::optional<DataType> FindDataType(std::string_view name);

/// The name under which a GPU's peak rate of GEMMs is listed for the type of an operator.
[[nodiscard]] std::string_view PeakName(DataType type);

}  // namespace orrery::kernel
