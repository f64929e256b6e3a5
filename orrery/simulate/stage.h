#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/gatherings.h"
#include "orrery/simulate/jitter.h"
#include "orrery/simulate/play.h"
#include "orrery/simulate/score.h"
#include "orrery/simulate/transfer_times.h"

namespace orrery::simulate {

/// A lane of a player; works on one task at a time.
struct LaneState {
  const workload::TaskId* tasks = nullptr;
  std::uint32_t num_tasks = 0;
  std::uint32_t next = 0;  // in this repetition
  std::uint32_t repetition = 0;
  PlayerId player = 0;
  std::int64_t free_ps = 0;  // when the next task may begin
  std::int64_t gap_ps = 0;
  LaneIndex next_in_gathering = kNoLane;
  bool is_busy = false;
  bool is_stream = false;
  bool has_parked = false;  // launches wait for a place in its queue

  /// How many tasks have begun.
  [[nodiscard]] std::uint64_t NumBegun() const {
    return static_cast<std::uint64_t>(repetition) * num_tasks + next + (is_busy ? 1 : 0);
  }
};

struct PlayerState {
  const Score* score = nullptr;
  std::size_t first = 0;  // index of its first task
  LaneIndex first_lane = 0;
};

/// What plays have in common, whatever the order in which they look at tasks: the rules of when a
/// task begins. A Driver decides when it ends:
///   Work(lane, begin_ps, duration_ps)  something begins that takes so long when it is alone
///   End(lane, end_ps)                  the end of what a lane does is known
///   Arrive(lane, begin_ps)             a member of a group begins to wait
///   Transfer(gathering, begin_ps, cost)  all members are there
template <typename Driver>
class Stage {
 protected:
  Stage(const Cast& cast, CommunicationTimes& times, const PlayOptions& options)
      : cast_(cast),
        options_(options),
        times_(cast, times, options.rates != nullptr && options.rates->KnowsPairs()),
        gatherings_(cast.groups.size()) {
    if (options.jitter > 0 && cast.IsFolded()) {
      delay_.emplace(cast, options.jitter);
    }
    PreparePlayers();
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
    const PlayerState& player = players_[lane.player];
    const workload::TaskId task = lane.tasks[lane.next];
    const std::size_t first = FirstOf(player, lane.repetition);
    performance_.end_ps[first + task] = end_ps;
    ++performance_.num_events;
    lane.free_ps = end_ps + lane.gap_ps;
    lane.is_busy = false;
    if (++lane.next == lane.num_tasks) {
      lane.next = 0;
      ++lane.repetition;
    }
    Release(player, first, task, end_ps);
  }

  [[nodiscard]] bool IsAtEnd(const LaneState& lane) const {
    return lane.num_tasks == 0 ||
           lane.repetition >= static_cast<std::uint32_t>(options_.repetitions);
  }

  [[nodiscard]] workload::TaskId TaskOf(const LaneState& lane) const {
    return lane.tasks[lane.next];
  }

  [[nodiscard]] const workload::Program& ProgramOf(const LaneState& lane) const {
    return players_[lane.player].score->program();
  }

  /// The index of what a lane does now.
  [[nodiscard]] std::size_t IndexOf(LaneIndex lane) const {
    return FirstOf(players_[lanes_[lane].player], lanes_[lane].repetition) + TaskOf(lanes_[lane]);
  }

  /// What the communication costs that a lane is about to begin; nothing where it has no group.
  [[nodiscard]] TransferCost OwnCost(LaneIndex lane) {
    const workload::Program& program = ProgramOf(lanes_[lane]);
    const workload::Communications::Row row =
        program.communications.At(program.tasks.communication[TaskOf(lanes_[lane])]);
    return times_.CostOf(cast_.GroupOf(lanes_[lane].player, row.slot), row)
        .value_or(TransferCost{});
  }

  [[nodiscard]] Result<Performance> Finish() {
    if (error_) {
      return tl::unexpected(*std::move(error_));
    }
    if (static_cast<std::size_t>(performance_.num_events) != performance_.end_ps.size()) {
      return tl::unexpected(StuckError());
    }
    return std::move(performance_);
  }

  const Cast& cast_;
  std::vector<LaneState> lanes_;
  std::vector<PlayerState> players_;
  std::optional<Error> error_;
  Performance performance_;

 private:
  struct Parked {
    LaneIndex launching = 0;
    LaneIndex stream = 0;
    std::uint64_t place = 0;  // the task of the stream whose begin ends the launch
    std::int64_t end_ps = 0;  // not before
  };

