#pragma once

#include "orrery/cli/output.h"
#include "orrery/simulate/validation.h"

namespace orrery::cli {

/// How well predictions rank plans: figures over all groups of runs that differ only in their plan,
/// by source, and of each group. JSON: docs/formats/validate-json.md.
[[nodiscard]] Document RankingDocument(const simulate::Validation& validation);

}  // namespace orrery::cli
