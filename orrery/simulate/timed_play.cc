#include "orrery/simulate/timed_play.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <queue>
#include <vector>

#include "orrery/simulate/rate_model.h"
#include "orrery/simulate/stage.h"

namespace orrery::simulate {
namespace {

// Rates are whole parts of full speed and work is counted in picoseconds times such parts, so that
// it does not matter how often work is settled.
constexpr std::int64_t kFullRate = 1 << 16;

__extension__ using Work128 = __int128;  // 64 bits hold 140 s of work

using TransferId = std::uint32_t;

/// Work that advances at a rate.
struct Progress {
  Work128 left = 0;
  std::int64_t settled_ps = 0;
  std::int64_t rate = 0;
  std::uint32_t version = 0;  // ends of older versions do not count

  void Start(std::int64_t now_ps, std::int64_t duration_ps) {
    left = static_cast<Work128>(duration_ps) * kFullRate;
    settled_ps = now_ps;
    rate = 0;
  }

  // Goes on at another rate and returns when it ends.
  std::int64_t Change(std::int64_t now_ps, std::int64_t new_rate) {
    left -= static_cast<Work128>(now_ps - settled_ps) * rate;
    settled_ps = now_ps;
    rate = new_rate;
    ++version;
    return now_ps + static_cast<std::int64_t>((left + rate - 1) / rate);
  }
};

enum class EventKind : std::uint8_t { kBegin, kEnd, kTransferBegin, kTransferEnd };

struct Event {
  std::int64_t at_ps = 0;
  std::uint64_t order = 0;
  std::uint32_t subject = 0;  // a lane or a transfer
  std::uint32_t version = 0;
  EventKind kind = EventKind::kEnd;

  bool operator>(const Event& other) const {
    return at_ps != other.at_ps ? at_ps > other.at_ps : order > other.order;
  }
};

/// What a lane has on its GPU.
struct Occupant {
  RunningTask task = {};
  Progress progress = {};  // of communication only the rate
  std::int64_t duration_ps = 0;
  TransferId transfer = 0;
};

struct TransferState {
  LaneIndex first_lane = kNoLane;
  std::int64_t duration_ps = 0;
  Progress progress = {};
  std::int64_t slowest = 0;       // rate of a member
  std::uint32_t num_slowest = 0;  // members with that rate
  bool must_count = false;        // the two above are not known
  bool is_dirty = false;

  // Takes note of a member whose rate changes.
  void Update(std::int64_t old_rate, std::int64_t new_rate) {
    if (new_rate < slowest) {
      slowest = new_rate;
      num_slowest = 1;
      return;
    }
    num_slowest += new_rate == slowest ? 1 : 0;
    if (old_rate == slowest && --num_slowest == 0) {
      must_count = true;
    }
  }
};

struct Gpu {
  std::vector<LaneIndex> running;  // ascending
  bool is_dirty = false;
};

class TimedPlay : public Stage<TimedPlay> {
 public:
  TimedPlay(const Cast& cast, CommunicationTimes& times, const PlayOptions& options)
      : Stage(cast, times, options), rates_(*options.rates) {
    occupants_.resize(lanes_.size());
    gpus_.resize(players_.size());
  }

  Result<Performance> Run() {
    WakeAll();
    while (!events_.empty() && !error_) {
      now_ps_ = events_.top().at_ps;
      while (!events_.empty() && events_.top().at_ps == now_ps_) {
        const Event event = events_.top();
        events_.pop();
        Handle(event);
        Drain();
      }
      RefreshRates();
    }
    return Finish();
  }

  void Work(LaneIndex lane, std::int64_t begin_ps, std::int64_t duration_ps) {
    if (!lanes_[lane].is_stream || duration_ps == 0) {
      End(lane, begin_ps + duration_ps);
      return;
    }
    occupants_[lane].task = RunningTaskOf(lane, false);
    occupants_[lane].duration_ps = duration_ps;
    Push(begin_ps, EventKind::kBegin, lane, 0);
  }

  void End(LaneIndex lane, std::int64_t end_ps) {
    occupants_[lane].duration_ps = 0;
    Push(end_ps, EventKind::kEnd, lane, ++occupants_[lane].progress.version);
  }

  void Arrive(LaneIndex lane, std::int64_t begin_ps) {
    occupants_[lane].task = RunningTaskOf(lane, true);
    Push(begin_ps, EventKind::kBegin, lane, 0);
  }

  void Transfer(LaneIndex first_lane, std::int64_t begin_ps, std::int64_t duration_ps) {
    const TransferId transfer = NewTransfer();
    transfers_[transfer].first_lane = first_lane;
    transfers_[transfer].duration_ps = duration_ps;
    Push(begin_ps, EventKind::kTransferBegin, transfer, 0);
  }

 private:
  [[nodiscard]] RunningTask RunningTaskOf(LaneIndex lane, bool is_communication) const {
    const workload::Program& program = ProgramOf(lanes_[lane]);
    const workload::PartId part = program.tasks.part[TaskOf(lanes_[lane])];
    if (part == workload::kNone) {
      return {.is_communication = is_communication, .is_waiting = is_communication};
    }
    return {.sm_share = program.parts.sm_share[part],
            .memory_share = program.parts.memory_share[part],
            .is_communication = is_communication,
            .is_waiting = is_communication};
  }

  void Push(std::int64_t at_ps, EventKind kind, std::uint32_t subject, std::uint32_t version) {
    events_.push({at_ps, num_pushed_++, subject, version, kind});
  }

