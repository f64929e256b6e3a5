#include "orrery/overlap/analytic_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/math/round_up.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

constexpr int kWarp = 32;
constexpr int kRegistersOfThreadUnit = 8;
constexpr int kRegistersOfWarpUnit = 256;

/// The resources of a block, or those left on a multiprocessor.
struct Resources {
  int registers = 0;
  int shared_bytes = 0;
  int threads = 0;
  int slots = 0;
};

Resources OfBlock(const Machine& machine, const LaunchShape& shape) {
  const int warps = (shape.threads + kWarp - 1) / kWarp;
  const std::int64_t of_warp =
      RoundUp(RoundUp(shape.registers, kRegistersOfThreadUnit) * kWarp, kRegistersOfWarpUnit);
  return {.registers = warps * static_cast<int>(of_warp),
          .shared_bytes = shape.shared_bytes + machine.reserved_shared_bytes,
          .threads = warps * kWarp,
          .slots = 1};
}

Resources OfMachine(const Machine& machine) {
  return {.registers = machine.registers,
          .shared_bytes = machine.shared_bytes,
          .threads = machine.threads,
          .slots = machine.block_slots};
}

int Fitting(const Resources& room, const Resources& block) {
  int count = std::min(room.slots / block.slots, room.threads / block.threads);
  if (block.registers > 0) {
    count = std::min(count, room.registers / block.registers);
  }
  if (block.shared_bytes > 0) {
    count = std::min(count, room.shared_bytes / block.shared_bytes);
  }
  return std::max(count, 0);
}

Resources Less(Resources room, const Resources& block) {
  room.registers -= block.registers;
  room.shared_bytes -= block.shared_bytes;
  room.threads -= block.threads;
  room.slots -= block.slots;
  return room;
}

// The split of shared memory and cache is that of the kernel that started first, for as many of its
// blocks as fit, until it ends.
int SharedBytesWith(const Machine& machine, const LaunchShape& other) {
  const Resources block = OfBlock(machine, other);
  const int needed = std::max(1, Fitting(OfMachine(machine), block)) * block.shared_bytes;
  const auto step = std::ranges::lower_bound(machine.shared_steps, needed);
  return step == machine.shared_steps.end() ? machine.shared_bytes : *step;
}

/// The placement of blocks: those of the other kernel are distributed round-robin over groups of
/// multiprocessors, and within a group over its multiprocessors; ours use the rest, in clusters.
struct Places {
  Places(const Machine& of, const LaunchShape& shape, const LaunchShape& other)
      : machine(of), cluster(std::max(1, shape.cluster)) {
    const Resources block = OfBlock(machine, shape);
    const Resources other_block = OfBlock(machine, other);
    of_free_sm = std::max(1, Fitting(OfMachine(machine), block));
    Resources left = OfMachine(machine);
    left.shared_bytes = SharedBytesWith(machine, other);
    for (std::int64_t i = 0; i < other.blocks / machine.sms; ++i) {
      left = Less(left, other_block);
    }
    of_emptier_sm = other.blocks < machine.sms ? of_free_sm : Fitting(left, block);
    of_fuller_sm = Fitting(Less(left, other_block), block);
  }

  // Concurrent blocks with `others` blocks of the other kernel.
  std::int64_t Blocks(std::int64_t others) const {
    const int groups = std::max(1, machine.sm_clusters);
    const std::int64_t assigned = others % machine.sms;
    std::int64_t blocks = 0;
    for (int group = 0; group < groups; ++group) {
      const std::int64_t sms = 2 * Share(machine.sms / 2, groups, group);  // TPCs have two
      const std::int64_t fuller = std::min(sms, Share(assigned, groups, group));
      const int emptier = others < machine.sms ? of_free_sm : of_emptier_sm;
      blocks += ((sms - fuller) * emptier + fuller * of_fuller_sm) / cluster * cluster;
    }
    return blocks;
  }

  static std::int64_t Share(std::int64_t whole, int parts, int part) {
    return whole / parts + (part < whole % parts ? 1 : 0);
  }

  const Machine& machine;
  std::int64_t cluster = 1;
  int of_free_sm = 1;
  int of_emptier_sm = 0;  // with the fewest blocks of the other
  int of_fuller_sm = 0;   // with one more
};

std::int64_t Waves(std::int64_t blocks, std::int64_t at_a_time) {
  return at_a_time == 0 ? 0 : DivideUp(blocks, at_a_time);
}

