#pragma once

#include "orrery/compat/echo/evaluation.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// Draws how the errors of all predictors are spread, overlapped rows with slowdowns held out.
[[nodiscard]] report::Document::Picture EchoPicture(const compat::echo::Evaluation& evaluation);

}  // namespace orrery::cli
