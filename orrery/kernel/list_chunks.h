#pragma once

#include <cstdint>

namespace orrery::kernel {

/// PyTorch's kernels over lists of tensors give each block so many elements of one tensor.
inline constexpr std::int64_t kListChunkElements = 65536;

}  // namespace orrery::kernel
