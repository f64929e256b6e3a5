#pragma once

#include "orrery/base/error.h"
#include "orrery/base/units.h"

/// Reproduces ring collectives of ASTRA-sim 2.0 with its analytical network library, to the
/// nanosecond: numbers are truncated where it truncates them. For comparison with results of
/// ASTRA-sim, not for prediction.

namespace orrery::compat::astra_sim {

struct Ring {
  int npus = 0;
  double gib_per_second = 0;  // of a link; ASTRA-sim's files call it GB/s
  double latency_ns = 0;      // of a link
};

/// Splits run one after another (`active-chunks-per-dimension` 1).
struct System {
  Ring network;
  int splits = 1;                   // `preferred-dataset-splits`
  double memory_gb_per_second = 0;  // `local-mem-bw`, decimal
  Duration delay_before_send{10};   // fixed on the local dimension, else `endpoint-delay`
};

/// `buffer` is the full buffer of each NPU.
[[nodiscard]] Result<Duration> RingAllReduceTime(const System& system, Bytes buffer);
[[nodiscard]] Result<Duration> RingReduceScatterTime(const System& system, Bytes buffer);

/// `share` is what each NPU contributes.
[[nodiscard]] Result<Duration> RingAllGatherTime(const System& system, Bytes share);

}  // namespace orrery::compat::astra_sim
