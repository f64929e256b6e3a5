#include "orrery/simulate/engine.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/simulate/task_scheduler.h"
#include "orrery/simulate/timed_engine.h"

namespace orrery::simulate {
namespace {

// Looks at tasks in any order: when all that a task waits for is known, so is its end.
class DataflowEngine : public TaskScheduler<DataflowEngine> {
 public:
  DataflowEngine(const RankClasses& rank_classes, CommunicationTimes& times, const EngineOptions& options)
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

  void Transfer(LaneIndex first_lane, std::int64_t begin_ps, const TransferCost& cost) {
    for (LaneIndex lane = first_lane; lane != kNoLane; lane = lanes_[lane].next_pending_lane) {
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

std::int64_t Timeline::EndPs() const {
  return end_ps.empty() ? 0 : *std::max_element(end_ps.begin(), end_ps.end());
}

Result<Timeline> Simulate(const RankClasses& rank_classes, CommunicationTimes& times, const EngineOptions& options) {
  ORRERY_CHECK(options.repetitions > 0, "a program is simulated at least once");
  return options.rates == nullptr ? DataflowEngine(rank_classes, times, options).Run()
                                  : SimulateInTimeOrder(rank_classes, times, options);
}

Result<Timeline> SimulateSingleRank(const workload::Program& program,
                                    const EngineOptions& options) {
  NoCommunication times;
  return Simulate(SingleRank(program), times, options);
}

}  // namespace orrery::simulate
