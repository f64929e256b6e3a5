#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/compiled_program.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/jitter.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/simulate/engine/pending_collectives.h"

namespace orrery::simulate {

/// A lane of a rank class; works on one task at a time.
struct LaneState {
  const workload::TaskId* tasks = nullptr;
  std::uint32_t num_tasks = 0;
  std::uint32_t next = 0;  // in this repetition
  std::uint32_t repetition = 0;
  RankClassId rank_class = 0;
  std::int64_t free_ps = 0;  // when the next task may begin
  std::int64_t gap_ps = 0;
  LaneIndex next_pending_lane = kNoLane;
  bool is_busy = false;
  bool is_stream = false;
  bool has_parked = false;  // launches wait for a place in its queue

  /// The number of tasks that have begun.
  [[nodiscard]] std::uint64_t NumBegun() const {
    return static_cast<std::uint64_t>(repetition) * num_tasks + next + (is_busy ? 1 : 0);
  }
};

struct RankClassState {
  const CompiledProgram* compiled = nullptr;
  std::size_t first = 0;  // index of its first task
  LaneIndex first_lane = 0;
};

/// The common part of all engines: the rules of when a task begins. A Driver decides when it ends:
///   Work(lane, begin_ps, duration_ps)  something begins that takes so long when it is alone
///   End(lane, end_ps)                  the end of what a lane does is known
///   Arrive(lane, begin_ps)             a member of a group begins to wait
///   Transfer(group, pending, begin_ps, cost)  all members are there
template <typename Driver>
class TaskScheduler {
 protected:
  // NOLINTNEXTLINE(bugprone-crtp-constructor-accessibility): engines inherit it, no one else
  TaskScheduler(const RankClasses& rank_classes, CommunicationTimes& times,
                const EngineOptions& options)
      : rank_classes_(rank_classes),
        options_(options),
        times_(rank_classes, times, options.rates != nullptr && options.rates->KnowsPairs()),
        pending_(rank_classes.groups.size()) {
    if (options.jitter > 0 && rank_classes.IsFolded()) {
      delay_.emplace(rank_classes, options.jitter);
    }
    PrepareClasses();
    PrepareTasks();
  }

  void WakeAll() {
    for (auto lane = static_cast<LaneIndex>(lanes_.size()); lane > 0; --lane) {
      work_.push_back(lane - 1);
    }
    Drain();
  }

  void Wake(LaneIndex lane) { work_.push_back(lane); }

  /// Starts all that may start.
  void Drain() {
    while (!work_.empty() && !error_) {
      const LaneIndex lane = work_.back();
      work_.pop_back();
      while (TryStart(lane)) {
      }
    }
  }

  /// Ends what a lane does and releases what waits for it. Does not wake the lane itself.
  void Complete(LaneIndex lane_index, std::int64_t end_ps) {
    LaneState& lane = lanes_[lane_index];
    const RankClassState& rank_class = classes_[lane.rank_class];
    const workload::TaskId task = lane.tasks[lane.next];
    const std::size_t first = FirstOf(rank_class, lane.repetition);
    if (end_ps > kLongestPs) {
      error_ = TooLong();
    }
    timeline_.end_ps[first + task] = end_ps;
    ++timeline_.num_events;
    lane.free_ps = end_ps + lane.gap_ps;
    lane.is_busy = false;
    if (++lane.next == lane.num_tasks) {
      lane.next = 0;
      ++lane.repetition;
    }
    Release(rank_class, first, task, end_ps);
  }

  [[nodiscard]] bool IsAtEnd(const LaneState& lane) const {
    return lane.num_tasks == 0 ||
           lane.repetition >= static_cast<std::uint32_t>(options_.repetitions);
  }

  [[nodiscard]] workload::TaskId TaskOf(const LaneState& lane) const {
    return lane.tasks[lane.next];
  }

  [[nodiscard]] const workload::Program& ProgramOf(const LaneState& lane) const {
    return classes_[lane.rank_class].compiled->program();
  }

  /// The index of what a lane does now.
  [[nodiscard]] std::size_t IndexOf(LaneIndex lane) const {
    return FirstOf(classes_[lanes_[lane].rank_class], lanes_[lane].repetition) +
           TaskOf(lanes_[lane]);
  }

