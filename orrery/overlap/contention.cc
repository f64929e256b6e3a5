#include "orrery/overlap/contention.h"

#include <algorithm>

namespace orrery::overlap {
namespace {

/// One kernel.
struct Runner {
  double begin_us = 0;
  double left_us = 0;  // of its time alone
  double slowdown = 1;
  double end_us = 0;

  // Runs from `from` to `to` with a slowdown.
  void Advance(double from, double to, double by) {
    const double running_from = std::max(from, begin_us);
    left_us -= std::max(0.0, to - running_from) / by;
  }
};

// Runs both from `from` on; returns when the first of them ends.
double Together(Runner& one, Runner& other, double from) {
  const double one_end = from + one.left_us * one.slowdown;
  const double other_end = from + other.left_us * other.slowdown;
  const double until = std::min(one_end, other_end);
  one.Advance(from, until, one.slowdown);
  other.Advance(from, until, other.slowdown);
  if (one_end <= other_end) {
    one.end_us = until;
    other.end_us = until + other.left_us;
  } else {
    other.end_us = until;
    one.end_us = until + one.left_us;
  }
  return until;
}

}  // namespace

OverlapTimeline SimulateOverlap(double compute_us, const KernelOverlap& overlap,
                                const Slowdown& slowdown, double delay_us) {
  Runner compute{.left_us = compute_us, .slowdown = slowdown.compute};
  Runner communication{.left_us = overlap.communication_us, .slowdown = slowdown.communication};
  Runner& first = overlap.compute_is_first ? compute : communication;
  Runner& second = overlap.compute_is_first ? communication : compute;
  second.begin_us = overlap.offset_us + delay_us;
  double both_us = 0;
  if (first.left_us <= second.begin_us) {  // it ends before the second begins
    first.end_us = first.left_us;
    second.end_us = second.begin_us + second.left_us;
  } else {
    first.Advance(0, second.begin_us, 1);
    both_us = Together(first, second, second.begin_us) - second.begin_us;
  }
  return {.compute_us = compute.end_us - compute.begin_us,
          .communication_us = communication.end_us - communication.begin_us,
          .both_us = both_us};
}

}  // namespace orrery::overlap
