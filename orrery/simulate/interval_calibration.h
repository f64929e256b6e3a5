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
  double network = 0;  // of the step: communication between islands, counted with all of it, too
  double bubble = 0;   // of the step; counted with the GEMMs, too
  double unmeasured = 0;                          // of operators: not measured on this GPU
  double utilisation = 0;                         // model FLOPs over the FLOPs of the peak
  double roofline_s = 0;                          // no step is shorter
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

/// What makes a step less sure, each by a share of the step or of its operators from 0 to 1.
enum IntervalCause : std::uint8_t {
  kOfIdleness,       // of the peak, squared: what a step leaves unused of what good ones use
  kOfHost,           // of the step: no table describes hosts
  kOfCommunication,  // of the step
  kOfUnmeasured,     // of operators: times from other GPUs or the roofline
  kOfExperts,        // 1 for models that have experts
  kNumIntervalCauses
};

/// One end of an interval: the distance of its logarithm from that of the prediction.
struct IntervalEnd {
  double always = 0;
  std::array<double, kNumIntervalCauses> by_cause = {};  // for the whole of each; none negative

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

/// Each end is a quantile of the residuals that is linear in the causes, each stack counting alike.
/// Both ends are then stretched until four of five residuals of a stack are inside that the
/// ends were fitted without, on the mean over stacks: a user's stack is none of these. Fewer than
/// three stacks tell too little: then they are the shipped ones.
[[nodiscard]] StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals);

/// The section `intervals` of data/workload/framework_fits.yaml.
[[nodiscard]] std::string IntervalsText(const StepIntervals& intervals);

/// Reads it from such a file; an error is one sentence.
[[nodiscard]] Result<StepIntervals> ReadStepIntervals(const std::string& yaml);

/// Those that are part of the program.
[[nodiscard]] const StepIntervals& ShippedIntervals();

}  // namespace orrery::simulate
