#include "orrery/overlap/occupancy.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/base/round_up.h"

namespace orrery::overlap {
namespace {

constexpr int kWarp = 32;
constexpr int kRegistersOfThreadUnit = 8;
constexpr int kRegistersOfWarpUnit = 256;

/// What one block takes, or what is left of a multiprocessor.
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
  // A block that fits nowhere by these limits ran all the same; one fits then.
  return std::max(1, Fitting(OfMachine(machine), OfBlock(machine, shape)));
}

Room RoomBeside(const Machine& machine, const LaunchShape& shape, const LaunchShape& other) {
  const Resources block = OfBlock(machine, shape);
  const Resources other_block = OfBlock(machine, other);
  Room room;
  room.of_sm = BlocksOfSm(machine, shape);
  room.alone = static_cast<std::int64_t>(machine.sms) * room.of_sm;
  const auto sms = static_cast<std::int64_t>(machine.sms);
  const std::int64_t fewest = std::min(other.blocks / sms, std::int64_t{machine.block_slots});
  const std::int64_t with_one_more = other.blocks % sms;
  Resources left = OfMachine(machine);
  for (std::int64_t i = 0; i < fewest; ++i) {
    left = Less(left, other_block);
  }
  const int of_less = Fitting(left, block);
  room.of_shared_sm = Fitting(Less(left, other_block), block);
  const int of_free = fewest == 0 ? room.of_sm : of_less;
  room.beside = (sms - with_one_more) * of_free + with_one_more * room.of_shared_sm;
  room.waves_alone = Waves(shape.blocks, room.alone);
  room.waves_beside = Waves(shape.blocks, room.beside);
  return room;
}

}  // namespace orrery::overlap
