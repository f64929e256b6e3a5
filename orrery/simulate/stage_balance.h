#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/summary.h"

namespace orrery::simulate {

/// How long a GPU has work of its own: kernels, and exposed communication inside of a stage.
/// Messages between stages, and what is awaited, are none.
[[nodiscard]] std::int64_t BusyPs(const Breakdown& breakdown);

/// The stage of a pipeline that has most to do. A pipeline cannot step faster than it.
struct BindingStage {
  std::string label;
  std::int64_t busy_ps = 0;
  std::int64_t others_ps = 0;  // the mean of the other stages

  /// How much longer it takes than the mean of all stages: what a step gains at most where all
  /// have as much to do.
  std::int64_t excess_ps = 0;
};

/// Compares the stages of a step, each by the slowest of those that run it; none where there are no
/// two of them.
[[nodiscard]] std::optional<BindingStage> BindingStageOf(const StepSummary& summary);

}  // namespace orrery::simulate
