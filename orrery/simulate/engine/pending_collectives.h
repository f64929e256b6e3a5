#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// No step takes longer, six days: sums of a few times stay far from overflow of 64 bits.
inline constexpr std::int64_t kLongestPs = std::int64_t{1} << 59;

/// The cost of communication once all members have arrived.
struct TransferCost {
  std::int64_t duration_ps = 0;
  KernelCode side = 0;  // of its kernel; 0 when not requested
};

/// Memoizes communication costs, so that equal groups are computed once.
class TransferTimes {
 public:
  TransferTimes(const RankClasses& rank_classes, CommunicationTimes& times, bool wants_sides)
      : rank_classes_(rank_classes), times_(times), wants_sides_(wants_sides) {}

  [[nodiscard]] Result<TransferCost> CostOf(GroupClassId group,
                                            const workload::Communications::Row& row);

 private:
  struct Key {
    std::uint64_t link_class = 0;
    std::int64_t bytes = 0;
    CollectiveKind kind{};
    DataType element{};

    bool operator==(const Key&) const = default;
  };

  struct Hash {
    std::size_t operator()(const Key& key) const;
  };

  const RankClasses& rank_classes_;
  CommunicationTimes& times_;
  bool wants_sides_;
  tsl::robin_map<Key, TransferCost, Hash> known_;
};

/// The number of a lane among those of all classes.
using LaneIndex = std::uint32_t;

inline constexpr LaneIndex kNoLane = std::numeric_limits<LaneIndex>::max();

/// One communication of a group, while its members arrive.
struct PendingCollective {
  std::uint32_t num_arrived = 0;
  RankClassId rank_class = 0;  // the first one that arrived
  workload::TaskId task = 0;
  LaneIndex first_lane = kNoLane;  // of a list through the lanes
  std::int64_t latest_ps = 0;
  double squares = 0;  // see ExpectedDelay
  workload::Communications::Row row = {};
  bool is_taken = false;
};

struct Arrival {
  const RankClasses* rank_classes = nullptr;
  GroupClassId group = 0;
  std::uint64_t turn = 0;  // index of the communication in the group's order
  RankClassId rank_class = 0;
  workload::TaskId task = 0;
  std::int64_t begin_ps = 0;
};

/// The communications of all groups that have begun and are not complete.
class PendingCollectives {
 public:
  explicit PendingCollectives(std::size_t num_groups) : open_of_group_(num_groups) {}

  /// Adds a member; fails when it does something else than those before it. The pointer lives
  /// until the next call.
  [[nodiscard]] Result<PendingCollective*> Join(const Arrival& arrival);

  /// Removes a complete one.
  PendingCollective Take(GroupClassId group, std::uint64_t turn);

 private:
  struct OpenTurns {
    std::uint64_t first = 0;  // turn
    std::vector<PendingCollective> pending;
  };

  std::vector<OpenTurns> open_of_group_;
};

/// A task that never ends, or never begins.
struct StuckTask {
  RankClassId rank_class = 0;
  workload::TaskId task = 0;
  bool has_begun = false;  // it waits for other members of its group
};

/// Says who waits for whom when nothing moves any more.
[[nodiscard]] Error NeverEnds(const RankClasses& rank_classes, std::span<const StuckTask> stuck);

}  // namespace orrery::simulate
