#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/cast.h"
#include "orrery/simulate/communication_times.h"
#include "orrery/simulate/rate_model.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

struct PlayOptions {
  /// How often programs run, each lane one repetition after the other.
  int repetitions = 1;
  /// How many launched tasks a stream holds before a launch waits for a place.
  std::int64_t queue_depth = 1024;
  /// How tasks slow each other down that share a GPU; without one they do not.
  const RateModel* rates = nullptr;
  /// Spread of kernel times, relative (sigma of their logarithm). Drawn for each kernel of each
  /// rank when the cast is not folded; otherwise each communication of n ranks waits for what the
  /// slowest of n is expected to be late.
  double jitter = 0;
  std::uint64_t seed = 0;
};

/// A task that others on its GPU held up.
struct HeldUpTask {
  std::size_t index = 0;        // of Performance
  std::int64_t alone_ps = 0;    // how long it takes alone; of communication the transfer
  std::int64_t delayed_ps = 0;  // how long after its begin it had room

  bool operator==(const HeldUpTask&) const = default;
};

/// The transfer of what transfers nothing; before all times.
inline constexpr std::int64_t kNeverPs = std::numeric_limits<std::int64_t>::min();

/// When tasks ran. Those of a player lie together: task t of repetition r of player p has the index
/// First(p, r) + t.
struct Performance {
  int repetitions = 1;
  std::vector<std::size_t> offsets;    // by player, and the end
  std::vector<std::int64_t> begin_ps;  // of communication: its own arrival
  std::vector<std::int64_t> end_ps;
  std::vector<std::int64_t> transfer_ps;  // of communication: when the last member was there
  std::vector<HeldUpTask> held_up;        // by index
  std::int64_t num_events = 0;            // tasks that ran

  [[nodiscard]] std::size_t First(PlayerId player, int repetition = 0) const {
    const std::size_t size = offsets[player + 1] - offsets[player];
    return offsets[player] +
           size / static_cast<std::size_t>(repetitions) * static_cast<std::size_t>(repetition);
  }

  /// What held up a task; nothing when nothing did.
  [[nodiscard]] const HeldUpTask* FindHeldUp(std::size_t index) const;

  /// When a task had room on its GPU.
  [[nodiscard]] std::int64_t StartPs(std::size_t index) const {
    const HeldUpTask* const task = FindHeldUp(index);
    return begin_ps[index] + (task == nullptr ? 0 : task->delayed_ps);
  }

  /// The last end of a player.
  [[nodiscard]] std::int64_t EndOf(PlayerId player) const;

  /// The last end of all.
  [[nodiscard]] std::int64_t EndPs() const;

  bool operator==(const Performance&) const = default;
};

/// Plays a job: a simulation in integer picoseconds. For every player a task begins when its lane
/// is free and all it depends on is done; lanes take their tasks in order; a launch into a full
/// queue ends when the stream has begun enough of what it holds. Communication occupies its lane
/// from its own arrival; the transfer begins when the last member of the group is there, and all
/// members end together. The n-th communications, in the order of the program, that the members of
/// a group have on it belong together. Communication on a slot without a group takes the time that
/// its program says.
///
/// Without a rate model times are the least solution of max-plus equations, found in any order: no
/// heap, O(tasks + edges). With one, events are handled in order of time, O(tasks · log lanes), and
/// all at one instant before rates change, so that their order does not matter; work is counted in
/// whole parts, so that nothing is lost to rounding when rates change.
///
/// Fails when members of a group do different things, and when tasks wait for each other in a
/// circle; names tasks and ranks. The members of an all-to-all may give different sizes: the
/// largest counts.
[[nodiscard]] Result<Performance> Play(const Cast& cast, CommunicationTimes& times,
                                       const PlayOptions& options = {});

}  // namespace orrery::simulate
