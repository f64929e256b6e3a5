#pragma once

#include <optional>
#include <string_view>

#include "orrery/base/table.h"
#include "orrery/compat/ccl_bench/registry.h"

namespace orrery::compat::ccl_bench {

/// Returns the first table of a format that was read with the traces, or nullptr.
[[nodiscard]] const Table* FindTable(const Run& run, std::string_view format);

/// Returns the average of a latency benchmark in seconds.
[[nodiscard]] std::optional<double> AverageLatencySeconds(const Run& run);

/// The reference point of `gpu_step_score`; the defaults are the suite's.
struct StepScoreSettings {
  double reference_gpus = 16;
  double reference_seconds = 0.44;
  double weight = 0.5;
  std::optional<double> gpus = {};  // from gpu_count.txt
};

[[nodiscard]] StepScoreSettings FindStepScoreSettings(const Run& run);

/// Returns the card's model family if it is one of the three that the tools of group 6 know.
[[nodiscard]] std::optional<std::string_view> FamilyOfGroup6(const Run& run);

/// Whether the family ran over PCIe in group 6's experiments.
[[nodiscard]] bool IsPcieFamily(std::string_view family);

}  // namespace orrery::compat::ccl_bench
