#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/kernel/aten/call.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// The operators of a call; nothing if its inputs do not match its schema.
using MappedOperators = std::optional<std::vector<Operator>>;

/// The translation of calls of one name.
struct Mapping {
  std::string_view name;  // without "aten::"
  MappedOperators (*map)(const AtenCall& call);
  bool only_passes_on = false;  // its nested calls are more precise
};

// The mappings of each family of operators.
[[nodiscard]] std::span<const Mapping> MatrixMappings();
[[nodiscard]] std::span<const Mapping> AttentionMappings();
[[nodiscard]] std::span<const Mapping> ConvolutionMappings();
[[nodiscard]] std::span<const Mapping> NormalizationMappings();
[[nodiscard]] std::span<const Mapping> ClassificationMappings();
[[nodiscard]] std::span<const Mapping> LookupMappings();
[[nodiscard]] std::span<const Mapping> ElementwiseMappings();
[[nodiscard]] std::span<const Mapping> CopyMappings();
[[nodiscard]] std::span<const Mapping> ReductionMappings();
[[nodiscard]] std::span<const Mapping> OptimizerMappings();
[[nodiscard]] std::span<const Mapping> PoolingMappings();
[[nodiscard]] std::span<const Mapping> SortingMappings();

/// Returns the name without "aten::" and without the underscore of the in-place form.
[[nodiscard]] std::string_view PlainName(std::string_view name);

}  // namespace orrery::kernel
