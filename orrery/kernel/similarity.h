#pragma once

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"

namespace orrery::kernel {

/// How much one GPU can tell of the efficiency of another, above 0 and at most 1: those of one
/// generation run the same kernels; else peak rate, bandwidth and cache should be near.
[[nodiscard]] double Similarity(const hardware::Gpu& source_model, const hardware::Gpu& gpu,
                                DataType type);

}  // namespace orrery::kernel
