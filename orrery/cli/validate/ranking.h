#pragma once

#include "orrery/calibrate/validation.h"
#include "orrery/cli/output.h"

namespace orrery::cli {

/// The quality of predictions in ranking plans: metrics over all groups of runs that differ only in
/// their plan, by source, and of each group. JSON: docs/formats/validate-json.md.
[[nodiscard]] Document RankingDocument(const calibrate::Validation& validation);

}  // namespace orrery::cli
