#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::orrs {

/// Recorded event streams (docs/formats/orrs.md): one process, with what its launches did to memory
/// and how much of that was seen.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::orrs
