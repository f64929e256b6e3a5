#pragma once

#include <vector>

#include "orrery/calibrate/validation.h"
#include "orrery/cli/output.h"

namespace orrery::cli {

/// Predicted over measured steps, and the spread of errors by source; none without a simulated row.
[[nodiscard]] std::vector<Document::Picture> ValidationPictures(
    const calibrate::Validation& validation);

}  // namespace orrery::cli
