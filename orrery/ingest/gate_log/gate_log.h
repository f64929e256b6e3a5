#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::gate_log {

/// Logs of the gate of a mixture of experts: `expert_loads`, a list of steps, each a list of tokens
/// for each expert, or a list of such lists, one for each layer. Gives one table: step, layer
/// (missing where the log has none), expert and tokens.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::gate_log
