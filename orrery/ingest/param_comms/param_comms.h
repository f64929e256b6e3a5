#pragma once

#include "orrery/ingest/format.h"

namespace orrery::ingest::param_comms {

/// What PARAM's `comms.py` prints, from its first version on. Gives the columns of an nccl-tests
/// table: size_bytes is the full side, the median over the ranks stands out of place (oop_), in
/// place is empty. The spread over the ranks (rank_p75_us, rank_p95_us, rank_min_us, rank_max_us)
/// and source follow behind.
[[nodiscard]] const Format& GetFormat();

}  // namespace orrery::ingest::param_comms
