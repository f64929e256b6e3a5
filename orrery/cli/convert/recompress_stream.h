#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery::cli {

/// `orrery convert STREAM OUT.orrs`: packs the chunks of a stream and leaves its records as they
/// are. Other inputs are refused. Returns the exit status.
[[nodiscard]] Result<int> Recompress(const std::string& input, const std::string& output);

}  // namespace orrery::cli
