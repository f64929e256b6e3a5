#pragma once

#include "orrery/api/fields/documents.h"
#include "orrery/compat/echo/evaluation.h"

namespace orrery::api {

/// The first table of its CSV has one line for each row.
[[nodiscard]] Document DocumentOf(const compat::echo::Evaluation& evaluation);

}  // namespace orrery::api
