#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

/// The suite's usual stand-in for "unknown".
inline constexpr double kUnknown = -1.0;

/// What the suite prints when it knows nothing.
[[nodiscard]] inline CompatResult StandIn(double value = kUnknown) {
  return {.value = value, .is_missing = true};
}

[[nodiscard]] inline CompatResult NotANumber() {
  return {.is_missing = true};
}

[[nodiscard]] inline CompatResult Number(double value) {
  return std::isnan(value) ? NotANumber() : CompatResult{.value = value};
}

/// A value, or -1.
[[nodiscard]] inline CompatResult NumberOrUnknown(std::optional<double> value) {
  return value ? Number(*value) : StandIn();
}

/// A value, or NaN.
[[nodiscard]] inline CompatResult NumberOrNaN(std::optional<double> value) {
  return value ? Number(*value) : NotANumber();
}

/// The suite ends with an error and prints no value.
[[nodiscard]] inline CompatResult Fails(std::string_view error) {
  return {.reason = "ccl-bench fails here (" + std::string(error) + ")"};
}

[[nodiscard]] inline CompatResult NeedsTool(std::string_view tool) {
  return {.reason = "ccl-bench needs " + std::string(tool)};
}

}  // namespace orrery::compat::ccl_bench
