#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// Reads the members before the list of events (`head`, which ends with the list's `[`) and after
/// it (`tail`, which begins after its `]`) into the trace: devices, rank, process groups and other
/// metadata. Damage is counted, never fatal. Returns what the times of the events count from, in
/// nanoseconds since 1970, where the file has it.
[[nodiscard]] std::optional<std::int64_t> ReadMetadata(std::string_view head, std::string_view tail,
                                                       trace::Trace& trace);

}  // namespace orrery::ingest::kineto