// With more rounds, blocks no longer end together.
constexpr std::int64_t kMostRounds = 40;
constexpr double kNever = std::numeric_limits<double>::infinity();

/// Blocks that began a tile together.
struct Cohort {
  double end = 0;
  std::int64_t blocks = 0;
  double pace = 1;
};

/// Time is in tiles.
class BlockTimeline {
 public:
  BlockTimeline(const BlockPlan& plan, const Presence& presence)
      : plan_(plan),
        presence_(presence),
        waiting_(plan.blocks),
        shared_tiles_(std::max<std::int64_t>(0, plan.tiles - plan.blocks)) {}

  double Simulate() {
    Begin(IsOverlapped() ? plan_.first_pace : 1);
    while (!running_.empty() || waiting_ > 0) {
      now_ = NextTime();
      EndTiles();
      Begin(plan_.later_pace);
    }
    return now_;
  }

 private:
  bool IsOverlapped() const { return presence_.from <= now_ && now_ < presence_.until; }

  void Begin(double pace) {
    const std::int64_t room = (IsOverlapped() ? plan_.overlapped : plan_.alone) - present_;
    const std::int64_t blocks = std::min(room, waiting_);
    if (blocks > 0) {
      running_.push_back({now_ + pace, blocks, pace});
      present_ += blocks;
      waiting_ -= blocks;
    }
  }

  double NextTime() const {
    double next = kNever;
    for (const Cohort& cohort : running_) {
      next = std::min(next, cohort.end);
    }
    return waiting_ > 0 && IsOverlapped() ? std::min(next, presence_.until) : next;
  }

  // Blocks continue with a remaining tile, or end.
  void EndTiles() {
    for (Cohort& cohort : running_) {
      if (cohort.end > now_) {
        continue;
      }
      const std::int64_t staying = std::min(cohort.blocks, shared_tiles_);
      shared_tiles_ -= staying;
      present_ -= cohort.blocks - staying;
      cohort.blocks = staying;
      cohort.end += cohort.pace;
    }
    std::erase_if(running_, [](const Cohort& cohort) { return cohort.blocks == 0; });
  }

  const BlockPlan& plan_;
  const Presence& presence_;
  double now_ = 0;
  std::int64_t waiting_;       // blocks that have not begun
  std::int64_t shared_tiles_;  // taken by any running block
  std::int64_t present_ = 0;
  std::vector<Cohort> running_;
};

// With many rounds, work proceeds at the rate of the available blocks.
double SlowdownByShare(const BlockPlan& plan, const Presence& presence) {
  const double pace = static_cast<double>(plan.overlapped) / static_cast<double>(plan.alone);
  const double before = std::clamp(presence.from, 0.0, 1.0);
  const double overlapped = std::max(0.0, presence.until - std::max(0.0, presence.from));
  const double done = std::min(1 - before, overlapped * pace);
  return before + done / pace + (1 - before - done);
}

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
    return RoomWith(machine, mine, other).ByWaves();
  }
  const auto left = std::max<std::int64_t>(1, machine.sms - other.blocks);
  return static_cast<double>(machine.sms) / static_cast<double>(left);
}

// Returns true if all blocks of `other` fit with `resident` evenly distributed blocks of `shape`.
bool FitsWith(const Machine& machine, const LaunchShape& shape, const LaunchShape& other,
              std::int64_t resident) {
  LaunchShape running = shape;
  running.blocks = resident;
  return RoomWith(machine, other, running).overlapped >= other.blocks;
}

// Communication is launched while the compute kernel runs.
double CommunicationDelay(const Machine& machine, const Pair& pair, double since_us) {
  const LaunchShape& mine = pair.compute.shape;
  const LaunchShape& other = pair.communication.shape;
  const double left_us = std::max(0.0, pair.compute.alone_us - since_us);
  if (!mine.IsKnown() || !other.IsKnown()) {
    return 0;  // many small waves: blocks free up soon
  }
  const Room room = RoomWith(machine, mine, other);
  if (FitsWith(machine, mine, other, std::min(mine.blocks, room.alone))) {
    return 0;
  }
  const auto waves = static_cast<double>(std::max<std::int64_t>(1, room.waves_alone));
  if (pair.communication.priority == Priority::kCommunication && room.waves_alone > 1) {
    const double wave_us = pair.compute.alone_us / waves;
    return std::min(left_us, wave_us - std::fmod(since_us, wave_us));
  }
  const std::int64_t in_last_wave = mine.blocks - (room.waves_alone - 1) * room.alone;
  if (FitsWith(machine, mine, other, in_last_wave)) {
    return std::max(0.0, (waves - 1) / waves * pair.compute.alone_us - since_us);
  }
  return left_us;
}

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

