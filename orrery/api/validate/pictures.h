#pragma once

#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/calibrate/validation.h"

namespace orrery::api {

/// Predicted over measured steps, and the spread of errors by source; none without a simulated row.
[[nodiscard]] std::vector<Document::Picture> ValidationPictures(
    const calibrate::Validation& validation);

}  // namespace orrery::api
