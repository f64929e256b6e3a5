#include "orrery/overlap/analytic_model.h"

#include <algorithm>
#include <cmath>

#include "orrery/base/check.h"
#include "orrery/overlap/occupancy.h"

namespace orrery::overlap {
namespace {

// Memory traffic of the compute kernel alone, GB/s; 0 if unknown.
double ComputeTraffic(const Machine& machine, const ComputeKernel& kernel) {
  if (!std::isnan(kernel.counters.dram)) {
    return machine.memory_gbps * std::min(kernel.counters.dram / 100, 1.0);
  }
  return std::isnan(kernel.bytes) || kernel.alone_us <= 0
             ? 0
             : std::min(kernel.bytes / (kernel.alone_us * 1e3), machine.memory_gbps);
}

// Device memory traffic of the communication kernel alone, GB/s.
double CommunicationTraffic(const CommunicationKernel& kernel) {
  switch (kernel.place) {
    case Place::kDeviceMemory:
      return kernel.payload_gbps * TrafficOfPayload(kernel.pattern);
    case Place::kCache:
      return 0;
    case Place::kHost:
      return kernel.payload_gbps;  // the other end is host memory
  }
  ORRERY_CHECK(false, "a place without traffic");
  return 0;
}

// A kernel of unknown launch fills the GPU with many waves.
double RoomSlowdown(const Machine& machine, const Pair& pair) {
  const LaunchShape& mine = pair.compute.shape;
  const LaunchShape& other = pair.communication.shape;
  if (mine.IsKnown() && other.IsKnown()) {
    return RoomBeside(machine, mine, other).ByWaves();
  }
  const auto left = std::max<std::int64_t>(1, machine.sms - other.blocks);
  return static_cast<double>(machine.sms) / static_cast<double>(left);
}

/// The start of the last wave of the compute kernel and the length of a wave, relative to its time
/// alone.
struct Dispatch {
  double last_block = 0;
  double wave = 1;
};

Dispatch DispatchOf(const Room& room) {
  const auto waves = static_cast<double>(std::max<std::int64_t>(1, room.waves_alone));
  return {.last_block = (waves - 1) / waves, .wave = 1 / waves};
}

// Whether all blocks of `other` fit with `resident` evenly distributed blocks of `shape`.
bool FitsBeside(const Machine& machine, const LaunchShape& shape, const LaunchShape& other,
                std::int64_t resident) {
  LaunchShape running = shape;
  running.blocks = resident;
  return RoomBeside(machine, other, running).beside >= other.blocks;
}

// Communication is launched while the compute kernel runs.
double CommunicationDelay(const Machine& machine, const Pair& pair, double since_us) {
  const LaunchShape& mine = pair.compute.shape;
  const LaunchShape& other = pair.communication.shape;
  const double left_us = std::max(0.0, pair.compute.alone_us - since_us);
  if (!mine.IsKnown() || !other.IsKnown()) {
    return 0;  // many small waves: blocks free up soon
  }
  const Room room = RoomBeside(machine, mine, other);
  if (FitsBeside(machine, mine, other, std::min(mine.blocks, room.alone))) {
    return 0;
  }
  const Dispatch dispatch = DispatchOf(room);
  if (pair.communication.priority == Priority::kCommunication && room.waves_alone > 1) {
    const double wave_us = dispatch.wave * pair.compute.alone_us;
    return std::min(left_us, wave_us - std::fmod(since_us, wave_us));
  }
  const std::int64_t in_last_wave = mine.blocks - (room.waves_alone - 1) * room.alone;
  if (FitsBeside(machine, mine, other, in_last_wave)) {
    return std::max(0.0, dispatch.last_block * pair.compute.alone_us - since_us);
  }
  return left_us;
}

}  // namespace

AnalyticParts PartsOf(const Machine& machine, const Pair& pair) {
  const double mine = ComputeTraffic(machine, pair.compute);
  const double others = CommunicationTraffic(pair.communication);
  AnalyticParts parts;
  parts.load = (mine + others) / machine.memory_gbps;
  const double shared = std::max(1.0, parts.load);
  parts.memory = mine > 0 ? shared : 1;
  parts.communication = others > 0 ? shared : 1;
  parts.room = RoomSlowdown(machine, pair);
  // Fewer multiprocessors can still saturate memory: the more a kernel is memory-bound, the less it
  // depends on them.
  const double bound_by_memory = std::min(1.0, mine / machine.memory_gbps);
  parts.compute = std::max(parts.memory, 1 + (parts.room - 1) * (1 - bound_by_memory));
  return parts;
}

void AnalyticModel::Slowdowns(const Machine& machine, std::span<const Pair> pairs,
                              std::span<Slowdown> slowdowns) const {
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    const AnalyticParts parts = PartsOf(machine, pairs[i]);
    slowdowns[i] = {.compute = parts.compute, .communication = parts.communication};
  }
}

double AnalyticModel::DelayUs(const Machine& machine, const Pair& pair,
                              const Arrival& arrival) const {
  if (arrival.compute_is_first) {
    return CommunicationDelay(machine, pair, arrival.since_us);
  }
  const LaunchShape& mine = pair.compute.shape;
  const LaunchShape& other = pair.communication.shape;
  if (!mine.IsKnown() || !other.IsKnown() || RoomBeside(machine, mine, other).beside > 0) {
    return 0;
  }
  return std::max(0.0, arrival.first_us - arrival.since_us);
}

}  // namespace orrery::overlap
