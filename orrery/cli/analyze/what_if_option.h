#pragma once

#include <string>

#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"

namespace orrery::cli {

/// Reads what `--what-if` is given: "network=4", "kernel:NAME=2", "rank:3".
[[nodiscard]] Result<analyze::WhatIfQuestion> ParseWhatIf(const std::string& text);

}  // namespace orrery::cli
