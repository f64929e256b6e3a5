#pragma once

#include <cstdint>

namespace orrery::kernel {

/// Elements of one tensor per block in PyTorch's kernels over lists of tensors.
inline constexpr std::int64_t kListChunkElements = 65536;

}  // namespace orrery::kernel