  /// The cost of the communication that a lane is about to begin; nothing where it has no group.
  [[nodiscard]] TransferCost OwnCost(LaneIndex lane) {
    const workload::Program& program = ProgramOf(lanes_[lane]);
    const workload::Communications::Row row =
        program.communications.At(program.tasks.communication[TaskOf(lanes_[lane])]);
    return times_.CostOf(rank_classes_.GroupOf(lanes_[lane].rank_class, row.role), row)
        .value_or(TransferCost{});
  }

  [[nodiscard]] Result<Timeline> Finish() {
    if (error_) {
      return tl::unexpected(*std::move(error_));
    }
    if (static_cast<std::size_t>(timeline_.num_events) != timeline_.end_ps.size()) {
      return tl::unexpected(StuckError());
    }
    return std::move(timeline_);
  }

  const RankClasses& rank_classes_;
  std::vector<LaneState> lanes_;
  std::vector<RankClassState> classes_;
  std::optional<Error> error_;
  Timeline timeline_;

 private:
  struct Parked {
    LaneIndex launching = 0;
    LaneIndex stream = 0;
    std::uint64_t place = 0;  // the task of the stream whose begin ends the launch
    std::int64_t end_ps = 0;  // not before
  };

  void PrepareClasses() {
    compiled_programs_.reserve(rank_classes_.programs.size());
    for (const workload::Program* program : rank_classes_.programs) {
      compiled_programs_.emplace_back(*program);
    }
    timeline_.repetitions = options_.repetitions;
    std::size_t first = 0;
    for (const RankClass& rank_class : rank_classes_.classes) {
      const CompiledProgram& compiled = compiled_programs_[rank_class.program];
      classes_.push_back({&compiled, first, static_cast<LaneIndex>(lanes_.size())});
      timeline_.offsets.push_back(first);
      first += static_cast<std::size_t>(compiled.num_tasks()) *
               static_cast<std::size_t>(options_.repetitions);
      AddLanes(compiled);
    }
    timeline_.offsets.push_back(first);
    parked_of_class_.resize(classes_.size());
  }

  void AddLanes(const CompiledProgram& compiled) {
    for (workload::LaneId lane = 0; lane < compiled.num_lanes(); ++lane) {
      const auto tasks = compiled.TasksOf(lane);
      lanes_.push_back(
          {.tasks = tasks.data(),
           .num_tasks = static_cast<std::uint32_t>(tasks.size()),
           .rank_class = static_cast<RankClassId>(classes_.size() - 1),
           .gap_ps = compiled.program().lanes.gap_ps[lane],
           .is_stream = compiled.program().lanes.kind[lane] == workload::LaneKind::kStream});
    }
  }

  void PrepareTasks() {
    const std::size_t num_tasks = timeline_.offsets.back();
    timeline_.begin_ps.assign(num_tasks, 0);
    timeline_.end_ps.assign(num_tasks, 0);
    timeline_.transfer_ps.assign(num_tasks, kNeverPs);
    waits_.reserve(num_tasks);
    for (const RankClassState& rank_class : classes_) {
      const auto waits = rank_class.compiled->waits();
      for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
        waits_.insert(waits_.end(), waits.begin(), waits.end());
      }
    }
  }

  [[nodiscard]] static std::size_t FirstOf(const RankClassState& rank_class,
                                           std::uint32_t repetition) {
    return rank_class.first +
           static_cast<std::size_t>(repetition) * rank_class.compiled->num_tasks();
  }

  // Begins the next task of a lane if it may begin. Until then `begin_ps` has what predecessors
  // demand.
  bool TryStart(LaneIndex lane_index) {
    LaneState& lane = lanes_[lane_index];
    if (lane.is_busy || IsAtEnd(lane)) {
      return false;
    }
    const RankClassState& rank_class = classes_[lane.rank_class];
    const workload::TaskId task = lane.tasks[lane.next];
    const std::size_t index = FirstOf(rank_class, lane.repetition) + task;
    if (waits_[index] > 0) {
      return false;
    }
    const std::int64_t begin_ps = std::max(lane.free_ps, timeline_.begin_ps[index]);
    timeline_.begin_ps[index] = begin_ps;
    lane.is_busy = true;
    if (lane.has_parked) {
      WakeParked(lane_index, begin_ps);
    }
    Begin(lane_index, task, index, begin_ps);
    return true;
  }

