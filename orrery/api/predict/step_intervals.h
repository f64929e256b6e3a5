#pragma once

#include "orrery/learn/interval.h"

namespace orrery::api {

/// Properties that decide how well a step of a recording or an execution trace is predicted.
struct StepKind {
  bool is_recorded = false;    // kernels as recorded
  bool is_rescaled = false;    // to another GPU
  bool is_host_given = false;  // or told by the recording
  double host_bound = 0;       // share of the step in which the GPU waits for the host
  double uncertain = 0;        // share of operators beyond the measured range
  double unmodelled = 0;       // share of the GPU time without a model
  double by_bytes = 0;         // share of the GPU time estimated from bytes and a throughput
  double loader_error = 0;     // relative standard error of the pace of a data loader
};

/// The 80 % interval of a step: quantiles of measured over predicted steps of recorded models of
/// the same kind, each left out (data/host/step_intervals.csv, tools/fit_step_intervals.py).
/// Without a known host, a step has the spread of hosts as far as the host binds it.
[[nodiscard]] learn::TimeInterval IntervalOfStep(double seconds, const StepKind& kind);

}  // namespace orrery::api
