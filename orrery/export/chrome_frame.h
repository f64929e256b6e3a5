#pragma once

#include <cstdint>
#include <vector>

#include "orrery/export/chrome_rows.h"
#include "orrery/export/json_writer.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Writes the keys in front of the events, from the opening bracket on, for readers of Kineto.
/// Times count from `base_ns`.
void WriteFrameHead(const trace::TraceSet& set, std::int64_t base_ns, JsonWriter& json);

/// Writes what follows the events: the key "orrery" and the closing bracket. `rows` are those of
/// the ranks.
void WriteFrameTail(const trace::TraceSet& set, const std::vector<ChromeRows>& rows,
                    std::int64_t base_ns, JsonWriter& json);

}  // namespace orrery::exporting
