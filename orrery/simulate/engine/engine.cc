#include "orrery/simulate/engine/engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/pending_collectives.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/engine/task_scheduler.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

// Looks at tasks in any order: when all that a task waits for is known, so is its end.
class DataflowEngine : public TaskScheduler<DataflowEngine> {
 public:
  DataflowEngine(const RankClasses& rank_classes, CommunicationTimes& times,
                 const EngineOptions& options)
      : TaskScheduler(rank_classes, times, options) {}

  Result<Timeline> Run() {
    WakeAll();
    return Finish();
  }

  void Work(LaneIndex lane, std::int64_t begin_ps, std::int64_t duration_ps) {
    Complete(lane, begin_ps + duration_ps);
  }

  void End(LaneIndex lane, std::int64_t end_ps) { Complete(lane, end_ps); }

  void Arrive(LaneIndex /*lane*/, std::int64_t /*begin_ps*/) {}

  void Transfer(GroupClassId /*group*/, const PendingCollective& pending, std::int64_t begin_ps,
                const TransferCost& cost) {
    for (LaneIndex lane = pending.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      Complete(lane, begin_ps + cost.duration_ps);
      Wake(lane);
    }
  }
};

// One rank alone never asks.
class NoCommunication : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(
      const workload::Communications::Row& /*communication*/,
      std::span<const network::GpuId> /*gpus*/) override {
    return 0;
  }
};

}  // namespace

const DelayedTask* Timeline::FindDelayed(std::size_t index) const {
  const auto found = std::ranges::lower_bound(delayed, index, {}, &DelayedTask::index);
  return found != delayed.end() && found->index == index ? &*found : nullptr;
}

std::int64_t Timeline::EndOf(RankClassId rank_class) const {
  std::int64_t last_ps = 0;
  for (std::size_t i = offsets[rank_class]; i < offsets[rank_class + 1]; ++i) {
    last_ps = std::max(last_ps, end_ps[i]);
  }
  return last_ps;
}

std::int64_t Timeline::EndOfRepetition(int repetition) const {
  std::int64_t last_ps = kNeverPs;
  for (RankClassId rank_class = 0; rank_class + 1 < offsets.size(); ++rank_class) {
    const std::size_t end = First(rank_class, repetition + 1);
    for (std::size_t index = First(rank_class, repetition); index < end; ++index) {
      last_ps = std::max(last_ps, end_ps[index]);
    }
  }
  return last_ps;
}

std::int64_t Timeline::EndPs() const {
  return end_ps.empty() ? 0 : *std::max_element(end_ps.begin(), end_ps.end());
}

std::int64_t EndOfLanes(const workload::Program& program, const Timeline& timeline,
                        std::size_t first, workload::LaneKind kind) {
  std::int64_t end_ps = 0;
  for (workload::TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == kind) {
      end_ps = std::max(end_ps, timeline.end_ps[first + task]);
    }
  }
  return end_ps;
}

Result<Timeline> Simulate(const RankClasses& rank_classes, CommunicationTimes& times,
                          const EngineOptions& options) {
  ORRERY_CHECK(options.repetitions > 0, "a program is simulated at least once");
  return options.rates == nullptr && options.links == nullptr
             ? DataflowEngine(rank_classes, times, options).Run()
             : SimulateInTimeOrder(rank_classes, times, options);
}

Result<Timeline> SimulateSingleRank(const workload::Program& program,
                                    const EngineOptions& options) {
  NoCommunication times;
  return Simulate(SingleRank(program), times, options);
}

Timeline LastStep(Timeline timeline) {
  const int last = timeline.repetitions - 1;
  if (last == 0) {
    return timeline;
  }
  const std::int64_t begin_ps = timeline.EndOfRepetition(last - 1);
  Timeline step;
  step.offsets.push_back(0);
  for (RankClassId rank_class = 0; rank_class + 1 < timeline.offsets.size(); ++rank_class) {
    const std::size_t first = timeline.First(rank_class, last);
    const std::size_t end = timeline.offsets[rank_class + 1];
    const std::size_t new_first = step.begin_ps.size();
    for (std::size_t index = first; index < end; ++index) {
      const std::int64_t transfer_ps = timeline.transfer_ps[index];
      step.begin_ps.push_back(timeline.begin_ps[index] - begin_ps);
      step.end_ps.push_back(timeline.end_ps[index] - begin_ps);
      step.transfer_ps.push_back(transfer_ps == kNeverPs ? kNeverPs : transfer_ps - begin_ps);
    }
    for (DelayedTask task : timeline.delayed) {
      if (task.index >= first && task.index < end) {
        task.index += new_first - first;
        step.delayed.push_back(task);
      }
    }
    step.offsets.push_back(step.begin_ps.size());
  }
  step.num_events = timeline.num_events;
  return step;
}

}  // namespace orrery::simulate