  void PreparePlayers() {
    scores_.reserve(cast_.programs.size());
    for (const workload::Program* program : cast_.programs) {
      scores_.emplace_back(*program);
    }
    performance_.repetitions = options_.repetitions;
    std::size_t first = 0;
    for (const Player& player : cast_.players) {
      const Score& score = scores_[player.program];
      players_.push_back({&score, first, static_cast<LaneIndex>(lanes_.size())});
      performance_.offsets.push_back(first);
      first += static_cast<std::size_t>(score.num_tasks()) *
               static_cast<std::size_t>(options_.repetitions);
      AddLanes(score);
    }
    performance_.offsets.push_back(first);
    parked_of_player_.resize(players_.size());
  }

  void AddLanes(const Score& score) {
    for (workload::LaneId lane = 0; lane < score.num_lanes(); ++lane) {
      const auto tasks = score.TasksOf(lane);
      lanes_.push_back(
          {.tasks = tasks.data(),
           .num_tasks = static_cast<std::uint32_t>(tasks.size()),
           .player = static_cast<PlayerId>(players_.size() - 1),
           .gap_ps = score.program().lanes.gap_ps[lane],
           .is_stream = score.program().lanes.kind[lane] == workload::LaneKind::kStream});
    }
  }

  void PrepareTasks() {
    const std::size_t num_tasks = performance_.offsets.back();
    performance_.begin_ps.assign(num_tasks, 0);
    performance_.end_ps.assign(num_tasks, 0);
    performance_.transfer_ps.assign(num_tasks, kNeverPs);
    waits_.reserve(num_tasks);
    for (const PlayerState& player : players_) {
      const auto waits = player.score->waits();
      for (int repetition = 0; repetition < options_.repetitions; ++repetition) {
        waits_.insert(waits_.end(), waits.begin(), waits.end());
      }
    }
  }

  [[nodiscard]] static std::size_t FirstOf(const PlayerState& player, std::uint32_t repetition) {
    return player.first + static_cast<std::size_t>(repetition) * player.score->num_tasks();
  }

  // Begins the next task of a lane if it may begin. Until then `begin_ps` has what predecessors
  // demand.
  bool TryStart(LaneIndex lane_index) {
    LaneState& lane = lanes_[lane_index];
    if (lane.is_busy || IsAtEnd(lane)) {
      return false;
    }
    const PlayerState& player = players_[lane.player];
    const workload::TaskId task = lane.tasks[lane.next];
    const std::size_t index = FirstOf(player, lane.repetition) + task;
    if (waits_[index] > 0) {
      return false;
    }
    const std::int64_t begin_ps = std::max(lane.free_ps, performance_.begin_ps[index]);
    performance_.begin_ps[index] = begin_ps;
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
      const CastGroupId group =
          cast_.GroupOf(lane.player, program.communications.slot[communication]);
      if (group != workload::kNoGroup) {
        Join(lane_index, group, begin_ps);
        return;
      }
    }
    std::int64_t duration_ps = program.tasks.duration_ps[task];
    if (program.tasks.kind[task] == workload::TaskKind::kKernel) {
      duration_ps = KernelPs(lane, index, duration_ps);
    } else if (players_[lane.player].score->KernelOf(task) != workload::kNone) {
      EndLaunch(lane_index, task, begin_ps + duration_ps);
      return;
    }
    driver().Work(lane_index, begin_ps, duration_ps);
  }

  [[nodiscard]] std::int64_t KernelPs(const LaneState& lane, std::size_t index,
                                      std::int64_t duration_ps) const {
    const Player& player = cast_.players[lane.player];
    if (player.slowness == 1.0 && (options_.jitter <= 0 || delay_)) {
      return duration_ps;
    }
    double factor = player.slowness;
    if (options_.jitter > 0 && !delay_) {
      factor *= DrawFactor(options_.jitter, options_.seed, player.rank,
                           index - players_[lane.player].first);
    }
    return std::llround(static_cast<double>(duration_ps) * factor);
  }

  // A launch ends when the stream has room for what it hands over.
  void EndLaunch(LaneIndex lane_index, workload::TaskId task, std::int64_t end_ps) {
    const LaneState& lane = lanes_[lane_index];
    const PlayerState& player = players_[lane.player];
    const workload::TaskId kernel = player.score->KernelOf(task);
    const LaneIndex stream_index = player.first_lane + player.score->LaneOf(kernel);
    LaneState& stream = lanes_[stream_index];
    const std::uint64_t place = static_cast<std::uint64_t>(lane.repetition) * stream.num_tasks +
                                player.score->PlaceOf(kernel);
    const auto queue_depth = static_cast<std::uint64_t>(options_.queue_depth);
    if (place < queue_depth) {
      driver().End(lane_index, end_ps);
    } else if (place - queue_depth < stream.NumBegun()) {
      driver().End(lane_index, std::max(end_ps, BeginAt(stream, place - queue_depth)));
    } else {
      parked_of_player_[lane.player].push_back(
          {lane_index, stream_index, place - queue_depth, end_ps});
      stream.has_parked = true;
    }
  }

