#pragma once

#include <string_view>

#include "orrery/workload/job/framework.h"

namespace orrery::workload {

/// What a kernel of attention reaches of the best one on a generation of GPUs
/// (data/workload/attention_kernels.yaml); 1 where the table says nothing.
[[nodiscard]] double AttentionKernelRate(AttentionKernel kernel, std::string_view generation);

}  // namespace orrery::workload