double Room::ByWaves() const {
  return overlapped == 0 || waves_alone == 0
             ? 1
             : static_cast<double>(waves_overlapped) / static_cast<double>(waves_alone);
}

double Room::ByShare() const {
  return overlapped == 0 ? 1 : static_cast<double>(alone) / static_cast<double>(overlapped);
}

int BlocksOfSm(const Machine& machine, const LaunchShape& shape) {
  ORRERY_CHECK(shape.threads > 0, "the launch must be known");
  // A launched block that exceeds these limits did run, so one fits.
  return std::max(1, Fitting(OfMachine(machine), OfBlock(machine, shape)));
}

Room RoomWith(const Machine& machine, const LaunchShape& shape, const LaunchShape& other) {
  const Places places(machine, shape, other);
  Room room;
  room.of_sm = BlocksOfSm(machine, shape);
  room.of_shared_sm = places.of_fuller_sm;
  room.alone = places.Blocks(0);
  room.overlapped = places.Blocks(other.blocks);
  room.waves_alone = Waves(shape.blocks, room.alone);
  room.waves_overlapped = Waves(shape.blocks, room.overlapped);
  return room;
}

double PileWith(const Machine& machine, const LaunchShape& shape, const LaunchShape& other) {
  const int of_sm = BlocksOfSm(machine, shape);
  const std::int64_t sms = machine.sms;
  const std::int64_t shared = std::min(sms, other.blocks);
  const int of_shared_sm = RoomWith(machine, shape, other).of_shared_sm;
  const std::int64_t alone = std::min<std::int64_t>(of_sm, DivideUp(shape.blocks, sms));
  // The smallest number of blocks per multiprocessor at which a whole wave fits.
  for (std::int64_t pile = 1; pile < of_sm; ++pile) {
    const std::int64_t with_other = std::clamp<std::int64_t>(
        (pile * shape.threads - other.threads) / shape.threads, 0, of_shared_sm);
    if ((sms - shared) * pile + shared * with_other >= shape.blocks) {
      return static_cast<double>(std::max(pile, alone)) / static_cast<double>(alone);
    }
  }
  return static_cast<double>(of_sm) / static_cast<double>(alone);
}

double SlowdownByBlocks(const BlockPlan& plan, const Presence& presence) {
  if (plan.overlapped <= 0) {
    return 1;
  }
  const std::int64_t rounds =
      DivideUp(std::max(plan.tiles, plan.blocks), std::min(plan.blocks, plan.alone));
  if (rounds > kMostRounds) {
    return SlowdownByShare(plan, presence);
  }
  const auto tiles = static_cast<double>(rounds);
  const Presence in_tiles{.from = presence.from * tiles, .until = presence.until * tiles};
  return BlockTimeline(plan, in_tiles).Simulate() / tiles;
}

BlockPlan PlanOf(const Machine& machine, const Pair& pair) {
  const LaunchShape& shape = pair.compute.shape;
  const Room room = RoomWith(machine, shape, pair.communication.shape);
  BlockPlan plan{.blocks = shape.blocks,
                 .tiles = shape.blocks,
                 .alone = std::max<std::int64_t>(1, room.alone),
                 .overlapped = room.overlapped};
  if (pair.compute.tiles > static_cast<double>(plan.blocks)) {
    plan.tiles = static_cast<std::int64_t>(pair.compute.tiles);
  }
  return plan;
}

BlockPlan SharedPlanOf(const Machine& machine, const Pair& pair) {
  BlockPlan plan = PlanOf(machine, pair);
  const LaunchShape& shape = pair.compute.shape;
  const int of_sm = BlocksOfSm(machine, shape);
  const auto pile_alone =
      std::min<std::int64_t>(of_sm, DivideUp(shape.blocks, static_cast<std::int64_t>(machine.sms)));
  plan.first_pace = PileWith(machine, shape, pair.communication.shape);
  plan.later_pace = static_cast<double>(of_sm) / static_cast<double>(pile_alone);
  return plan;
}

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
  if (!mine.IsKnown() || !other.IsKnown() || RoomWith(machine, mine, other).overlapped > 0) {
    return 0;
  }
  return std::max(0.0, arrival.first_us - arrival.since_us);
}

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