  void Begin(LaneIndex lane_index, workload::TaskId task, std::size_t index,
             std::int64_t begin_ps) {
    const LaneState& lane = lanes_[lane_index];
    const workload::Program& program = ProgramOf(lane);
    const workload::CommunicationId communication = program.tasks.communication[task];
    if (communication != workload::kNone) {
      const GroupClassId group =
          rank_classes_.GroupOf(lane.rank_class, program.communications.role[communication]);
      if (group != workload::kNoGroup) {
        Join(lane_index, group, begin_ps);
        return;
      }
    }
    std::int64_t duration_ps = program.tasks.duration_ps[task];
    if (program.tasks.kind[task] == workload::TaskKind::kKernel) {
      duration_ps = KernelPs(lane, index, duration_ps);
    } else if (classes_[lane.rank_class].compiled->KernelOf(task) != workload::kNone) {
      EndLaunch(lane_index, task, begin_ps + duration_ps);
      return;
    }
    driver().Work(lane_index, begin_ps, duration_ps);
  }

  [[nodiscard]] std::int64_t KernelPs(const LaneState& lane, std::size_t index,
                                      std::int64_t duration_ps) const {
    const RankClass& rank_class = rank_classes_.classes[lane.rank_class];
    if (rank_class.slowness == 1.0 && (options_.jitter <= 0 || delay_)) {
      return duration_ps;
    }
    double factor = rank_class.slowness;
    if (options_.jitter > 0 && !delay_) {
      factor *= DrawFactor(options_.jitter, options_.seed, rank_class.rank,
                           index - classes_[lane.rank_class].first);
    }
    constexpr auto kMost = static_cast<double>(kLongestPs);
    return std::llround(std::min(static_cast<double>(duration_ps) * factor, 2 * kMost));
  }

  // A launch ends when the stream has room for what it hands over.
  void EndLaunch(LaneIndex lane_index, workload::TaskId task, std::int64_t end_ps) {
    const LaneState& lane = lanes_[lane_index];
    const RankClassState& rank_class = classes_[lane.rank_class];
    const workload::TaskId kernel = rank_class.compiled->KernelOf(task);
    const LaneIndex stream_index = rank_class.first_lane + rank_class.compiled->LaneOf(kernel);
    LaneState& stream = lanes_[stream_index];
    const std::uint64_t place = static_cast<std::uint64_t>(lane.repetition) * stream.num_tasks +
                                rank_class.compiled->PlaceOf(kernel);
    const auto queue_depth = static_cast<std::uint64_t>(options_.queue_depth);
    if (place < queue_depth) {
      driver().End(lane_index, end_ps);
    } else if (place - queue_depth < stream.NumBegun()) {
      driver().End(lane_index, std::max(end_ps, BeginAt(stream, place - queue_depth)));
    } else {
      parked_of_class_[lane.rank_class].push_back(
          {lane_index, stream_index, place - queue_depth, end_ps});
      stream.has_parked = true;
    }
  }

  [[nodiscard]] std::int64_t BeginAt(const LaneState& lane, std::uint64_t place) const {
    const auto repetition = static_cast<std::uint32_t>(place / lane.num_tasks);
    return timeline_.begin_ps[FirstOf(classes_[lane.rank_class], repetition) +
                              lane.tasks[place % lane.num_tasks]];
  }

  void WakeParked(LaneIndex stream_index, std::int64_t begin_ps) {
    LaneState& stream = lanes_[stream_index];
    stream.has_parked = false;
    std::vector<Parked>& all = parked_of_class_[stream.rank_class];
    for (std::size_t i = 0; i < all.size();) {
      const Parked parked = all[i];
      if (parked.stream != stream_index || parked.place >= stream.NumBegun()) {
        stream.has_parked = stream.has_parked || parked.stream == stream_index;
        ++i;
        continue;
      }
      all[i] = all.back();
      all.pop_back();
      driver().End(parked.launching, std::max(parked.end_ps, begin_ps));
      Wake(parked.launching);
    }
  }

