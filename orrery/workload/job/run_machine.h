#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Sets the GPU of a job and the machine that people usually have it in, from what a table calls
/// it. A GPU without such a machine stands alone in one.
[[nodiscard]] Status SetMachine(const std::string& gpu, Job& job);

/// Gives the nodes of a job's machine another number of GPUs: an island within a node follows, and
/// there are as many NICs for a GPU as before. GPUs without links reach each other by PCIe.
void SetNode(int gpus_per_node, Job& job);

/// Gives nodes without a NIC one of 200 Gb/s. False where they have some.
[[nodiscard]] bool AddNetwork(Job& job);

}  // namespace orrery::workload
