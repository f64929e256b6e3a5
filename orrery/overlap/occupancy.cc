#include "orrery/overlap/occupancy.h"

#include <algorithm>
#include <cstdint>

#include "orrery/base/check.h"
#include "orrery/base/round_up.h"

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
int SharedBytesBeside(const Machine& machine, const LaunchShape& other) {
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
    left.shared_bytes = SharedBytesBeside(machine, other);
    for (std::int64_t i = 0; i < other.blocks / machine.sms; ++i) {
      left = Less(left, other_block);
    }
    of_emptier_sm = other.blocks < machine.sms ? of_free_sm : Fitting(left, block);
    of_fuller_sm = Fitting(Less(left, other_block), block);
  }

  // Concurrent blocks with `others` blocks of the other kernel.
  [[nodiscard]] std::int64_t Blocks(std::int64_t others) const {
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

}  // namespace

double Room::ByWaves() const {
  return beside == 0 || waves_alone == 0
             ? 1
             : static_cast<double>(waves_beside) / static_cast<double>(waves_alone);
}

double Room::ByShare() const {
  return beside == 0 ? 1 : static_cast<double>(alone) / static_cast<double>(beside);
}

int BlocksOfSm(const Machine& machine, const LaunchShape& shape) {
  ORRERY_CHECK(shape.threads > 0, "the launch must be known");
  // A launched block that exceeds these limits did run, so one fits.
  return std::max(1, Fitting(OfMachine(machine), OfBlock(machine, shape)));
}

Room RoomBeside(const Machine& machine, const LaunchShape& shape, const LaunchShape& other) {
  const Places places(machine, shape, other);
  Room room;
  room.of_sm = BlocksOfSm(machine, shape);
  room.of_shared_sm = places.of_fuller_sm;
  room.alone = places.Blocks(0);
  room.beside = places.Blocks(other.blocks);
  room.waves_alone = Waves(shape.blocks, room.alone);
  room.waves_beside = Waves(shape.blocks, room.beside);
  return room;
}

double PileBeside(const Machine& machine, const LaunchShape& shape, const LaunchShape& other) {
  const int of_sm = BlocksOfSm(machine, shape);
  const std::int64_t sms = machine.sms;
  const std::int64_t shared = std::min(sms, other.blocks);
  const int of_shared_sm = RoomBeside(machine, shape, other).of_shared_sm;
  const std::int64_t alone = std::min<std::int64_t>(of_sm, DivideUp(shape.blocks, sms));
  // The smallest number of blocks per multiprocessor at which a whole wave fits.
  for (std::int64_t pile = 1; pile < of_sm; ++pile) {
    const std::int64_t beside_other = std::clamp<std::int64_t>(
        (pile * shape.threads - other.threads) / shape.threads, 0, of_shared_sm);
    if ((sms - shared) * pile + shared * beside_other >= shape.blocks) {
      return static_cast<double>(std::max(pile, alone)) / static_cast<double>(alone);
    }
  }
  return static_cast<double>(of_sm) / static_cast<double>(alone);
}

}  // namespace orrery::overlap
