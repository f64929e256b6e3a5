#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/ingest/xplane/plane.h"
#include "orrery/ingest/xplane/plane_rows.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::xplane {

/// Reads XLA's text on how a kernel was launched ("regs:32 grid:16,1,1 block:512,1,1 occ_pct:50")
/// into a row of launch shapes; words without a column go to its `extra`. Nothing if no word has
/// the form NAME:VALUE.
[[nodiscard]] std::optional<trace::LaunchShapes::Row> ParseKernelDetails(std::string_view details,
                                                                         StringTable& strings);

/// Returns the bytes of a copy from XLA's text on it ("kind:Unknown size:512 dest:0 async:1").
/// Nothing for 0: ROCm writes that when it does not know.
[[nodiscard]] std::optional<std::int64_t> CopiedBytes(std::string_view details);

/// Adds the device that a plane is of, as its stats describe it.
void AddDevice(const Plane& plane, std::int32_t device, trace::Trace& trace);

/// Adds the stats of a plane that is no device as metadata, and notes when the profile began.
void AddMetadata(const Plane& plane, Recording& recording);

}  // namespace orrery::ingest::xplane
