#include "orrery/simulate/engine.h"

#include <algorithm>
#include <cstddef>
#include <queue>
#include <utility>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::LaneId;
using workload::Program;
using workload::Successors;
using workload::TaskId;
using workload::TaskKind;

constexpr std::int64_t kNotYet = -1;

struct Finish {
  std::int64_t at_ps = 0;
  std::uint64_t order = 0;
  LaneId lane = 0;

  bool operator>(const Finish& other) const {
    return at_ps != other.at_ps ? at_ps > other.at_ps : order > other.order;
  }
};

// A lane works on one task at a time; `next` counts through all repetitions.
struct LaneState {
  std::vector<TaskId> tasks;
  std::size_t next = 0;
  std::int64_t free_ps = 0;
  std::int64_t gap_ps = 0;
  bool is_busy = false;
};

// A launch that found the queue full: it ends when the stream begins its task number `ordinal`.
struct Parked {
  LaneId launching = 0;
  LaneId stream = 0;
  std::size_t ordinal = 0;
};

class Engine {
 public:
  Engine(const Program& program, const RunOptions& options)
      : program_(program), options_(options), successors_(workload::SuccessorsOf(program)) {
    PrepareLanes();
    PrepareTasks();
  }

  Result<Timeline> Run() {
    for (LaneId lane = 0; lane < lanes_.size(); ++lane) {
      TryStart(lane);
    }
    while (!finishes_.empty()) {
      const Finish finish = finishes_.top();
      finishes_.pop();
      if (MayEnd(finish)) {
        Complete(finish);
      }
    }
    if (num_done_ != timeline_.end_ps.size()) {
      return Stuck();
    }
    return std::move(timeline_);
  }

