#pragma once

#include <string>

#include "bench/kineto_writer.h"
#include "bench/output_file.h"

namespace orrery::bench {

/// Tensor-parallel groups are neighbours.
inline constexpr int kGroupSize = 8;

/// Returns the group of a rank as a JSON array: "[8, 9, …]".
[[nodiscard]] std::string RanksOfGroup(int rank);

/// Writes all that stands before the events: devices, process groups, profiler settings.
void WriteKinetoFrame(const KinetoFileOptions& options, TextWriter& out);

}  // namespace orrery::bench
