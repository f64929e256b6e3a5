#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "orrery/base/error.h"
#include "orrery/learn/interval.h"

namespace orrery::simulate {

/// Parts of a step's time, by the source of their uncertainty.
enum StepPart : std::uint8_t { kGemms, kAttention, kMemory, kCommunication, kHost, kNumStepParts };

/// Traits of a predicted step that determine its uncertainty.
struct StepTraits {
  std::array<double, kNumStepParts> shares = {};  // of the step
  double bubble = 0;                              // of the step; counted with the GEMMs, too
  double unmeasured = 0;                          // of operators: not measured on this GPU
  double utilisation = 0;                         // model FLOPs over the FLOPs of the peak
  double roofline_s = 0;                          // no step is shorter
  bool has_experts = false;
  bool spans_islands = false;  // its ranks communicate over NICs
  bool is_fitted = false;      // the framework has rows of its own

  bool operator==(const StepTraits&) const = default;
};

/// Causes of a wider interval, each from 0 to 1.
enum IntervalCause : std::uint8_t {
  kOfIdleness,         // the part of half the peak that a dense step leaves unused, squared
  kOfNetworkIdleness,  // the same where ranks are in several islands: faults of a network, too
  kOfUnmeasured,       // share of operators with times from other GPUs or the roofline
  kOfExperts,          // 1 for models that have experts
  kNumIntervalCauses
};

using IntervalCauses = std::array<double, kNumIntervalCauses>;

[[nodiscard]] IntervalCauses CausesOf(const StepTraits& traits);

/// One end of an interval: the distance of its logarithm from that of the prediction.
struct IntervalEnd {
  double always = 0;
  IntervalCauses by_cause = {};  // for the whole of each; none negative

  [[nodiscard]] double DistanceOf(const StepTraits& traits) const;

  bool operator==(const IntervalEnd&) const = default;
};

/// The 80 % intervals of steps. More of a cause never makes one narrower.
struct StepIntervals {
  IntervalEnd below;
  IntervalEnd above;
  double stretch = 1;    // of both, what stacks differ by: included in them
  std::size_t rows = 0;  // with residuals
  std::size_t stacks = 0;

  /// Neither end is below the roofline, unless the prediction is.
  [[nodiscard]] learn::TimeInterval Around(double seconds, const StepTraits& traits) const;
};

/// Says why an interval is wide, for people, with what each cause multiplies the upper end by;
/// empty where the ends are less than a factor of two apart.
[[nodiscard]] std::string WideIntervalSentence(const StepIntervals& intervals,
                                               const StepTraits& traits);

/// The section `intervals` of data/workload/framework_fits.yaml.
[[nodiscard]] std::string IntervalsText(const StepIntervals& intervals);

/// Reads it from such a file; an error is one sentence.
[[nodiscard]] Result<StepIntervals> ReadStepIntervals(const std::string& yaml);

/// Those that are part of the program.
[[nodiscard]] const StepIntervals& ShippedIntervals();

}  // namespace orrery::simulate
