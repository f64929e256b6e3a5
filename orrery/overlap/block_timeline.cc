#include "orrery/overlap/block_timeline.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "orrery/base/round_up.h"
#include "orrery/overlap/occupancy.h"

namespace orrery::overlap {
namespace {

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
  [[nodiscard]] bool IsOverlapped() const {
    return presence_.from <= now_ && now_ < presence_.until;
  }

  void Begin(double pace) {
    const std::int64_t room = (IsOverlapped() ? plan_.beside : plan_.alone) - present_;
    const std::int64_t blocks = std::min(room, waiting_);
    if (blocks > 0) {
      running_.push_back({now_ + pace, blocks, pace});
      present_ += blocks;
      waiting_ -= blocks;
    }
  }

  [[nodiscard]] double NextTime() const {
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
  const double pace = static_cast<double>(plan.beside) / static_cast<double>(plan.alone);
  const double before = std::clamp(presence.from, 0.0, 1.0);
  const double overlapped = std::max(0.0, presence.until - std::max(0.0, presence.from));
  const double done = std::min(1 - before, overlapped * pace);
  return before + done / pace + (1 - before - done);
}

std::int64_t RoundsAlone(const BlockPlan& plan) {
  const std::int64_t at_once = std::min(plan.blocks, plan.alone);
  return DivideUp(std::max(plan.tiles, plan.blocks), at_once);
}

}  // namespace

double SlowdownByBlocks(const BlockPlan& plan, const Presence& presence) {
  if (plan.beside <= 0) {
    return 1;
  }
  const std::int64_t rounds = RoundsAlone(plan);
  if (rounds > kMostRounds) {
    return SlowdownByShare(plan, presence);
  }
  const auto tiles = static_cast<double>(rounds);
  const Presence in_tiles{.from = presence.from * tiles, .until = presence.until * tiles};
  return BlockTimeline(plan, in_tiles).Simulate() / tiles;
}

BlockPlan PlanOf(const Machine& machine, const Pair& pair) {
  const LaunchShape& shape = pair.compute.shape;
  const Room room = RoomBeside(machine, shape, pair.communication.shape);
  BlockPlan plan{.blocks = shape.blocks,
                 .tiles = shape.blocks,
                 .alone = std::max<std::int64_t>(1, room.alone),
                 .beside = room.beside};
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
  plan.first_pace = PileBeside(machine, shape, pair.communication.shape);
  plan.later_pace = static_cast<double>(of_sm) / static_cast<double>(pile_alone);
  return plan;
}

}  // namespace orrery::overlap
