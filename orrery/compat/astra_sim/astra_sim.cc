#include "orrery/compat/astra_sim/astra_sim.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

#include <fmt/core.h>

namespace orrery::compat::astra_sim {
namespace {

double BytesPerNanosecond(const Dimension& dimension) {
  return dimension.gib_per_second * static_cast<double>(std::int64_t{1} << 30) / 1e9;
}

double TransferNanoseconds(const Dimension& dimension, Bytes size) {
  return static_cast<double>(size.count) / BytesPerNanosecond(dimension);
}

std::int64_t WholeNanoseconds(double nanoseconds) {
  return static_cast<std::int64_t>(nanoseconds);
}

std::int64_t HopTime(const Dimension& dimension, Bytes size) {
  return WholeNanoseconds(dimension.latency_ns + TransferNanoseconds(dimension, size));
}

int ClockwiseHops(const Dimension& ring, int from, int to) {
  return (to - from + ring.npus) % ring.npus;
}

int NumHops(const Dimension& dimension, int from, int to) {
  switch (dimension.shape) {
    case Shape::kRing: {
      const int clockwise = ClockwiseHops(dimension, from, to);
      return std::min(clockwise, dimension.npus - clockwise);
    }
    case Shape::kFullyConnected:
      return 1;
    case Shape::kSwitch:
      return 2;
  }
  return 0;
}

// The switch is the node after the last NPU.
int NextNode(const Dimension& dimension, int at, int to) {
  switch (dimension.shape) {
    case Shape::kRing: {
      const int clockwise = ClockwiseHops(dimension, at, to);
      const int step = clockwise <= dimension.npus - clockwise ? 1 : dimension.npus - 1;
      return (at + step) % dimension.npus;
    }
    case Shape::kFullyConnected:
      return to;
    case Shape::kSwitch:
      return at == dimension.npus ? to : dimension.npus;
  }
  return to;
}

Status CheckDimension(const Dimension& dimension) {
  if (dimension.npus < 2) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a dimension needs at least 2 NPUs, not {}", dimension.npus));
  }
  if (!std::isfinite(dimension.gib_per_second) || dimension.gib_per_second <= 0) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("the bandwidth of a link must be above 0, not {}", dimension.gib_per_second));
  }
  if (!std::isfinite(dimension.latency_ns) || dimension.latency_ns < 0) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("the latency of a link must be 0 or more, not {}", dimension.latency_ns));
  }
  return {};
}

Result<int> NumNpus(std::span<const Dimension> dimensions) {
  int num_npus = 1;
  for (const Dimension& dimension : dimensions) {
    ORRERY_TRY_STATUS(CheckDimension(dimension));
    if (dimension.npus > std::numeric_limits<int>::max() / num_npus) {
      return Fail(Error::Kind::kLimit, "the dimensions have more NPUs than can be numbered");
    }
    num_npus *= dimension.npus;
  }
  return num_npus;
}

Status CheckMessage(const Message& message, int num_npus) {
  for (const int npu : {message.from, message.to}) {
    if (npu < 0 || npu >= num_npus) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("there are {} NPUs, none has number {}", num_npus, npu));
    }
  }
  if (message.from == message.to || message.size.count < 0) {
    return Fail(
        Error::Kind::kInvalidInput,
        fmt::format("a message needs two ends and a size of 0 or more, not {} to {} with {}",
                    message.from, message.to, message.size.count));
  }
  return {};
}

// A message at a node, about to ask for its next link.
struct Arrival {
  std::int64_t time = 0;
  std::uint64_t sequence = 0;  // order of creation: breaks ties
  std::size_t message = 0;
  int node = 0;

  friend bool operator>(const Arrival& lhs, const Arrival& rhs) {
    return std::tie(lhs.time, lhs.sequence) > std::tie(rhs.time, rhs.sequence);
  }
};

std::vector<Duration> Forward(const Dimension& dimension, std::span<const Message> messages) {
  std::priority_queue<Arrival, std::vector<Arrival>, std::greater<>> arrivals;
  std::uint64_t sequence = 0;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    arrivals.push({0, sequence++, i, messages[i].from});
  }
  std::map<std::pair<int, int>, std::int64_t> link_is_free;
  std::vector<Duration> arrived(messages.size());
  while (!arrivals.empty()) {
    const Arrival at = arrivals.top();
    arrivals.pop();
    const Message& message = messages[at.message];
    if (at.node == message.to) {
      arrived[at.message] = {at.time};
      continue;
    }
    const int next = NextNode(dimension, at.node, message.to);
    std::int64_t& is_free = link_is_free[{at.node, next}];
    const std::int64_t start = std::max(at.time, is_free);
    is_free = start + WholeNanoseconds(TransferNanoseconds(dimension, message.size));
    arrivals.push({start + HopTime(dimension, message.size), sequence++, at.message, next});
  }
  return arrived;
}