  TransferId NewTransfer() {
    if (free_transfers_.empty()) {
      transfers_.emplace_back();
      return static_cast<TransferId>(transfers_.size() - 1);
    }
    const TransferId transfer = free_transfers_.back();
    free_transfers_.pop_back();
    return transfer;
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kBegin:
        Enter(event.subject);
        break;
      case EventKind::kEnd:
        if (event.version == occupants_[event.subject].progress.version) {
          EndWork(event.subject);
        }
        break;
      case EventKind::kTransferBegin:
        BeginTransfer(event.subject);
        break;
      case EventKind::kTransferEnd:
        if (event.version == transfers_[event.subject].progress.version) {
          EndTransfer(event.subject);
        }
        break;
    }
  }

  void Enter(LaneIndex lane) {
    std::vector<LaneIndex>& running = gpus_[lanes_[lane].player].running;
    running.insert(std::lower_bound(running.begin(), running.end(), lane), lane);
    occupants_[lane].progress.Start(now_ps_, occupants_[lane].duration_ps);
    MarkDirty(lanes_[lane].player);
  }

  void Leave(LaneIndex lane) {
    std::vector<LaneIndex>& running = gpus_[lanes_[lane].player].running;
    running.erase(std::lower_bound(running.begin(), running.end(), lane));
    MarkDirty(lanes_[lane].player);
  }

  void MarkDirty(PlayerId player) {
    if (!gpus_[player].is_dirty) {
      gpus_[player].is_dirty = true;
      dirty_gpus_.push_back(player);
    }
  }

  void MarkTransferDirty(TransferId transfer) {
    if (!transfers_[transfer].is_dirty) {
      transfers_[transfer].is_dirty = true;
      dirty_transfers_.push_back(transfer);
    }
  }

  void EndWork(LaneIndex lane) {
    if (occupants_[lane].duration_ps > 0) {
      Leave(lane);
    }
    Complete(lane, now_ps_);
    Wake(lane);
  }

  void BeginTransfer(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    state.progress.Start(now_ps_, state.duration_ps);
    state.must_count = true;
    MarkTransferDirty(transfer);
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_in_gathering) {
      occupants_[lane].task.is_waiting = false;
      occupants_[lane].transfer = transfer;
      MarkDirty(lanes_[lane].player);
    }
  }

  void EndTransfer(TransferId transfer) {
    ++transfers_[transfer].progress.version;
    for (LaneIndex lane = transfers_[transfer].first_lane; lane != kNoLane;
         lane = lanes_[lane].next_in_gathering) {
      Leave(lane);
      Complete(lane, now_ps_);
      Wake(lane);
    }
    free_transfers_.push_back(transfer);
  }

  void RefreshRates() {
    for (const PlayerId player : dirty_gpus_) {
      gpus_[player].is_dirty = false;
      RefreshGpu(gpus_[player]);
    }
    dirty_gpus_.clear();
    for (const TransferId transfer : dirty_transfers_) {
      transfers_[transfer].is_dirty = false;
      RefreshTransfer(transfer);
    }
    dirty_transfers_.clear();
  }

  void RefreshGpu(const Gpu& gpu) {
    running_.clear();
    for (const LaneIndex lane : gpu.running) {
      running_.push_back(occupants_[lane].task);
    }
    new_rates_.assign(running_.size(), 1.0);
    rates_.Rates(running_, new_rates_);
    for (std::size_t i = 0; i < gpu.running.size(); ++i) {
      SetRate(gpu.running[i],
              std::clamp<std::int64_t>(std::llround(new_rates_[i] * kFullRate), 1, kFullRate));
    }
  }

  void SetRate(LaneIndex lane, std::int64_t rate) {
    Occupant& occupant = occupants_[lane];
    if (occupant.progress.rate == rate) {
      return;
    }
    if (!occupant.task.is_communication) {
      const std::int64_t end_ps = occupant.progress.Change(now_ps_, rate);
      Push(end_ps, EventKind::kEnd, lane, occupant.progress.version);
      return;
    }
    if (!occupant.task.is_waiting) {
      transfers_[occupant.transfer].Update(occupant.progress.rate, rate);
      MarkTransferDirty(occupant.transfer);
    }
    occupant.progress.rate = rate;
  }

  // A transfer is as fast as the slowest of its members.
  void RefreshTransfer(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    if (state.must_count) {
      CountSlowest(state);
    }
    if (state.progress.rate != state.slowest) {
      const std::int64_t end_ps = state.progress.Change(now_ps_, state.slowest);
      Push(end_ps, EventKind::kTransferEnd, transfer, state.progress.version);
    }
  }

  void CountSlowest(TransferState& state) const {
    state.must_count = false;
    state.slowest = kFullRate + 1;
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_in_gathering) {
      const std::int64_t rate = occupants_[lane].progress.rate;
      state.num_slowest = rate < state.slowest ? 1 : state.num_slowest + (rate == state.slowest);
      state.slowest = std::min(state.slowest, rate);
    }
  }

  const RateModel& rates_;
  std::int64_t now_ps_ = 0;
  std::uint64_t num_pushed_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Occupant> occupants_;  // by lane
  std::vector<Gpu> gpus_;            // by player
  std::vector<TransferState> transfers_;
  std::vector<TransferId> free_transfers_;
  std::vector<PlayerId> dirty_gpus_;
  std::vector<TransferId> dirty_transfers_;
  std::vector<RunningTask> running_;
  std::vector<double> new_rates_;
};

}  // namespace

Result<Performance> PlayInTime(const Cast& cast, CommunicationTimes& times,
                               const PlayOptions& options) {
  return TimedPlay(cast, times, options).Run();
}

}  // namespace orrery::simulate
