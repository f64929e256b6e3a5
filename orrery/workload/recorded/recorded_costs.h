#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"

namespace orrery::workload {

/// When the work ended that had been launched before a time, and how much of it waited.
class DeviceQueue {
 public:
  explicit DeviceQueue(const trace::Trace& recording);

  /// The last end of what was launched before; far in the past if nothing was.
  [[nodiscard]] std::int64_t EndOfLaunchedBefore(std::int64_t at_ns) const;

  /// Returns true if the queue is so full that a launch may wait for a place.
  [[nodiscard]] bool IsFull(std::int64_t at_ns) const;

 private:
  [[nodiscard]] std::size_t NumLaunchedBefore(std::int64_t at_ns) const;

  std::vector<std::pair<std::int64_t, std::int64_t>> launched_;  // begin, last end so far
  std::vector<std::int64_t> ends_ns_;
};

/// The host's times of the calls of one thread, call by call of ThreadCalls, in nanoseconds.
struct ThreadCosts {
  static constexpr double kByModel = -1;  // a cost that the model of the host says

  std::vector<double> before_ns;  // of the caller before it makes the call
  std::vector<double> own_ns;     // a launch; of all others what is left behind their last call
};

/// The host's time of a step at each place, the profiler's share removed.
struct StepCosts {
  std::vector<ThreadCosts> threads;  // those of the CallTree
};

/// The costs of the host as one step of a recording has them at each place: the median over
/// those steps that make the same calls.
///
/// Times in which the host waits are no costs: for the GPU in a synchronisation or before a launch
/// into a full queue, and for the thread that runs the backward pass, or by it. What a thread takes
/// to go on after another has handed over to it is a cost of its next call.
class RecordedHost {
 public:
  /// The recording and the steps must outlive this.
  RecordedHost(const trace::Trace& recording, std::span<const CallTree> steps, std::size_t which);

  /// The costs less what the profiler took for each event. A tenth of each cost is left at least;
  /// what it cannot give is taken from the next ones of its thread.
  [[nodiscard]] StepCosts Without(double profiler_cost_ns) const;

  /// The same for what the program does itself: between the calls that no operator of PyTorch
  /// makes, behind the last call of a range, and inside operators that run code of the program
  /// (IsOfProgram). All other costs are left to a model.
  [[nodiscard]] StepCosts OfProgram(double profiler_cost_ns) const;

  /// The number of steps that make the same calls.
  [[nodiscard]] std::size_t num_steps() const { return num_steps_; }

 private:
  [[nodiscard]] StepCosts Without(double profiler_cost_ns, StepCosts costs) const;

  const trace::Trace& recording_;
  const CallTree& step_;
  std::size_t num_steps_ = 1;
  StepCosts times_;
  StepCosts events_;  // the number of events whose profiler cost the times contain
};

}  // namespace orrery::workload
