#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/cast.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// The number of a lane among those of all players.
using LaneIndex = std::uint32_t;

inline constexpr LaneIndex kNoLane = std::numeric_limits<LaneIndex>::max();

/// One communication of a group, while its members arrive.
struct Gathering {
  std::uint32_t num_arrived = 0;
  PlayerId player = 0;  // the first one that arrived
  workload::TaskId task = 0;
  LaneIndex first_lane = kNoLane;  // of a list through the lanes
  std::int64_t latest_ps = 0;
  double squares = 0;  // see ExpectedDelay
  workload::Communications::Row row = {};
  bool is_taken = false;
};

struct Arrival {
  const Cast* cast = nullptr;
  CastGroupId group = 0;
  std::uint64_t turn = 0;  // which communication of the group
  PlayerId player = 0;
  workload::TaskId task = 0;
  std::int64_t begin_ps = 0;
};

/// The communications of all groups that have begun and are not complete.
class Gatherings {
 public:
  explicit Gatherings(std::size_t num_groups) : open_of_group_(num_groups) {}

  /// Adds a member; fails when it does something else than those before it. The pointer lives
  /// until the next call.
  [[nodiscard]] Result<Gathering*> Join(const Arrival& arrival);

  /// Removes a complete one.
  Gathering Take(CastGroupId group, std::uint64_t turn);

 private:
  struct OpenTurns {
    std::uint64_t first = 0;  // turn
    std::vector<Gathering> gatherings;
  };

  std::vector<OpenTurns> open_of_group_;
};

/// A task that never ends, or never begins.
struct StuckTask {
  PlayerId player = 0;
  workload::TaskId task = 0;
  bool has_begun = false;  // it waits for other members of its group
};

/// Says who waits for whom when nothing moves any more.
[[nodiscard]] Error NeverEnds(const Cast& cast, std::span<const StuckTask> stuck);

}  // namespace orrery::simulate
