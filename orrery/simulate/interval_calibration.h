#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/interval.h"

namespace orrery::simulate {

/// Where the time of a step is spent, by what makes it uncertain.
enum StepPart : std::uint8_t { kGemms, kAttention, kMemory, kCommunication, kHost, kNumStepParts };

/// What a predicted step says about how sure it is.
struct StepTraits {
  std::array<double, kNumStepParts> shares = {};  // of the step
  double bubble = 0;                              // of the step; counted with the GEMMs, too
  double unmeasured = 0;   // of operators: never measured on this GPU or at such a size
  double utilisation = 0;  // model FLOPs over the FLOPs of the peak
  bool has_experts = false;
  bool is_fitted = false;  // the framework has rows of its own

  bool operator==(const StepTraits&) const = default;
};

/// How far off a prediction was whose fit had not seen the run's stack.
struct StepResidual {
  std::string stack;
  StepTraits traits = {};
  double log_ratio = 0;  // ln(measured / predicted)
};

/// Steps that are predicted about as well as each other.
struct IntervalClass {
  bool has_experts = false;
  double least_utilisation = 0;  // up to that of the next class
  double low = 1;                // factors of the predicted time
  double high = 1;
  std::size_t rows = 0;  // with residuals
  std::size_t stacks = 0;

  bool operator==(const IntervalClass&) const = default;
};

/// The 80 % intervals of steps by class.
struct StepIntervals {
  std::vector<IntervalClass> classes;  // dense, then with experts, each by ascending utilisation

  [[nodiscard]] const IntervalClass& ClassOf(const StepTraits& traits) const;
  [[nodiscard]] learn::TimeInterval Around(double seconds, const StepTraits& traits) const;
};

/// Quantiles of residuals, each stack counting alike.
[[nodiscard]] StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals);

/// The section `intervals` of data/workload/framework_fits.yaml.
[[nodiscard]] std::string IntervalsText(const StepIntervals& intervals);

/// Reads it from such a file; an error is one sentence.
[[nodiscard]] Result<StepIntervals> ReadStepIntervals(const std::string& yaml);

/// Those that are part of the program.
[[nodiscard]] const StepIntervals& ShippedIntervals();

}  // namespace orrery::simulate
