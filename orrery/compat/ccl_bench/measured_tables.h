#pragma once

#include <optional>
#include <string_view>

#include "orrery/compat/ccl_bench/compat.h"
#include "orrery/base/table.h"

namespace orrery::compat::ccl_bench {

/// Returns the first table of a format that was read beside the traces, or nullptr.
[[nodiscard]] const Table* FindTable(const CompatRun& run, std::string_view format);

/// Returns the average of a latency benchmark in seconds.
[[nodiscard]] std::optional<double> AverageLatencySeconds(const CompatRun& run);

/// The reference point of `gpu_step_score`; the defaults are the suite's.
struct StepScoreSettings {
  double reference_gpus = 16;
  double reference_seconds = 0.44;
  double weight = 0.5;
  std::optional<double> gpus = {};  // from gpu_count.txt
};

[[nodiscard]] StepScoreSettings FindStepScoreSettings(const CompatRun& run);

/// `ttft_group_6`, `tpot_group_6`: a column of the only record of a serving benchmark.
[[nodiscard]] CompatResult ServingMedianTtft(const CompatRun& run);
[[nodiscard]] CompatResult ServingMedianTpot(const CompatRun& run);

/// `throughput_group_6`: never works, since its function is assigned nowhere.
[[nodiscard]] CompatResult ServingThroughput(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
