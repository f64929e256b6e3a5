#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/cost_model.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::network {
struct CongestionModel;
}

namespace orrery::simulate {

class LinkUsage;
class RateModel;
struct LinkTraffic;

/// The duration of communication once all members of a group have arrived.
class CommunicationTimes {
 public:
  virtual ~CommunicationTimes() = default;

  /// Returns picoseconds for a group whose members, in order, have these GPUs. Asked once for each
  /// kind, size, element and link class of a simulation.
  [[nodiscard]] virtual Result<std::int64_t> DurationPs(
      const workload::Communications::Row& communication, std::span<const network::GpuId> gpus) = 0;

  /// Returns what its kernel takes of each of these GPUs while it runs, when that is known. Asked
  /// as often, when somebody wants to know.
  [[nodiscard]] virtual Result<CommunicationTask> KernelOf(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) {
    return CommunicationTask{};
  }

  /// Returns what it takes of links while nothing else uses them. Asked as often, when links are
  /// shared.
  [[nodiscard]] virtual Result<collective::LinkDemand> DemandOf(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) {
    return collective::LinkDemand{};
  }
};

struct EngineOptions {
  /// Runs of each program, back to back on every lane.
  int repetitions = 1;
  /// Launched tasks that a stream queues before a launch blocks.
  std::int64_t queue_depth = 1024;
  /// The slowdown of concurrent tasks on a GPU; nullptr: none.
  const RateModel* rates = nullptr;
  /// The links that transfers use, and so share while they overlap in time; nullptr: each transfer
  /// has the network to itself. Used by one simulation at a time.
  LinkUsage* links = nullptr;
  /// Other traffic on the links, from the begin on; nullptr: none.
  const std::vector<LinkTraffic>* traffic = nullptr;
  /// The loss of links for which transfers compete; nullptr: none.
  const network::CongestionModel* congestion = nullptr;
  /// Spread of kernel times, relative (sigma of their logarithm). Drawn for each kernel of each
  /// rank when the rank classes is not folded; otherwise each communication of n ranks waits for
  /// what the slowest of n is expected to be late.
  double jitter = 0;
  std::uint64_t seed = 0;
};

/// A task that concurrent tasks on its GPU delayed.
struct DelayedTask {
  std::size_t index = 0;          // of Timeline
  std::int64_t alone_ps = 0;      // the time that it takes alone; of communication the transfer
  std::int64_t delayed_ps = 0;    // from its begin until it got resources
  std::int64_t contended_ps = 0;  // of a transfer: lost to others on its links

  bool operator==(const DelayedTask&) const = default;
};

/// The transfer time of tasks that transfer nothing; before all times.
inline constexpr std::int64_t kNeverPs = std::numeric_limits<std::int64_t>::min();

/// When tasks ran. Those of a rank class lie together: task t of repetition r of rank class p has
/// the index First(p, r) + t.
struct Timeline {
  int repetitions = 1;
  std::vector<std::size_t> offsets;    // by rank class, and the end
  std::vector<std::int64_t> begin_ps;  // of communication: its own arrival
  std::vector<std::int64_t> end_ps;
  std::vector<std::int64_t> transfer_ps;  // of communication: when the last member was there
  std::vector<DelayedTask> delayed;       // by index
  std::int64_t num_events = 0;            // tasks that ran
  std::vector<std::int64_t> traffic_end_ps = {};  // of EngineOptions::traffic

  [[nodiscard]] std::size_t First(RankClassId rank_class, int repetition = 0) const {
    const std::size_t size = offsets[rank_class + 1] - offsets[rank_class];
    return offsets[rank_class] +
           size / static_cast<std::size_t>(repetitions) * static_cast<std::size_t>(repetition);
  }

  /// Returns the delay of a task, or nullptr.
  [[nodiscard]] const DelayedTask* FindDelayed(std::size_t index) const;

  /// When a task got resources on its GPU.
  [[nodiscard]] std::int64_t StartPs(std::size_t index) const {
    const DelayedTask* const task = FindDelayed(index);
    return begin_ps[index] + (task == nullptr ? 0 : task->delayed_ps);
  }

  /// The last end of a rank class.
  [[nodiscard]] std::int64_t EndOf(RankClassId rank_class) const;

  /// The last end of all rank classes in a repetition; kNeverPs without tasks.
  [[nodiscard]] std::int64_t EndOfRepetition(int repetition) const;

  /// The last end of all.
  [[nodiscard]] std::int64_t EndPs() const;

  bool operator==(const Timeline&) const = default;
};

/// The last end of a rank class in a repetition on lanes of a kind, 0 without any.
[[nodiscard]] std::int64_t EndOfLanes(const workload::Program& program, const Timeline& timeline,
                                      std::size_t first, workload::LaneKind kind);

/// Simulates a job in integer picoseconds. For every rank class a task begins when
/// its lane is free and all it depends on is done; lanes take their tasks in order; a launch into a
/// full queue ends when the stream has begun enough of what it holds. Communication occupies its
/// lane from its own arrival; the transfer begins when the last member of the group has arrived,
/// and all members end together. The n-th communications, in the order of the program, that the
/// members of a group have on it belong together. Communication on a role without a group takes the
/// time that its program says.
///
/// Without a rate model and without shared links, times are the least solution of max-plus
/// equations, found in any order: no heap, O(tasks + edges). With one of them, events are handled
/// in order of time, O(tasks · log lanes), and all at one instant before rates change, so that
/// their order does not matter; work is counted in whole parts, so that nothing is lost to rounding
/// when rates change.
///
/// Fails when members of a group do different things, and when tasks wait for each other in a
/// cycle; names tasks and ranks. The members of an all-to-all may give different sizes: the
/// largest counts.
[[nodiscard]] Result<Timeline> Simulate(const RankClasses& rank_classes, CommunicationTimes& times,
                                        const EngineOptions& options = {});

/// Simulates the program of one rank alone. Communication takes the time that the program says.
[[nodiscard]] Result<Timeline> SimulateSingleRank(const workload::Program& program,
                                                  const EngineOptions& options = {});

/// Returns the last repetition alone, timed from the end of the one before, as step times are
/// measured: hosts that run ahead begin before 0. The end is then the time from step to step.
[[nodiscard]] Timeline LastStep(Timeline timeline);

}  // namespace orrery::simulate
