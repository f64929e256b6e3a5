#pragma once

#include <vector>

#include "orrery/report/document.h"
#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// Predicted against measured step times, by source, and how errors are spread; none without rows.
[[nodiscard]] std::vector<report::Document::Picture> ValidationPictures(
    const simulate::Validation& validation);

}  // namespace orrery::cli