  void Join(LaneIndex lane_index, GroupClassId group, std::int64_t begin_ps) {
    const LaneState& lane = lanes_[lane_index];
    const CompiledProgram& compiled = *classes_[lane.rank_class].compiled;
    const workload::TaskId task = TaskOf(lane);
    const workload::CommunicationId communication = compiled.program().tasks.communication[task];
    const std::uint32_t role = compiled.program().communications.role[communication];
    const std::uint64_t turn =
        static_cast<std::uint64_t>(lane.repetition) * compiled.TurnsOn(role) +
        compiled.TurnOf(task);
    driver().Arrive(lane_index, begin_ps);
    Result<PendingCollective*> joined = pending_.Join({.rank_classes = &rank_classes_,
                                                       .group = group,
                                                       .turn = turn,
                                                       .rank_class = lane.rank_class,
                                                       .task = task,
                                                       .begin_ps = begin_ps});
    if (!joined) {
      error_ = std::move(joined).error();
      return;
    }
    PendingCollective& pending = **joined;
    lanes_[lane_index].next_pending_lane = std::exchange(pending.first_lane, lane_index);
    if (delay_) {
      pending.squares = std::max(pending.squares, delay_->SquaresBefore(lane.rank_class, task));
    }
    if (pending.num_arrived == rank_classes_.groups[group].num_members) {
      StartTransfer(group, turn);
    }
  }

  void StartTransfer(GroupClassId group, std::uint64_t turn) {
    const PendingCollective pending = pending_.Take(group, turn);
    Result<TransferCost> cost = times_.CostOf(group, pending.row);
    if (!cost) {
      error_ = std::move(cost).error();
      return;
    }
    std::int64_t begin_ps = pending.latest_ps;
    if (delay_) {
      begin_ps += delay_->DelayPs(group, pending.squares);
    }
    for (LaneIndex lane = pending.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_pending_lane) {
      timeline_.transfer_ps[IndexOf(lane)] = begin_ps;
    }
    driver().Transfer(group, pending, begin_ps, *cost);
  }

  void Release(const RankClassState& rank_class, std::size_t first, workload::TaskId task,
               std::int64_t end_ps) {
    const workload::Successors& successors = rank_class.compiled->successors();
    for (std::uint32_t i = successors.offsets[task]; i < successors.offsets[task + 1]; ++i) {
      const workload::TaskId target = successors.targets[i];
      std::int64_t& ready_ps = timeline_.begin_ps[first + target];
      ready_ps = std::max(ready_ps, end_ps + successors.lags_ps[i]);
      if (--waits_[first + target] == 0) {
        Wake(rank_class.first_lane + rank_class.compiled->LaneOf(target));
      }
    }
  }

  [[nodiscard]] static Error TooLong() {
    return {Error::Kind::kLimit,
            "the step takes longer than six days, for which times in picoseconds have no room: a "
            "rank, a link or a GPU of the job is too slow"};
  }

  [[nodiscard]] Error StuckError() const {
    std::vector<StuckTask> stuck;
    for (const LaneState& lane : lanes_) {
      if (!IsAtEnd(lane)) {
        stuck.push_back({lane.rank_class, TaskOf(lane), lane.is_busy});
      }
    }
    return NeverEnds(rank_classes_, stuck);
  }

  Driver& driver() { return static_cast<Driver&>(*this); }

  EngineOptions options_;
  TransferTimes times_;
  PendingCollectives pending_;
  std::optional<ExpectedDelay> delay_;
  std::vector<CompiledProgram> compiled_programs_;
  std::vector<std::uint32_t> waits_;  // predecessors that are not done
  std::vector<std::vector<Parked>> parked_of_class_;
  std::vector<LaneIndex> work_;
};

/// Simulates in order of time, with rates that change when the set of tasks on a GPU or of
/// transfers on a link changes; see Simulate, which calls it.
[[nodiscard]] Result<Timeline> SimulateInTimeOrder(const RankClasses& rank_classes,
                                                   CommunicationTimes& times,
                                                   const EngineOptions& options);

}  // namespace orrery::simulate
