#include "orrery/compat/astra_sim/astra_sim.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"

namespace orrery::compat::astra_sim {
namespace {

std::int64_t WholeNanoseconds(double nanoseconds) {
  return static_cast<std::int64_t>(nanoseconds);
}

std::int64_t HopTime(const Ring& ring, Bytes size) {
  const double bytes_per_ns =
      ring.gib_per_second * static_cast<double>(std::int64_t{1} << 30) / 1e9;
  return WholeNanoseconds(ring.latency_ns + static_cast<double>(size.count) / bytes_per_ns);
}

tl::unexpected<Error> Invalid(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

Status CheckSystem(const System& system) {
  const Ring& ring = system.network;
  if (ring.npus < 2) {
    return Invalid(fmt::format("a dimension needs at least 2 NPUs, not {}", ring.npus));
  }
  if (!std::isfinite(ring.gib_per_second) || ring.gib_per_second <= 0) {
    return Invalid(
        fmt::format("the bandwidth of a link must be above 0, not {}", ring.gib_per_second));
  }
  if (!std::isfinite(ring.latency_ns) || ring.latency_ns < 0) {
    return Invalid(fmt::format("the latency of a link must be 0 or more, not {}", ring.latency_ns));
  }
  if (!std::isfinite(system.memory_gb_per_second) || system.memory_gb_per_second <= 0) {
    return Invalid(fmt::format("the bandwidth of memory must be above 0, not {}",
                               system.memory_gb_per_second));
  }
  return {};
}

// Times of one message of a ring collective.
struct RingTimes {
  std::int64_t delay_ns = 0;   // before a send, and after the last arrival
  std::int64_t gather_ns = 0;  // all n - 1 steps that forward
  std::int64_t reduce_ns = 0;  // all n - 1 steps that reduce: a write and two reads in memory
};

Result<RingTimes> TimesFor(const System& system, Bytes whole, int parts_of_split) {
  if (system.splits < 1 || parts_of_split < 1) {
    return Invalid(fmt::format("a collective needs at least 1 split and 2 NPUs, not {} and {}",
                               system.splits, system.network.npus));
  }
  if (whole.count < 0) {
    return Invalid(fmt::format("a collective needs 0 bytes or more, not {}", whole.count));
  }
  ORRERY_TRY_STATUS(CheckSystem(system));
  const Bytes message{whole.count / system.splits / parts_of_split};
  const std::int64_t others = system.network.npus - 1;
  const std::int64_t delay_ns = system.delay_before_send.nanoseconds;
  const std::int64_t step_ns = HopTime(system.network, message) + delay_ns;
  const std::int64_t memory_ns =
      WholeNanoseconds(static_cast<double>(message.count) / system.memory_gb_per_second);
  return RingTimes{.delay_ns = delay_ns,
                   .gather_ns = others * step_ns,
                   .reduce_ns = others * (step_ns + 3 * memory_ns)};
}

}  // namespace

Result<Duration> RingAllReduceTime(const System& system, Bytes buffer) {
  ORRERY_TRY(const RingTimes ring, TimesFor(system, buffer, system.network.npus));
  return Duration{system.splits * (ring.delay_ns + ring.reduce_ns + ring.gather_ns)};
}

Result<Duration> RingReduceScatterTime(const System& system, Bytes buffer) {
  ORRERY_TRY(const RingTimes ring, TimesFor(system, buffer, system.network.npus));
  return Duration{system.splits * (ring.delay_ns + ring.reduce_ns)};
}

Result<Duration> RingAllGatherTime(const System& system, Bytes share) {
  ORRERY_TRY(const RingTimes ring, TimesFor(system, share, 1));
  return Duration{system.splits * (ring.delay_ns + ring.gather_ns)};
}

}  // namespace orrery::compat::astra_sim
