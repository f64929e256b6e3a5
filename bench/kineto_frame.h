#pragma once

#include "bench/kineto_writer.h"
#include "bench/output_file.h"

namespace orrery::bench {

/// Writes all that stands before the events: devices, process groups, profiler settings.
void WriteKinetoFrame(const KinetoFileOptions& options, TextWriter& out);

}  // namespace orrery::bench
