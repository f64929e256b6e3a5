#include "orrery/workload/recorded/recorded_costs.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"

namespace orrery::workload {
namespace {

using trace::Trace;

// The least share of a cost that remains without the profiler's cost: where in the
// neighbourhood of an event the profiler's time lies is known on average only.
constexpr double kLeastShare = 0.1;

// A stream takes about a thousand launches; with half as many before it, a launch may have waited.
constexpr std::int64_t kClearlyFullQueue = 512;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();

std::int64_t EndOf(const Call& call) {
  return call.begin_ns + call.duration_ns;
}

/// The begins and ends of a thread's calls, in order.
std::vector<std::int64_t> MomentsOf(const ThreadCalls& thread) {
  std::vector<std::int64_t> moments;
  for (std::size_t call = 1; call < thread.calls.size(); ++call) {
    moments.push_back(thread.calls[call].begin_ns);
    moments.push_back(EndOf(thread.calls[call]));
  }
  std::sort(moments.begin(), moments.end());
  return moments;
}

/// The threads that hand over to each other: the one that waits for the backward pass, and those
/// that run it.
class HandOvers {
 public:
  explicit HandOvers(const CallTree& step) : moments_of_thread_(step.threads.size()) {
    bool has_waiting = false;
    for (std::size_t i = 0; i < step.threads.size(); ++i) {
      const bool runs_backward = step.threads[i].runs_backward;
      if (runs_backward || !has_waiting) {
        moments_of_thread_[i] = MomentsOf(step.threads[i]);
      }
      has_waiting |= !runs_backward;
    }
  }

  /// The last thing that another thread did before `at_ns`, if this one takes turns with it.
  [[nodiscard]] std::int64_t LastOfOthers(std::size_t thread, std::int64_t at_ns) const {
    std::int64_t last_ns = kNever;
    if (moments_of_thread_[thread].empty()) {
      return last_ns;
    }
    for (std::size_t other = 0; other < moments_of_thread_.size(); ++other) {
      const auto& moments = moments_of_thread_[other];
      const auto next = std::upper_bound(moments.begin(), moments.end(), at_ns);
      if (other != thread && next != moments.begin()) {
        last_ns = std::max(last_ns, *(next - 1));
      }
    }
    return last_ns;
  }

 private:
  std::vector<std::vector<std::int64_t>> moments_of_thread_;
};

/// Takes the costs of a thread as recorded, and how many events' profiler cost they hold.
class ThreadSampler {
 public:
  ThreadSampler(const ThreadCalls& thread, std::size_t number, const HandOvers& hand_overs,
                const DeviceQueue& queue)
      : calls_(thread.calls), number_(number), hand_overs_(hand_overs) {
    for (ThreadCosts* costs : {&times, &events}) {
      costs->before_ns.resize(calls_.size());
      costs->own_ns.resize(calls_.size());
    }
    for (std::uint32_t index = 0; index < calls_.size(); ++index) {
      const Call& call = calls_[index];
      if (call.kind != CallKind::kLaunch && call.kind != CallKind::kSynchronize) {
        AddChildren(index);
        continue;
      }
      // Of a wait, what is left once the awaited work has ended.
      const std::int64_t from_ns =
          call.kind == CallKind::kLaunch
              ? call.begin_ns
              : std::clamp(queue.EndOfLaunchedBefore(call.begin_ns), call.begin_ns, EndOf(call));
      times.own_ns[index] = static_cast<double>(EndOf(call) - from_ns);
      events.own_ns[index] = ProfilerShareOf(call.kind).inside;
    }
  }

  ThreadCosts times;
  ThreadCosts events;

 private:
  void AddChildren(std::uint32_t index) {
    const Call& parent = calls_[index];
    const double inside = ProfilerShareOf(parent.kind).inside / 2;
    std::int64_t from_ns = parent.kind == CallKind::kRoot ? kNever : parent.begin_ns;
    double events_before = inside;
    ForEachChild(calls_, index, [&](std::uint32_t child_index) {
      const Call& child = calls_[child_index];
      if (const std::int64_t begin_ns = BeginOfGap(from_ns, child.begin_ns); begin_ns != kNever) {
        times.before_ns[child_index] = Between(begin_ns, child.begin_ns);
        events.before_ns[child_index] = events_before + ProfilerShareOf(child.kind).before;
      }
      from_ns = EndOf(child);
      events_before = ProfilerShareOf(child.kind).before;
    });
    if (parent.kind != CallKind::kRoot) {
      times.own_ns[index] = Between(BeginOfGap(from_ns, EndOf(parent)), EndOf(parent));
      events.own_ns[index] = events_before + inside;
    }
  }

  // The end of what the thread did before, or of what another did that handed over to it.
  [[nodiscard]] std::int64_t BeginOfGap(std::int64_t from_ns, std::int64_t to_ns) const {
    return std::max(from_ns, hand_overs_.LastOfOthers(number_, to_ns));
  }

