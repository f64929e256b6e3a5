#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/errors.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"
#include "orrery/memory/join/joined_times.h"
#include "orrery/trace/trace.h"

namespace orrery::api {

/// A run of `--times`: the same program as a recording of accesses, recorded with times.
struct TimesRun {
  std::string title;  // its path, as it was given
  ingest::Run run;
};

/// Reads what `--times` names: for a tool that takes several runs one path for each of them, or one
/// for all; else all paths are one run. Fails where a rank has no times of kernels.
[[nodiscard]] Result<std::vector<TimesRun>> ReadTimes(const RunInput& arguments,
                                                      std::size_t num_runs,
                                                      const Progress& progress);

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
void AddTimes(const std::vector<RankTimes>& joins, MemoryToolResult& result);

/// Returns the name of what a path leads to: "runs/today/" and "runs/today" are both "today".
[[nodiscard]] std::string MemoryTitle(const std::string& path);

/// The inputs of `orrery memory`.
struct MemorySources {
  RunInput run;
  std::vector<std::string> times = {};  // other runs of the programs, with times
  std::optional<std::int32_t> rank = {};
  std::size_t top = MemoryInput{}.top;
  Progress progress = {};
};

/// The inputs of a tool, read.
struct ReadMemory {
  std::vector<ingest::Run> runs = {};
  std::vector<TimesRun> times = {};   // none, one for all runs, or one for each
  std::vector<RankTimes> joins = {};  // the result of joining runs and times

  /// Or nullptr.
  [[nodiscard]] const TimesRun* TimesOf(std::size_t run) const;

  /// Returns true if something of a recording is lost.
  [[nodiscard]] bool is_partial() const;
};

/// Reads the recordings; with `joins_times` their launches are given those of `--times`.
[[nodiscard]] Result<ReadMemory> ReadMemoryRuns(const MemorySources& sources,
                                                MemoryTool::Reads reads, bool joins_times);

/// Returns what a tool is given; it points into `read`.
[[nodiscard]] Result<MemoryInput> MemoryInputOf(const MemorySources& sources,
                                                const ReadMemory& read, MemoryTool::Reads reads);

/// The results of all tools for the recordings in a folder.
struct MemoryPaper {
  std::string name;         // of the folder
  MemoryToolResult result;  // coverage, times and notes of all tools
  Document document;
  bool is_partial = false;  // something of a recording is lost
};

/// Runs each tool on each file of a folder, in the order of the paper whose tables and figures they
/// show. What cannot run is said in a sentence. Times are those of the file with the same name in
/// the folder of `--times`, where it has one.
[[nodiscard]] Result<MemoryPaper> MakeMemoryPaper(const std::string& folder,
                                                  const MemorySources& sources,
                                                  const MemoryTools& tools);

}  // namespace orrery::api
