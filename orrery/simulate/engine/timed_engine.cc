#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

#include "orrery/base/concurrency/stop.h"
#include "orrery/base/error.h"
#include "orrery/network/fair_filling.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/kernel_code.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pending_collectives.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/engine/task_scheduler.h"
#include "orrery/simulate/engine/timed_state.h"
#include "orrery/simulate/network/link_sharing.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

// Kernels that run together do not slow each other down.
class NoOverlap : public RateModel {
 public:
  void Rates(std::span<const RunningTask> /*running*/, std::span<double> rates) const override {
    std::ranges::fill(rates, 1.0);
  }
};

const RateModel& RatesOf(const EngineOptions& options) {
  static const NoOverlap kNone;
  return options.rates == nullptr ? kNone : *options.rates;
}

class TimedEngine : public TaskScheduler<TimedEngine> {
 public:
  TimedEngine(const RankClasses& rank_classes, CommunicationTimes& times,
              const EngineOptions& options)
      : TaskScheduler(rank_classes, times, options),
        rates_(RatesOf(options)),
        knows_pairs_(rates_.KnowsPairs()) {
    occupants_.resize(lanes_.size());
    gpus_.resize(classes_.size());
    if (options.links != nullptr) {
      sharing_.emplace(*options.links, options.congestion);
      traffic_ = options.traffic;
    }
  }

  Result<Timeline> Run() {
    BeginTraffic();
    WakeAll();
    HandleInstant();
    while (!events_.empty() && !error_) {
      ThrowIfStopped();
      now_ps_ = events_.top().at_ps;
      HandleInstant();
    }
    std::ranges::sort(timeline_.delayed, {}, &DelayedTask::index);
    return Finish();
  }

  void Work(LaneIndex lane, std::int64_t begin_ps, std::int64_t duration_ps) {
    if (!lanes_[lane].is_stream || duration_ps == 0) {
      Complete(lane, begin_ps + duration_ps);
      return;
    }
    occupants_[lane].task = RunningTaskOf(lane, false);
    occupants_[lane].duration_ps = duration_ps;
    if (knows_pairs_) {
      occupants_[lane].task.side = ComputeKernel(lane, duration_ps);
    }
    PushArrival(begin_ps, lane);
  }

  // Nothing slows hosts down, so that their ends are known before it is time for them.
  void End(LaneIndex lane, std::int64_t end_ps) { Complete(lane, end_ps); }

  void Arrive(LaneIndex lane, std::int64_t begin_ps) {
    occupants_[lane].task = RunningTaskOf(lane, true);
    occupants_[lane].has_room = false;
    occupants_[lane].transfer = kNoTransfer;
    if (knows_pairs_) {
      occupants_[lane].task.side = OwnCost(lane).side;
    }
    PushArrival(begin_ps, lane);
  }

