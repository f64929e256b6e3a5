#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/run_options.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/join/joined_times.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {

/// A run of `--times`: the same program as a recording of accesses, recorded with times.
struct TimesRun {
  std::string title;  // its path, as it was given
  ingest::Run run;
};

/// Reads what `--times` names: for a tool that takes several runs one path for each of them, or one
/// for all; else all paths are one run. Fails where a rank has no times of kernels.
[[nodiscard]] Result<std::vector<TimesRun>> ReadTimes(const RunArguments& arguments,
                                                      std::size_t num_runs);

/// The rank of `times` that belongs to a rank of a run; a single one belongs to a single one. Or
/// nullptr.
[[nodiscard]] const trace::Trace* TimesOfRank(const TimesRun& times, const trace::TraceSet& set,
                                              std::size_t place);

/// The outcome of joining one rank.
struct RankTimes {
  std::string run;
  std::int32_t rank = 0;
  std::string source;
  memory::TimesJoin join;
};

/// Gives the ranks of a run times and returns the outcome for each. Fails where no launch of a
/// rank is in `times`.
[[nodiscard]] Result<std::vector<RankTimes>> JoinTimes(const TimesRun& times,
                                                       const std::string& title,
                                                       trace::TraceSet& set);

/// Adds the sentences and tables of the joins to a result.
void AddTimes(const std::vector<RankTimes>& joins, MemoryResult& result);

}  // namespace orrery::cli
