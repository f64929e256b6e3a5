#pragma once

#include <string_view>
#include <vector>

#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/ingest/param_comms/result_columns.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::param_comms {

struct Log {
  std::vector<nccl_tests::Run> runs;
  std::vector<RankSpread> spreads;  // one for each row, over all runs
};

/// Reads what `comms.py` prints. Rows that are torn, or are not times of one collective alone, are
/// counted.
///
/// Sizes are of the full side, as PARAM counts too: the whole output of an all-gather, the whole
/// input of a reduce-scatter. Only older versions print one rank's share for reduce_scatter_base;
/// it is recognised by the number of elements and multiplied, bandwidths with it.
[[nodiscard]] Log ParseTextLog(std::string_view text, trace::ProblemLog& problems);

}  // namespace orrery::ingest::param_comms