// The parts of which its ring collectives are made, for one split.
struct RingParts {
  std::int64_t others = 0;     // n - 1
  std::int64_t delay_ns = 0;   // before a send, and after the last arrival
  std::int64_t send_ns = 0;    // to the neighbour
  std::int64_t reduce_ns = 0;  // write, read and read of a message in memory
  std::int64_t splits = 0;
};

Result<RingParts> PartsFor(const System& system, Bytes message) {
  const Dimension& network = system.network;
  ORRERY_TRY_STATUS(CheckDimension(network));
  if (!std::isfinite(system.memory_gb_per_second) || system.memory_gb_per_second <= 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("the bandwidth of memory must be above 0, not {}",
                            system.memory_gb_per_second));
  }
  const std::int64_t memory =
      WholeNanoseconds(static_cast<double>(message.count) / system.memory_gb_per_second);
  return RingParts{.others = network.npus - 1,
                   .delay_ns = system.delay_before_send.nanoseconds,
                   .send_ns = NumHops(network, 0, 1) * HopTime(network, message),
                   .reduce_ns = 3 * memory,
                   .splits = system.splits};
}

Result<Bytes> MessageOf(const System& system, Bytes whole, int parts_of_split) {
  if (system.splits < 1 || parts_of_split < 1) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a collective needs at least 1 split and 2 NPUs, not {} and {}",
                            system.splits, system.network.npus));
  }
  if (whole.count < 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a collective needs 0 bytes or more, not {}", whole.count));
  }
  return Bytes{whole.count / system.splits / parts_of_split};
}

}  // namespace

Result<Duration> UnawareTime(std::span<const Dimension> dimensions, const Message& message) {
  ORRERY_TRY(const int num_npus, NumNpus(dimensions));
  ORRERY_TRY_STATUS(CheckMessage(message, num_npus));
  Message rest = message;
  for (const Dimension& dimension : dimensions) {
    const int from = rest.from % dimension.npus;
    const int to = rest.to % dimension.npus;
    rest.from /= dimension.npus;
    rest.to /= dimension.npus;
    if (from == to) {
      continue;
    }
    if (rest.from != rest.to) {
      return Fail(Error::Kind::kUnsupported,
                  fmt::format("a message goes along one dimension, not from {} to {}", message.from,
                              message.to));
    }
    return Duration{WholeNanoseconds(NumHops(dimension, from, to) * dimension.latency_ns +
                                     TransferNanoseconds(dimension, message.size))};
  }
  return Duration{};
}

Result<std::vector<Duration>> AwareTimes(const Dimension& dimension,
                                         std::span<const Message> messages) {
  ORRERY_TRY_STATUS(CheckDimension(dimension));
  for (const Message& message : messages) {
    ORRERY_TRY_STATUS(CheckMessage(message, dimension.npus));
  }
  return Forward(dimension, messages);
}

Result<Duration> RingAllReduceTime(const System& system, Bytes buffer) {
  ORRERY_TRY(const Bytes message, MessageOf(system, buffer, system.network.npus));
  ORRERY_TRY(const RingParts ring, PartsFor(system, message));
  const std::int64_t reduce = ring.others * (ring.send_ns + ring.delay_ns + ring.reduce_ns);
  const std::int64_t gather = ring.others * (ring.send_ns + ring.delay_ns);
  return Duration{ring.splits * (ring.delay_ns + reduce + gather)};
}

Result<Duration> RingAllGatherTime(const System& system, Bytes share) {
  ORRERY_TRY(const Bytes message, MessageOf(system, share, 1));
  ORRERY_TRY(const RingParts ring, PartsFor(system, message));
  return Duration{ring.splits * (ring.delay_ns + ring.others * (ring.send_ns + ring.delay_ns))};
}

Result<Duration> RingReduceScatterTime(const System& system, Bytes buffer) {
  ORRERY_TRY(const Bytes message, MessageOf(system, buffer, system.network.npus));
  ORRERY_TRY(const RingParts ring, PartsFor(system, message));
  return Duration{ring.splits *
                  (ring.delay_ns + ring.others * (ring.send_ns + ring.delay_ns + ring.reduce_ns))};
}

}  // namespace orrery::compat::astra_sim