 private:
  void PrepareLanes() {
    lanes_.resize(program_.lanes.size());
    ordinal_.resize(program_.tasks.size());
    kernel_of_launch_.assign(program_.tasks.size(), kNone);
    for (LaneId lane = 0; lane < lanes_.size(); ++lane) {
      lanes_[lane].gap_ps = program_.lanes.gap_ps[lane];
    }
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      LaneState& lane = lanes_[program_.tasks.lane[task]];
      ordinal_[task] = static_cast<std::uint32_t>(lane.tasks.size());
      lane.tasks.push_back(task);
      if (program_.tasks.launch[task] != kNone) {
        kernel_of_launch_[program_.tasks.launch[task]] = task;
      }
    }
  }

  void PrepareTasks() {
    const std::size_t num_tasks = program_.tasks.size();
    const auto repetitions = static_cast<std::size_t>(options_.repetitions);
    timeline_.num_tasks = static_cast<std::int64_t>(num_tasks);
    timeline_.repetitions = options_.repetitions;
    timeline_.begin_ps.assign(num_tasks * repetitions, kNotYet);
    timeline_.end_ps.assign(num_tasks * repetitions, kNotYet);
    ready_ps_.assign(num_tasks * repetitions, 0);
    waits_for_.reserve(num_tasks * repetitions);
    waits_for_.assign(num_tasks, 0);
    for (const TaskId target : successors_.targets) {
      ++waits_for_[target];
    }
    for (std::size_t i = num_tasks; i < num_tasks * repetitions; ++i) {
      waits_for_.push_back(waits_for_[i - num_tasks]);
    }
  }

  [[nodiscard]] std::size_t num_tasks() const { return program_.tasks.size(); }

  // The place in the timeline of the task that a lane takes as its n-th.
  [[nodiscard]] std::size_t InstanceAt(const LaneState& lane, std::size_t n) const {
    return n / lane.tasks.size() * num_tasks() + lane.tasks[n % lane.tasks.size()];
  }

  [[nodiscard]] bool IsAtEnd(const LaneState& lane) const {
    return lane.next >= lane.tasks.size() * static_cast<std::size_t>(options_.repetitions);
  }

  void TryStart(LaneId lane_id) {
    LaneState& lane = lanes_[lane_id];
    if (lane.is_busy || IsAtEnd(lane)) {
      return;
    }
    const std::size_t instance = InstanceAt(lane, lane.next);
    if (waits_for_[instance] > 0) {
      return;
    }
    const std::int64_t free_ps = lane.free_ps + (lane.next > 0 ? lane.gap_ps : 0);
    const std::int64_t begin_ps = std::max(free_ps, ready_ps_[instance]);
    timeline_.begin_ps[instance] = begin_ps;
    lane.is_busy = true;
    finishes_.push({begin_ps + DurationPs(instance, begin_ps), num_started_++, lane_id});
    WakeParked(lane_id, begin_ps);
  }

  [[nodiscard]] std::int64_t DurationPs(std::size_t instance, std::int64_t begin_ps) const {
    const auto task = static_cast<TaskId>(instance % num_tasks());
    return options_.stretch == nullptr ? program_.tasks.duration_ps[task]
                                       : options_.stretch->DurationPs(program_, task, begin_ps);
  }

  // A launch may end when the stream has room; otherwise it is put off.
  bool MayEnd(const Finish& finish) {
    const LaneState& lane = lanes_[finish.lane];
    const std::size_t instance = InstanceAt(lane, lane.next);
    const TaskId kernel = kernel_of_launch_[instance % num_tasks()];
    if (kernel == kNone) {
      return true;
    }
    const LaneId stream_id = program_.tasks.lane[kernel];
    const LaneState& stream = lanes_[stream_id];
    const std::size_t place = instance / num_tasks() * stream.tasks.size() + ordinal_[kernel];
    if (place < static_cast<std::size_t>(options_.queue_depth)) {
      return true;
    }
    const std::size_t ordinal = place - static_cast<std::size_t>(options_.queue_depth);
    const std::int64_t begun_ps = timeline_.begin_ps[InstanceAt(stream, ordinal)];
    if (begun_ps == kNotYet) {
      parked_.push_back({finish.lane, stream_id, ordinal});
    } else if (begun_ps > finish.at_ps) {
      finishes_.push({begun_ps, num_started_++, finish.lane});
    } else {
      return true;
    }
    return false;
  }

  void WakeParked(LaneId stream, std::int64_t begin_ps) {
    for (std::size_t i = 0; i < parked_.size();) {
      if (parked_[i].stream == stream && parked_[i].ordinal <= lanes_[stream].next) {
        finishes_.push({begin_ps, num_started_++, parked_[i].launching});
        parked_.erase(parked_.begin() + static_cast<std::ptrdiff_t>(i));
      } else {
        ++i;
      }
    }
  }

  void Complete(const Finish& finish) {
    LaneState& lane = lanes_[finish.lane];
    const std::size_t instance = InstanceAt(lane, lane.next);
    timeline_.end_ps[instance] = finish.at_ps;
    ++num_done_;
    ++lane.next;
    lane.free_ps = finish.at_ps;
    lane.is_busy = false;
    Release(instance, finish.at_ps);
    TryStart(finish.lane);
  }

  void Release(std::size_t instance, std::int64_t end_ps) {
    const std::size_t task = instance % num_tasks();
    const std::size_t first = instance - task;
    for (std::uint32_t i = successors_.offsets[task]; i < successors_.offsets[task + 1]; ++i) {
      const std::size_t target = first + successors_.targets[i];
      ready_ps_[target] = std::max(ready_ps_[target], end_ps + successors_.lags_ps[i]);
      if (--waits_for_[target] == 0) {
        TryStart(program_.tasks.lane[successors_.targets[i]]);
      }
    }
  }

  [[nodiscard]] tl::unexpected<Error> Stuck() const {
    for (const LaneState& lane : lanes_) {
      if (!IsAtEnd(lane)) {
        const TaskId task = lane.tasks[lane.next % lane.tasks.size()];
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("the program never ends: tasks wait for each other, among them "
                                "task {} ({})",
                                task, program_.strings.View(program_.tasks.name[task])));
      }
    }
    return Fail(Error::Kind::kInvalidInput, "the program never ends");
  }

  const Program& program_;
  RunOptions options_;
  Successors successors_;
  Timeline timeline_;
  std::vector<LaneState> lanes_;
  std::vector<std::uint32_t> ordinal_;    // of a task on its lane
  std::vector<TaskId> kernel_of_launch_;  // the last one for a launch of several
  std::vector<std::int64_t> ready_ps_;    // when the last predecessor lets a task begin
  std::vector<std::uint32_t> waits_for_;  // predecessors that are not done
  std::vector<Parked> parked_;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::uint64_t num_started_ = 0;
  std::size_t num_done_ = 0;
};

}  // namespace

Result<Timeline> Run(const Program& program, const RunOptions& options) {
  return Engine(program, options).Run();
}

}  // namespace orrery::simulate