  void Transfer(GroupClassId group, const PendingCollective& pending, std::int64_t begin_ps,
                const TransferCost& cost) {
    const TransferId transfer = NewTransfer();
    TransferState& state = transfers_[transfer];
    state.group = group;
    state.row = pending.row;
    state.first_lane = pending.first_lane;
    state.cost = cost;
    state.is_due = false;
    state.num_missing = 0;
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      occupants_[lane].transfer = transfer;
      state.num_missing += occupants_[lane].has_room ? 0 : 1;
    }
    Push(begin_ps, EventKind::kTransferBegin, transfer, 0);
  }

 private:
  void HandleInstant() {
    while (!events_.empty() && events_.top().at_ps == now_ps_) {
      const Event event = events_.top();
      events_.pop();
      Handle(event);
      Drain();
    }
    AdmitQueued();
    AdmitArrivals();
    BeginTransfers();
    RefreshRates();
  }

  [[nodiscard]] RunningTask RunningTaskOf(LaneIndex lane, bool is_communication) const {
    const workload::Program& program = ProgramOf(lanes_[lane]);
    const workload::PartId part = program.tasks.part[TaskOf(lanes_[lane])];
    RunningTask task{.program = rank_classes_.classes[lanes_[lane].rank_class].program,
                     .is_communication = is_communication,
                     .is_waiting = is_communication};
    if (part != workload::kNone) {
      task.sm_share = program.parts.sm_share[part];
      task.memory_share = program.parts.memory_share[part];
    }
    return task;
  }

  [[nodiscard]] KernelCode ComputeKernel(LaneIndex lane, std::int64_t duration_ps) const {
    const workload::Program& program = ProgramOf(lanes_[lane]);
    const workload::PartId part = program.tasks.part[TaskOf(lanes_[lane])];
    if (part == workload::kNone) {
      return 0;
    }
    return CodeOf(ComputeTask{.operation = program.parts.operation[part],
                              .alone_ps = duration_ps,
                              .memory_share = program.parts.memory_share[part],
                              .compute_share = program.parts.compute_share[part]});
  }

  void Push(std::int64_t at_ps, EventKind kind, std::uint32_t subject, std::uint32_t version) {
    events_.push({at_ps, num_pushed_++, subject, version, kind});
  }

  void PushArrival(std::int64_t at_ps, LaneIndex lane) {
    if (at_ps == now_ps_) {
      arrivals_.push_back(lane);
    } else {
      Push(at_ps, EventKind::kArrival, lane, 0);
    }
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

  // Transfers without lanes, for which no task waits.
  void BeginTraffic() {
    for (std::size_t i = 0; traffic_ != nullptr && i < traffic_->size(); ++i) {
      const TransferId transfer = NewTransfer();
      transfers_[transfer].traffic = &(*traffic_)[i].uses;
      transfers_[transfer].cost.duration_ps = (*traffic_)[i].duration_ps;
      timeline_.traffic_end_ps.push_back(0);
      Push(0, EventKind::kTransferBegin, transfer, 0);
    }
  }

  void Handle(const Event& event) {
    switch (event.kind) {
      case EventKind::kArrival:
        arrivals_.push_back(event.subject);
        break;
      case EventKind::kRoom:
        if (event.version == occupants_[event.subject].num_arrivals &&
            !occupants_[event.subject].has_room) {
          LeaveQueue(event.subject);
        }
        break;
      case EventKind::kEnd:
        if (event.version == occupants_[event.subject].progress.version) {
          EndWork(event.subject);
        }
        break;
      case EventKind::kTransferBegin:
        transfers_[event.subject].is_due = true;
        BeginWhenComplete(event.subject);
        break;
      case EventKind::kTransferEnd:
        if (event.version == transfers_[event.subject].progress.version) {
          EndTransfer(event.subject);
        }
        break;
    }
  }

  // Computing tasks go first: communication waits for an event of another stream before it can
  // follow a kernel, so that the next kernel is there before it.
  void AdmitArrivals() {
    if (!knows_pairs_) {
      AdmitAll();
      return;
    }
    for (const bool is_communication : {false, true}) {
      for (const LaneIndex lane : arrivals_) {
        if (occupants_[lane].task.is_communication == is_communication) {
          Admit(lane);
        }
      }
    }
    arrivals_.clear();
  }

  void AdmitAll() {
    for (const LaneIndex lane : arrivals_) {
      occupants_[lane].arrived_ps = now_ps_;
      Enter(lane);
    }
    arrivals_.clear();
  }

  void Admit(LaneIndex lane) {
    Occupant& occupant = occupants_[lane];
    GpuState& gpu = gpus_[lanes_[lane].rank_class];
    occupant.arrived_ps = now_ps_;
    ++occupant.num_arrivals;
    const std::int64_t delay_ps = DelayPs(gpu, occupant.task);
    if (delay_ps == 0) {
      Enter(lane);
      return;
    }
    occupant.has_room = false;
    gpu.queued.push_back(lane);
    Push(now_ps_ + delay_ps, EventKind::kRoom, lane, occupant.num_arrivals);
  }

  [[nodiscard]] std::int64_t DelayPs(const GpuState& gpu, const RunningTask& arriving) {
    if (gpu.running.empty()) {
      return 0;
    }
    running_.clear();
    running_ps_.clear();
    for (const LaneIndex lane : gpu.running) {
      running_.push_back(occupants_[lane].task);
      running_ps_.push_back(now_ps_ - occupants_[lane].entered_ps);
    }
    return rates_.DelayPs(arriving, running_, running_ps_);
  }

  // Those that wait for what has gone by now.
  void AdmitQueued() {
    // By index: what enters may end at once, which adds GPUs.
    // NOLINTNEXTLINE(modernize-loop-convert)
    for (std::size_t i = 0; i < left_gpus_.size(); ++i) {
      const GpuState& gpu = gpus_[left_gpus_[i]];
      for (const LaneIndex lane : std::vector<LaneIndex>(gpu.queued)) {
        if (!HasAny(gpu, !occupants_[lane].task.is_communication)) {
          LeaveQueue(lane);
        }
      }
    }
    left_gpus_.clear();
  }

  [[nodiscard]] bool HasAny(const GpuState& gpu, bool is_communication) const {
    return std::ranges::any_of(gpu.running, [&](LaneIndex lane) {
      return occupants_[lane].task.is_communication == is_communication;
    });
  }

  void LeaveQueue(LaneIndex lane) {
    std::erase(gpus_[lanes_[lane].rank_class].queued, lane);
    Enter(lane);
  }

  void Enter(LaneIndex lane) {
    std::vector<LaneIndex>& running = gpus_[lanes_[lane].rank_class].running;
    running.insert(std::lower_bound(running.begin(), running.end(), lane), lane);
    Occupant& occupant = occupants_[lane];
    occupant.progress.Start(now_ps_, occupant.duration_ps);
    occupant.entered_ps = now_ps_;
    occupant.has_room = true;
    MarkDirty(lanes_[lane].rank_class);
    if (occupant.task.is_communication && occupant.transfer != kNoTransfer) {
      --transfers_[occupant.transfer].num_missing;
      BeginWhenComplete(occupant.transfer);
    }
  }

  // Later in this instant, when all that arrives now has.
  void BeginWhenComplete(TransferId transfer) {
    if (transfers_[transfer].is_due && transfers_[transfer].num_missing == 0) {
      complete_transfers_.push_back(transfer);
    }
  }

  void BeginTransfers() {
    for (const TransferId transfer : complete_transfers_) {
      BeginTransfer(transfer);
    }
    complete_transfers_.clear();
  }

  void Leave(LaneIndex lane) {
    std::vector<LaneIndex>& running = gpus_[lanes_[lane].rank_class].running;
    running.erase(std::lower_bound(running.begin(), running.end(), lane));
    MarkDirty(lanes_[lane].rank_class);
    if (!gpus_[lanes_[lane].rank_class].queued.empty()) {
      left_gpus_.push_back(lanes_[lane].rank_class);
    }
  }

  // `began_ps`: when it had room, or when all had.
  void NoteIfDelayed(LaneIndex lane, std::int64_t began_ps, std::int64_t alone_ps,
                     std::int64_t contended_ps = 0) {
    const std::int64_t delayed_ps = occupants_[lane].entered_ps - occupants_[lane].arrived_ps;
    if (delayed_ps > 0 || now_ps_ - began_ps != alone_ps) {
      timeline_.delayed.push_back({IndexOf(lane), alone_ps, delayed_ps, contended_ps});
    }
  }

  void MarkDirty(RankClassId rank_class) {
    if (!gpus_[rank_class].is_dirty) {
      gpus_[rank_class].is_dirty = true;
      dirty_gpus_.push_back(rank_class);
    }
  }

  void MarkTransferDirty(TransferId transfer) {
    if (!transfers_[transfer].is_dirty) {
      transfers_[transfer].is_dirty = true;
      dirty_transfers_.push_back(transfer);
    }
  }

  void EndWork(LaneIndex lane) {
    NoteIfDelayed(lane, occupants_[lane].entered_ps, occupants_[lane].duration_ps);
    Leave(lane);
    Complete(lane, now_ps_);
    Wake(lane);
  }

  void BeginTransfer(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    state.progress.Start(now_ps_, state.cost.duration_ps, kFullTransferRate);
    state.begun_ps = now_ps_;
    state.must_count = true;
    state.own_rate = 0;
    state.contended_ps = 0;
    MarkTransferDirty(transfer);
    TakeLinks(transfer);
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      occupants_[lane].task.is_waiting = false;
      occupants_[lane].task.side = state.cost.side;
      timeline_.transfer_ps[IndexOf(lane)] = now_ps_;
      MarkDirty(lanes_[lane].rank_class);
    }
  }

  // Transfers that take no time need no links.
  void TakeLinks(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    state.flow = kNoFlow;
    if (!sharing_ || state.cost.duration_ps == 0) {
      return;
    }
    Result<network::FlowRow> flow = state.traffic != nullptr
                                        ? sharing_->Begin(*state.traffic)
                                        : sharing_->Begin(state.group, state.row);
    if (!flow) {
      error_ = std::move(flow).error();
      return;
    }
    state.flow = *flow;
    if (transfer_of_flow_.size() <= *flow) {
      transfer_of_flow_.resize(*flow + 1, kNoTransfer);
    }
    transfer_of_flow_[*flow] = transfer;
  }

  void EndTransfer(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    ++state.progress.version;
    state.AddContended(now_ps_);
    if (state.flow != kNoFlow) {
      sharing_->End(state.flow);
      transfer_of_flow_[state.flow] = kNoTransfer;
    }
    if (state.traffic != nullptr) {
      timeline_.traffic_end_ps[transfer] = now_ps_;  // the first transfers are traffic
      return;
    }
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      NoteIfDelayed(lane, state.begun_ps, state.cost.duration_ps, state.contended_ps);
      Leave(lane);
      Complete(lane, now_ps_);
      Wake(lane);
    }
    free_transfers_.push_back(transfer);
  }

  void RefreshRates() {
    for (const RankClassId rank_class : dirty_gpus_) {
      gpus_[rank_class].is_dirty = false;
      RefreshGpu(gpus_[rank_class]);
    }
    dirty_gpus_.clear();
    for (const TransferId transfer : dirty_transfers_) {
      RefreshSlowest(transfers_[transfer]);
    }
    ShareLinks();
    for (const TransferId transfer : dirty_transfers_) {
      transfers_[transfer].is_dirty = false;
      RefreshTransfer(transfer);
    }
    dirty_transfers_.clear();
  }

  void RefreshGpu(const GpuState& gpu) {
    if (gpu.running.size() == 1) {
      SetRate(gpu.running.front(), kFullRate);  // alone
      return;
    }
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

  void RefreshSlowest(TransferState& state) {
    if (state.must_count) {
      CountSlowest(state);
    }
    if (state.flow != kNoFlow) {
      sharing_->SetCap(state.flow, static_cast<double>(state.slowest) / kFullRate);
    }
  }

  // Transfers whose share of a link changes need a new rate.
  void ShareLinks() {
    if (!sharing_) {
      return;
    }
    for (const network::FairFilling::Filled& filled : sharing_->Refill()) {
      const TransferId transfer = transfer_of_flow_[filled.flow];
      if (transfer != kNoTransfer) {
        MarkTransferDirty(transfer);
      }
    }
  }

  // A transfer is as fast as the slowest of its members, and as its links.
  void RefreshTransfer(TransferId transfer) {
    TransferState& state = transfers_[transfer];
    const std::int64_t own_rate = state.slowest * kPartsOfRate;
    const std::int64_t rate = std::min(own_rate, LinkRate(state));
    if (state.progress.rate != rate || state.own_rate != own_rate) {
      const std::int64_t end_ps = state.Change(now_ps_, own_rate, rate);
      Push(end_ps, EventKind::kTransferEnd, transfer, state.progress.version);
    }
  }

  // The rate that links leave to a transfer. A speed that is the cap but for rounding is the cap.
  [[nodiscard]] std::int64_t LinkRate(const TransferState& state) const {
    if (state.flow == kNoFlow) {
      return kFullTransferRate;
    }
    const double speed = sharing_->SpeedOf(state.flow) * (1 + 1e-12);
    return std::max<std::int64_t>(
        1, static_cast<std::int64_t>(speed * static_cast<double>(kFullTransferRate)));
  }

  void CountSlowest(TransferState& state) const {
    state.must_count = false;
    state.slowest = state.traffic != nullptr ? kFullRate : kFullRate + 1;
    for (LaneIndex lane = state.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      const std::int64_t rate = occupants_[lane].progress.rate;
      state.num_slowest = rate < state.slowest ? 1 : state.num_slowest + (rate == state.slowest);
      state.slowest = std::min(state.slowest, rate);
    }
  }

  const RateModel& rates_;
  bool knows_pairs_;
  std::int64_t now_ps_ = 0;
  std::uint64_t num_pushed_ = 0;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::vector<Occupant> occupants_;  // by lane
  std::vector<GpuState> gpus_;       // by rank class
  std::vector<TransferState> transfers_;
  std::vector<TransferId> free_transfers_;
  std::optional<LinkSharing> sharing_;
  const std::vector<LinkTraffic>* traffic_ = nullptr;
  std::vector<TransferId> transfer_of_flow_;
  std::vector<LaneIndex> arrivals_;             // of this instant
  std::vector<TransferId> complete_transfers_;  // that begin in this instant
  std::vector<RankClassId> left_gpus_;          // that something has left while others wait for it
  std::vector<RankClassId> dirty_gpus_;
  std::vector<TransferId> dirty_transfers_;
  std::vector<RunningTask> running_;
  std::vector<std::int64_t> running_ps_;
  std::vector<double> new_rates_;
};

}  // namespace

Result<Timeline> SimulateInTimeOrder(const RankClasses& rank_classes, CommunicationTimes& times,
                                     const EngineOptions& options) {
  return TimedEngine(rank_classes, times, options).Run();
}

}  // namespace orrery::simulate
