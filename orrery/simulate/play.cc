#include "orrery/simulate/play.h"

#include <algorithm>

#include "orrery/base/check.h"
#include "orrery/simulate/stage.h"
#include "orrery/simulate/timed_play.h"

namespace orrery::simulate {
namespace {

// Looks at tasks in any order: when all that a task waits for is known, so is its end.
class DataflowPlay : public Stage<DataflowPlay> {
 public:
  DataflowPlay(const Cast& cast, CommunicationTimes& times, const PlayOptions& options)
      : Stage(cast, times, options) {}

  Result<Performance> Run() {
    WakeAll();
    return Finish();
  }

  void Work(LaneIndex lane, std::int64_t begin_ps, std::int64_t duration_ps) {
    Complete(lane, begin_ps + duration_ps);
  }

  void End(LaneIndex lane, std::int64_t end_ps) { Complete(lane, end_ps); }

  void Arrive(LaneIndex /*lane*/, std::int64_t /*begin_ps*/) {}

  void Transfer(LaneIndex first_lane, std::int64_t begin_ps, const TransferCost& cost) {
    for (LaneIndex lane = first_lane; lane != kNoLane; lane = lanes_[lane].next_in_gathering) {
      Complete(lane, begin_ps + cost.duration_ps);
      Wake(lane);
    }
  }
};

}  // namespace

const HeldUpTask* Performance::FindHeldUp(std::size_t index) const {
  const auto found = std::ranges::lower_bound(held_up, index, {}, &HeldUpTask::index);
  return found != held_up.end() && found->index == index ? &*found : nullptr;
}

std::int64_t Performance::EndOf(PlayerId player) const {
  std::int64_t last_ps = 0;
  for (std::size_t i = offsets[player]; i < offsets[player + 1]; ++i) {
    last_ps = std::max(last_ps, end_ps[i]);
  }
  return last_ps;
}

std::int64_t Performance::EndPs() const {
  return end_ps.empty() ? 0 : *std::max_element(end_ps.begin(), end_ps.end());
}

Result<Performance> Play(const Cast& cast, CommunicationTimes& times, const PlayOptions& options) {
  ORRERY_CHECK(options.repetitions > 0, "a program is played at least once");
  return options.rates == nullptr ? DataflowPlay(cast, times, options).Run()
                                  : PlayInTime(cast, times, options);
}

}  // namespace orrery::simulate
