#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::step_score {

/// What the score of a step is reckoned from. `gpu_step_score_config.yaml`, told by its keys G0 and
/// T0, gives a table of one row: g0, t0_s and w. `gpu_count.txt` gives one with the column gpus; it
/// holds nothing but a number, so its name has to speak for it.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::step_score
