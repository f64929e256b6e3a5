#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::ingest::kineto {

/// What the members beside the list of events say about times.
struct TimeBase {
  std::optional<std::int64_t> base_ns;
};

/// Reads the members before the list (`head`, which ends behind the list's `[`) and behind it
/// (`tail`, from behind its `]`) into the trace: devices, rank, process groups, free metadata.
/// Damage is counted, never fatal.
TimeBase ReadMetadata(std::string_view head, std::string_view tail, trace::Trace& trace);

}  // namespace orrery::ingest::kineto
