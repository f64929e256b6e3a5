#pragma once

#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

/// Simulates the model of ASTRA-sim 2.0 and of its analytical network library, to the nanosecond: whole
/// numbers are cut off where it cuts them off. For comparison with what others computed, not for
/// prediction.
namespace orrery::compat::astra_sim {

enum class Shape {
  kRing,            // both directions; the shorter candidate, clockwise when both are alike
  kFullyConnected,  // one hop
  kSwitch,          // two hops
};

/// One dimension of a network.
struct Dimension {
  Shape shape = Shape::kRing;
  int npus = 0;
  double gib_per_second = 0;  // of a link; its files call it GB/s
  double latency_ns = 0;      // of a link
};

struct Message {
  int from = 0;
  int to = 0;
  Bytes size;
};

/// Returns how long a message takes when nothing is in its candidate: all hops' latencies and one
/// transfer. NPU i is at position i mod n₁ of the first dimension, (i / n₁) mod n₂ of the second,
/// …; the message goes along the one dimension in which its ends differ.
[[nodiscard]] Result<Duration> UnawareTime(std::span<const Dimension> dimensions,
                                           const Message& message);

/// Returns when each of the messages arrives if all start at once, in this order. Links store and
/// forward, and serve what waits in order of arrival.
[[nodiscard]] Result<std::vector<Duration>> AwareTimes(const Dimension& dimension,
                                                       std::span<const Message> messages);

/// What else its ring collectives depend on. Splits run one after another
/// (`active-chunks-per-dimension` 1).
struct System {
  Dimension network;
  int splits = 1;                   // `preferred-dataset-splits`
  double memory_gb_per_second = 0;  // `local-mem-bw`, decimal
  Duration delay_before_send{10};   // fixed on the local dimension, else `endpoint-delay`
};

/// Of a buffer that every NPU has.
[[nodiscard]] Result<Duration> RingAllReduceTime(const System& system, Bytes buffer);

/// Of the share that every NPU gives.
[[nodiscard]] Result<Duration> RingAllGatherTime(const System& system, Bytes share);

/// Of a buffer that every NPU has: the first half of an all-reduce.
[[nodiscard]] Result<Duration> RingReduceScatterTime(const System& system, Bytes buffer);

}  // namespace orrery::compat::astra_sim