  [[nodiscard]] std::int64_t BeginAt(const LaneState& lane, std::uint64_t place) const {
    const auto repetition = static_cast<std::uint32_t>(place / lane.num_tasks);
    return performance_
        .begin_ps[FirstOf(players_[lane.player], repetition) + lane.tasks[place % lane.num_tasks]];
  }

  void WakeParked(LaneIndex stream_index, std::int64_t begin_ps) {
    LaneState& stream = lanes_[stream_index];
    stream.has_parked = false;
    std::vector<Parked>& all = parked_of_player_[stream.player];
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

  void Join(LaneIndex lane_index, CastGroupId group, std::int64_t begin_ps) {
    const LaneState& lane = lanes_[lane_index];
    const Score& score = *players_[lane.player].score;
    const workload::TaskId task = TaskOf(lane);
    const workload::CommunicationId communication = score.program().tasks.communication[task];
    const std::uint32_t slot = score.program().communications.slot[communication];
    const std::uint64_t turn =
        static_cast<std::uint64_t>(lane.repetition) * score.TurnsOn(slot) + score.TurnOf(task);
    driver().Arrive(lane_index, begin_ps);
    Result<Gathering*> joined = gatherings_.Join({.cast = &cast_,
                                                  .group = group,
                                                  .turn = turn,
                                                  .player = lane.player,
                                                  .task = task,
                                                  .begin_ps = begin_ps});
    if (!joined) {
      error_ = std::move(joined).error();
      return;
    }
    Gathering& gathering = **joined;
    lanes_[lane_index].next_in_gathering = std::exchange(gathering.first_lane, lane_index);
    if (delay_) {
      gathering.squares = std::max(gathering.squares, delay_->SquaresBefore(lane.player, task));
    }
    if (gathering.num_arrived == cast_.groups[group].num_seats) {
      StartTransfer(group, turn);
    }
  }

  void StartTransfer(CastGroupId group, std::uint64_t turn) {
    const Gathering gathering = gatherings_.Take(group, turn);
    Result<TransferCost> cost = times_.CostOf(group, gathering.row);
    if (!cost) {
      error_ = std::move(cost).error();
      return;
    }
    std::int64_t begin_ps = gathering.latest_ps;
    if (delay_) {
      begin_ps += delay_->DelayPs(group, gathering.squares);
    }
    for (LaneIndex lane = gathering.first_lane; lane != kNoLane;
         lane = lanes_[lane].next_in_gathering) {
      performance_.transfer_ps[IndexOf(lane)] = begin_ps;
    }
    driver().Transfer(gathering.first_lane, begin_ps, *cost);
  }

  void Release(const PlayerState& player, std::size_t first, workload::TaskId task,
               std::int64_t end_ps) {
    const workload::Successors& successors = player.score->successors();
    for (std::uint32_t i = successors.offsets[task]; i < successors.offsets[task + 1]; ++i) {
      const workload::TaskId target = successors.targets[i];
      std::int64_t& ready_ps = performance_.begin_ps[first + target];
      ready_ps = std::max(ready_ps, end_ps + successors.lags_ps[i]);
      if (--waits_[first + target] == 0) {
        Wake(player.first_lane + player.score->LaneOf(target));
      }
    }
  }

  [[nodiscard]] Error StuckError() const {
    std::vector<StuckTask> stuck;
    for (const LaneState& lane : lanes_) {
      if (!IsAtEnd(lane)) {
        stuck.push_back({lane.player, TaskOf(lane), lane.is_busy});
      }
    }
    return NeverEnds(cast_, stuck);
  }

  Driver& driver() { return static_cast<Driver&>(*this); }

  PlayOptions options_;
  TransferTimes times_;
  Gatherings gatherings_;
  std::optional<ExpectedDelay> delay_;
  std::vector<Score> scores_;
  std::vector<std::uint32_t> waits_;  // predecessors that are not done
  std::vector<std::vector<Parked>> parked_of_player_;
  std::vector<LaneIndex> work_;
};

}  // namespace orrery::simulate
