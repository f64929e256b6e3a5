#pragma once

#include <cstdint>

#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Writes the update of an optimizer whose states are in the memory of the host: gradients go
/// there, the host updates at the speed of its memory, parameters come back, in pieces that follow
/// each other, so that all three run at once. The next computation waits for the last piece.
void WriteOffloadedUpdate(const Job& job, std::int64_t parameters, ProgramWriter& writer);

}  // namespace orrery::workload
