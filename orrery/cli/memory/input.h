#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/memory/times.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/run_options.h"
#include "orrery/ingest/run.h"

namespace orrery::cli {

/// Returns the name of what a path leads to: "runs/today/" and "runs/today" are both "today".
[[nodiscard]] std::string MemoryTitle(const std::string& path);

/// What `orrery memory` is to look at.
struct MemorySources {
  RunArguments run;
  std::vector<std::string> times = {};  // other runs of the programs, with times
  std::optional<std::int32_t> rank = {};
  std::size_t top = MemoryInput{}.top;
};

/// What was read for a tool.
struct ReadMemory {
  std::vector<ingest::Run> runs = {};
  std::vector<TimesRun> times = {};   // none, one for all runs, or one for each
  std::vector<RankTimes> joins = {};  // what came of giving runs times

  /// Or nullptr.
  [[nodiscard]] const TimesRun* TimesOf(std::size_t run) const;

  /// Whether something of a recording is lost.
  [[nodiscard]] bool is_partial() const;
};

/// Reads the recordings; with `joins_times` their launches are given those of `--times`.
[[nodiscard]] Result<ReadMemory> ReadMemoryRuns(const MemorySources& sources,
                                                MemoryTool::Reads reads, bool joins_times);

/// Returns what a tool is given; it points into `read`.
[[nodiscard]] Result<MemoryInput> MemoryInputOf(const MemorySources& sources,
                                                const ReadMemory& read, MemoryTool::Reads reads);

}  // namespace orrery::cli
