#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/kernel/aten/call.h"

namespace orrery::kernel {

/// Dimensions with more than one element, the outermost in memory first.
[[nodiscard]] std::vector<std::size_t> MemoryOrder(const AtenTensor& tensor);

/// Whether the elements fill their memory without gaps, in any order of dimensions.
[[nodiscard]] bool IsDense(const AtenTensor& tensor);

[[nodiscard]] bool IsRowMajor(const AtenTensor& tensor);

/// Whether elements are repeated by a stride of zero.
[[nodiscard]] bool IsExpanded(const AtenTensor& tensor);

/// Whether both have the same shape and memory order.
[[nodiscard]] bool HaveSameLayout(const AtenTensor& lhs, const AtenTensor& rhs);

/// Channels-last images (NHWC).
[[nodiscard]] bool IsChannelsLast(const AtenTensor& images);

/// The number of consecutive elements in memory when the tensor is traversed row by row.
[[nodiscard]] std::int64_t ContiguousRun(const AtenTensor& tensor);

/// The product of two counts, saturated at 2^50.
[[nodiscard]] std::int64_t Times(std::int64_t lhs, std::int64_t rhs);

/// The product of the sizes of dimensions [begin, end).
[[nodiscard]] std::int64_t Product(const std::vector<std::int64_t>& dims, std::size_t begin,
                                   std::size_t end);

/// Turns a dimension that may count from the end into an index below `num_dims`; 0 if out of range.
[[nodiscard]] std::size_t DimensionIndex(std::int64_t dim, std::size_t num_dims);

}  // namespace orrery::kernel