  [[nodiscard]] static double Between(std::int64_t begin_ns, std::int64_t end_ns) {
    return static_cast<double>(std::max<std::int64_t>(0, end_ns - begin_ns));
  }

  std::span<const Call> calls_;
  std::size_t number_;
  const HandOvers& hand_overs_;
};

/// The usual time of launches into queues with room, by name.
std::map<StringId, double> UsualLaunches(std::span<const CallTree> steps,
                                         const DeviceQueue& queue) {
  std::map<StringId, std::vector<double>> times_of_name;
  for (const CallTree& step : steps) {
    for (const ThreadCalls& thread : step.threads) {
      for (const Call& call : thread.calls) {
        if (call.kind == CallKind::kLaunch && !queue.IsFull(call.begin_ns)) {
          times_of_name[call.name].push_back(static_cast<double>(call.duration_ns));
        }
      }
    }
  }
  std::map<StringId, double> usual;
  for (const auto& [name, times] : times_of_name) {
    usual[name] = Median(times);
  }
  return usual;
}

bool MakeSameCalls(const CallTree& lhs, const CallTree& rhs) {
  // Markers of steps count, so names of ranges may differ.
  const auto is_same = [](const Call& a, const Call& b) {
    return a.kind == b.kind && a.num_descendants == b.num_descendants &&
           (a.name == b.name || a.kind == CallKind::kAnnotation);
  };
  return std::ranges::equal(lhs.threads, rhs.threads,
                            [&](const ThreadCalls& a, const ThreadCalls& b) {
                              return std::ranges::equal(a.calls, b.calls, is_same);
                            });
}

/// A call of a thread, and whether its cost is before the call or its own.
using Place = std::pair<std::uint32_t, bool>;

/// The costs of a thread in order of time.
std::vector<Place> PlacesInTime(std::span<const Call> calls) {
  std::vector<Place> places;
  std::vector<std::uint32_t> open;
  const auto close_before = [&](std::uint32_t index) {
    while (!open.empty() && open.back() + 1 + calls[open.back()].num_descendants <= index) {
      places.emplace_back(open.back(), false);
      open.pop_back();
    }
  };
  for (std::uint32_t index = 1; index < calls.size(); ++index) {
    close_before(index);
    places.emplace_back(index, true);
    open.push_back(index);
  }
  close_before(static_cast<std::uint32_t>(calls.size()));
  return places;
}

// Replaces times by their medians over the steps: one hiccup is no cost of a call.
void TakeMedians(std::vector<StepCosts>& steps) {
  std::vector<double> values(steps.size());
  for (std::size_t thread = 0; thread < steps[0].threads.size(); ++thread) {
    for (const auto column : {&ThreadCosts::before_ns, &ThreadCosts::own_ns}) {
      std::vector<double>& medians = steps[0].threads[thread].*column;
      for (std::size_t place = 0; place < medians.size(); ++place) {
        std::ranges::transform(steps, values.begin(), [&](const StepCosts& step) {
          return (step.threads[thread].*column)[place];
        });
        medians[place] = Median(values);
      }
    }
  }
}

/// Returns true if the time between the calls that a call makes is the program's: that of ranges,
/// and of operators that run code of the program or Python.
bool RunsProgram(const Trace& recording, const Call& call) {
  const std::string_view name = recording.Text(call.name);
  return call.kind == CallKind::kAnnotation ||
         (call.kind == CallKind::kOperator && IsOfProgram(name) && !IsCompiledKernel(name));
}

/// Returns true if the program makes a call itself: no operator of PyTorch does, nor the engine
/// that goes from node to node of the backward pass. The time before a compiled kernel is mostly
/// the profiler's.
bool IsMadeByProgram(const Trace& recording, const ThreadCalls& thread, const Call& caller,
                     const Call& call) {
  if (IsCompiledKernel(recording.Text(call.name))) {
    return false;
  }
  if (caller.kind == CallKind::kRoot) {
    return !thread.runs_backward || !IsBackwardNode(recording, call);
  }
  return RunsProgram(recording, caller) || IsRecomputed(thread, caller, call);
}

/// Leaves all costs to the model but those between and behind the calls that the program makes.
void KeepOfProgram(const Trace& recording, const ThreadCalls& thread, ThreadCosts& costs) {
  const std::span<const Call> calls = thread.calls;
  for (std::uint32_t index = 0; index < calls.size(); ++index) {
    if (!RunsProgram(recording, calls[index])) {
      costs.own_ns[index] = ThreadCosts::kByModel;
    }
    ForEachChild(calls, index, [&](std::uint32_t child) {
      if (!IsMadeByProgram(recording, thread, calls[index], calls[child])) {
        costs.before_ns[child] = ThreadCosts::kByModel;
      }
    });
  }
}

/// The times of a step, and the events they hold.
struct StepSamples {
  StepCosts times;
  StepCosts events;
};

StepSamples SamplesOfStep(const CallTree& step, const DeviceQueue& queue,
                          const std::map<StringId, double>& usual_launches) {
  const HandOvers hand_overs(step);
  StepSamples samples;
  for (std::size_t number = 0; number < step.threads.size(); ++number) {
    const ThreadCalls& thread = step.threads[number];
    ThreadSampler taken(thread, number, hand_overs, queue);
    for (std::size_t index = 0; index < thread.calls.size(); ++index) {
      // A launch that waited for a place in the queue takes what launches usually take.
      const Call& call = thread.calls[index];
      const auto usual = usual_launches.find(call.name);
      if (call.kind == CallKind::kLaunch && usual != usual_launches.end() &&
          queue.IsFull(call.begin_ns)) {
        taken.times.own_ns[index] = std::min(taken.times.own_ns[index], usual->second);
      }
    }
    samples.times.threads.push_back(std::move(taken.times));
    samples.events.threads.push_back(std::move(taken.events));
  }
  return samples;
}

}  // namespace

DeviceQueue::DeviceQueue(const Trace& recording) {
  for (RowId row = 0; row < recording.activities.size(); ++row) {
    const RowId launch = recording.activities.launch[row];
    if (launch != kNoRow) {
      const std::int64_t end_ns =
          recording.activities.begin_ns[row] + recording.activities.duration_ns[row];
      launched_.emplace_back(recording.runtime_calls.begin_ns[launch], end_ns);
      ends_ns_.push_back(end_ns);
    }
  }
  std::sort(launched_.begin(), launched_.end());
  std::sort(ends_ns_.begin(), ends_ns_.end());
  std::int64_t last_ns = kNever;
  for (auto& [begin_ns, end_ns] : launched_) {
    last_ns = std::max(last_ns, end_ns);
    end_ns = last_ns;
  }
}

std::int64_t DeviceQueue::EndOfLaunchedBefore(std::int64_t at_ns) const {
  const std::size_t count = NumLaunchedBefore(at_ns);
  return count == 0 ? kNever : launched_[count - 1].second;
}

bool DeviceQueue::IsFull(std::int64_t at_ns) const {
  const auto ended = std::upper_bound(ends_ns_.begin(), ends_ns_.end(), at_ns) - ends_ns_.begin();
  return static_cast<std::int64_t>(NumLaunchedBefore(at_ns)) - ended > kClearlyFullQueue;
}

std::size_t DeviceQueue::NumLaunchedBefore(std::int64_t at_ns) const {
  const auto found = std::lower_bound(
      launched_.begin(), launched_.end(), at_ns,
      [](const auto& launched, std::int64_t time_ns) { return launched.first < time_ns; });
  return static_cast<std::size_t>(found - launched_.begin());
}

RecordedHost::RecordedHost(const Trace& recording, std::span<const CallTree> steps,
                           std::size_t which)
    : recording_(recording), step_(steps[which]) {
  const DeviceQueue queue(recording);
  const std::map<StringId, double> usual_launches = UsualLaunches(steps, queue);
  StepSamples samples = SamplesOfStep(step_, queue, usual_launches);
  events_ = std::move(samples.events);
  std::vector<StepCosts> times{std::move(samples.times)};
  for (std::size_t other = 0; other < steps.size(); ++other) {
    if (other != which && MakeSameCalls(steps[other], step_)) {
      times.push_back(SamplesOfStep(steps[other], queue, usual_launches).times);
    }
  }
  num_steps_ = times.size();
  TakeMedians(times);
  times_ = std::move(times[0]);
}

StepCosts RecordedHost::Without(double profiler_cost_ns) const {
  return Without(profiler_cost_ns, times_);
}

StepCosts RecordedHost::OfProgram(double profiler_cost_ns) const {
  StepCosts costs = times_;
  for (std::size_t thread = 0; thread < costs.threads.size(); ++thread) {
    KeepOfProgram(recording_, step_.threads[thread], costs.threads[thread]);
  }
  return Without(profiler_cost_ns, std::move(costs));
}

StepCosts RecordedHost::Without(double profiler_cost_ns, StepCosts costs) const {
  for (std::size_t thread = 0; thread < costs.threads.size(); ++thread) {
    double owed_ns = 0;
    for (const auto& [call, is_before] : PlacesInTime(step_.threads[thread].calls)) {
      const auto column = is_before ? &ThreadCosts::before_ns : &ThreadCosts::own_ns;
      double& cost_ns = (costs.threads[thread].*column)[call];
      if (cost_ns == ThreadCosts::kByModel) {
        continue;
      }
      owed_ns += profiler_cost_ns * (events_.threads[thread].*column)[call];
      const double taken_ns = std::min(owed_ns, (1 - kLeastShare) * cost_ns);
      cost_ns -= taken_ns;
      owed_ns -= taken_ns;
    }
  }
  return costs;
}

}  // namespace orrery::workload
