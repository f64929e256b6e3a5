#pragma once

#include <vector>

#include "orrery/cli/output.h"
#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// Predicted over measured steps, and the spread of errors by source; none without a simulated row.
[[nodiscard]] std::vector<Document::Picture> ValidationPictures(
    const simulate::Validation& validation);

}  // namespace orrery::cli
