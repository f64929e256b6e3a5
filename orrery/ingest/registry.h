#pragma once

#include <vector>

#include "orrery/ingest/format.h"

namespace orrery::ingest {

/// All formats, in the order in which they are tried.
[[nodiscard]] std::vector<const Format*> KnownFormats();

}  // namespace orrery::ingest
