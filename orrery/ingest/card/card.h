#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::card {

/// Workload cards: YAML with a top-level key `workload` or `metric_source`. Keys are folded to
/// lower case with underscores ("Model-executor" is "model_executor"), except names of environment
/// variables. Empty values are absent. Fields of the architecture that stand directly under
/// `workload.model` are also found under `workload.model.model_arch`, and lists of traces that are
/// one text with commas are split. A card that does not parse is a problem with line and column,
/// not an error: a run can be read without its card.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::card
