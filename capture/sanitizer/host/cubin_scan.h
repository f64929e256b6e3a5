#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <string>

namespace orrery::capture::sanitizer {

/// The kernels of a cubin that may load, store or reduce through tensor maps, which no patch sees;
/// nothing where that cannot be known.
///
/// The encoding of instructions is not documented. For compute capability 9.0 the numbers were
/// found by compiling one kernel with each kind of instruction (CUDA 13.0) and comparing; of other
/// devices nothing is known. A kernel that calls functions is suspected where any code of the
/// module has them.
[[nodiscard]] std::optional<std::set<std::string>> KernelsWithTensorMaps(
    std::span<const std::byte> cubin);

}  // namespace orrery::capture::sanitizer
