#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::report {

/// Returns the part of a kernel's name that tells it from others: without return type, namespaces,
/// parameters, lambdas and the templates that launch any functor ("…elementwise_kernel<…, Functor>"
/// is its functor). Numbers among template arguments stay if `keeps_numbers`. What is not a C++
/// name stays as it is.
[[nodiscard]] std::string ShortKernelName(std::string_view name, bool keeps_numbers = false);

/// Shortens names that stand in one table: where two become the same, their numbers stay.
[[nodiscard]] std::vector<std::string> ShortKernelNames(const std::vector<std::string_view>& names);

/// Cuts a name to `width` columns: at its end, or in its middle where the end tells tile or number.
[[nodiscard]] std::string FittedName(const std::string& name, std::size_t width);

}  // namespace orrery::report
