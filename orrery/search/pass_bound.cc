#include "orrery/search/pass_bound.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/search/collective_memo.h"
#include "orrery/search/stage_costs.h"
#include "orrery/search/step_bound.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/block_ops.h"
#include "orrery/workload/generate/data_parallel_communication.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/generate/process_groups.h"
#include "orrery/workload/generate/program_writer.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"
#include "orrery/workload/program.h"

namespace orrery::search {
namespace {

using workload::ChunkPlace;
using workload::GroupRole;
using workload::Job;
using workload::PipelinePass;
using workload::PipelineStep;
using workload::StageUnit;
using workload::TaskId;

constexpr std::size_t kMostShapes = 256;  // that are remembered

/// Stands in for a ProgramWriter: tasks of one rank have no more than an end, which is the earliest
/// one possible.
class PassClock {
 public:
  PassClock(const StagedPlan& plan, int stage) : collectives_(*plan.collectives) {
    for (const GroupRole role : {GroupRole::kData, GroupRole::kExpertData, GroupRole::kReplicas,
                                 GroupRole::kExpertReplicas}) {
      groups_[Index(role)] = &plan.GroupOf(role, stage);
    }
  }

  /// Kernels and communication that run one after the other.
  void Compute(std::int64_t all_ps, std::int64_t until_last_kernel_ps) {
    const std::int64_t begin_ps = std::max(end_ps_, awaited_ps_);
    last_kernel_ps_ = begin_ps + until_last_kernel_ps;
    end_ps_ = begin_ps + all_ps;
    last_compute_ = Add(last_kernel_ps_);
  }

  void AwaitPs(std::int64_t ps) { awaited_ps_ = std::max(awaited_ps_, ps); }

  /// When all that was computed and is awaited has ended.
  [[nodiscard]] std::int64_t end_ps() const { return std::max(end_ps_, awaited_ps_); }

  [[nodiscard]] std::int64_t last_kernel_ps() const { return last_kernel_ps_; }

  // The part of ProgramWriter's interface that DataParallelCommunication needs.
  [[nodiscard]] static std::span<const workload::LayerOp> Prepare(
      std::span<const workload::LayerOp> ops, workload::Phase /*phase*/, int /*chunk*/) {
    return ops;
  }

  TaskId WriteCommunication(const workload::LayerOp& op, TaskId after, int /*microbatch*/) {
    const std::size_t role = Index(op.communication->role);
    std::int64_t& stream_ps = stream_ps_[role];
    stream_ps = std::max(stream_ps, EndOf(after)) +
                collectives_.DurationPs(*op.communication, *groups_[role]);
    return Add(stream_ps);
  }

  void WaitFor(TaskId task) { AwaitPs(EndOf(task)); }

  void WaitAsComputation(TaskId /*communication*/) {}

  void Allocate(TaskId /*task*/, std::string_view /*category*/, std::int64_t /*bytes*/) {}

  void Free(TaskId /*task*/, std::string_view /*category*/, std::int64_t /*bytes*/) {}

  [[nodiscard]] TaskId last_compute() const { return last_compute_; }

 private:
  static std::size_t Index(GroupRole role) { return static_cast<std::size_t>(role); }

  TaskId Add(std::int64_t end_ps) {
    ends_ps_.push_back(end_ps);
    return static_cast<TaskId>(ends_ps_.size() - 1);
  }

  [[nodiscard]] std::int64_t EndOf(TaskId task) const {
    return task == workload::kNone ? 0 : ends_ps_[task];
  }

  CollectiveMemo& collectives_;
  std::array<const PlacedGroup*, workload::kNumGroupRoles> groups_ = {};
  std::array<std::int64_t, workload::kNumGroupRoles> stream_ps_ = {};
  std::vector<std::int64_t> ends_ps_;
  std::int64_t end_ps_ = 0;
  std::int64_t awaited_ps_ = 0;
  std::int64_t last_kernel_ps_ = 0;
  TaskId last_compute_ = workload::kNone;
};

/// Times of a pass through one unit.
struct UnitPass {
  std::int64_t all_ps = 0;
  std::int64_t until_last_kernel_ps = 0;
};

UnitPass PassOf(const UnitTimes& times, bool recomputes, PipelinePass pass) {
  const PassTimes all = times.Of(recomputes, /*waits=*/true);
  const PassTimes& kernels = times.until_last_kernel;
  switch (pass) {
    case PipelinePass::kForward:
      return {all.forward_ps, kernels.forward_ps};
    case PipelinePass::kBackward:
      return {all.again_ps + all.backward_ps, all.again_ps + kernels.backward_ps};
    case PipelinePass::kInputBackward:
      return {all.again_ps + all.input_ps, all.again_ps + kernels.input_ps};
    case PipelinePass::kWeightBackward:
      return {all.weights_ps, all.weights_ps};
  }
  return {};
}

/// One stage, pass by pass, as StageWriter writes its program.
class StageWalk {
 public:
  StageWalk(const StagedPlan& plan, int stage, const std::vector<PipelineStep>& steps)
      : job_(*plan.job),
        units_(plan.units->stages[static_cast<std::size_t>(stage)]),
        times_(*plan.unit_times[static_cast<std::size_t>(stage)]),
        steps_(steps),
        parameters_(workload::StageTensors{&units_, &plan.units->tensors}.Parameters()),
        reduces_each_pass_(workload::ReducesEachPass(job_.plan)),
        shards_parameters_(workload::ShardsParameters(job_.plan)),
        clock_(plan, stage),
        data_(job_, {&units_, &plan.units->tensors}, plan.shape, stage, clock_),
        passes_left_(units_.size(), 0),
        is_first_pass_(units_.size(), true) {
    for (const PipelineStep& step : steps) {
      const bool ends =
          step.pass == PipelinePass::kBackward || step.pass == PipelinePass::kWeightBackward;
      passes_left_[Chunk(step)] += ends ? 1 : 0;
    }
    data_.BeginStep();
  }

  StageWalk(const StageWalk&) = delete;
  StageWalk& operator=(const StageWalk&) = delete;

  [[nodiscard]] bool is_finished() const { return next_ == steps_.size(); }

  [[nodiscard]] const PipelineStep& next() const { return steps_[next_]; }

  [[nodiscard]] PassClock& clock() { return clock_; }

  /// The last kernel of the last pass of a direction.
  std::int64_t& LastPassPs(bool is_forward) { return last_pass_ps_[is_forward ? 0 : 1]; }

  /// Runs the next pass.
  void Advance() {
    const PipelineStep& step = steps_[next_++];
    switch (step.pass) {
      case PipelinePass::kForward:
        Forward(step);
        break;
      case PipelinePass::kBackward:
      case PipelinePass::kInputBackward:
        Backward(step);
        break;
      case PipelinePass::kWeightBackward:
        Weights(step);
        break;
    }
  }

  /// When the step ends.
  [[nodiscard]] std::int64_t Finish() {
    data_.FinishGradients();
    const bool updates = job_.training.optimizer != workload::OptimizerKind::kSkipped;
    if (updates) {
      clock_.Compute(0, 0);
    }
    const bool is_on_host = updates && job_.plan.offload_optimizer;
    const std::int64_t updated_ps =
        is_on_host
            ? clock_.end_ps() + workload::OffloadedUpdatePs(
                                    job_, workload::OwnedParameters(job_.plan, parameters_.trained))
            : 0;
    data_.GatherParameters();
    return std::max(updated_ps, clock_.end_ps());
  }

 private:
  static std::size_t Chunk(const PipelineStep& step) {
    return static_cast<std::size_t>(step.chunk);
  }

  [[nodiscard]] UnitPass PassOfUnit(std::size_t chunk, std::size_t unit, PipelinePass pass) const {
    const StageUnit& own = units_[chunk][unit];
    return PassOf(times_[own.kind], own.recomputes, pass);
  }

  void ComputeUnit(std::size_t chunk, std::size_t unit, PipelinePass pass) {
    const UnitPass own = PassOfUnit(chunk, unit, pass);
    clock_.Compute(own.all_ps, own.until_last_kernel_ps);
  }

  // A pass during which nothing else happens.
  void ComputeAll(std::size_t chunk, PipelinePass pass) {
    const std::size_t count = units_[chunk].size();
    const std::size_t last = pass == PipelinePass::kForward ? count - 1 : 0;
    UnitPass sum;
    for (std::size_t unit = 0; unit < count; ++unit) {
      const UnitPass own = PassOfUnit(chunk, unit, pass);
      sum.all_ps += own.all_ps;
      sum.until_last_kernel_ps += unit == last ? own.until_last_kernel_ps : own.all_ps;
    }
    clock_.Compute(sum.all_ps, sum.until_last_kernel_ps);
  }

  void Forward(const PipelineStep& step) {
    const std::size_t chunk = Chunk(step);
    if (!shards_parameters_ && !is_first_pass_[chunk]) {
      ComputeAll(chunk, step.pass);
      return;
    }
    for (std::size_t unit = 0; unit < units_[chunk].size(); ++unit) {
      data_.BeforeForward({chunk, unit}, is_first_pass_[chunk]);
      ComputeUnit(chunk, unit, step.pass);
      data_.AfterForward({chunk, unit});
    }
    is_first_pass_[chunk] = false;
  }

  void Backward(const PipelineStep& step) {
    const std::size_t chunk = Chunk(step);
    const bool is_whole = step.pass == PipelinePass::kBackward;
    passes_left_[chunk] -= is_whole ? 1 : 0;
    const bool is_last = passes_left_[chunk] == 0;
    if (!shards_parameters_ && !(is_whole && (is_last || reduces_each_pass_))) {
      ComputeAll(chunk, step.pass);
      return;
    }
    for (std::size_t unit = units_[chunk].size(); unit-- > 0;) {
      data_.BeforeBackward({chunk, unit});
      ComputeUnit(chunk, unit, step.pass);
      data_.AfterBackward({chunk, unit});
      if (is_whole) {
        data_.AfterWeights({chunk, unit}, is_last);
      }
    }
  }

  void Weights(const PipelineStep& step) {
    const std::size_t chunk = Chunk(step);
    const bool is_last = --passes_left_[chunk] == 0;
    for (std::size_t unit = units_[chunk].size(); unit-- > 0;) {
      ComputeUnit(chunk, unit, step.pass);
      data_.AfterWeights({chunk, unit}, is_last);
    }
  }

  const Job& job_;
  const workload::StageUnits& units_;
  const std::vector<UnitTimes>& times_;
  const std::vector<PipelineStep>& steps_;
  workload::StageParameters parameters_;
  bool reduces_each_pass_;
  bool shards_parameters_;
  PassClock clock_;
  workload::DataParallelCommunication<PassClock> data_;
  std::vector<int> passes_left_;
  std::vector<bool> is_first_pass_;
  std::array<std::int64_t, 2> last_pass_ps_ = {};
  std::size_t next_ = 0;
};

/// All stages of a pipeline.
class PipelineWalk {
 public:
  PipelineWalk(const StagedPlan& plan, const std::vector<std::vector<PipelineStep>>& schedules)
      : plan_(plan),
        shape_(plan.shape),
        overlaps_sends_(workload::OverlapsPipelineSends(*plan.job, plan.shape)),
        forward_ps_(NumPasses(), -1),
        backward_ps_(NumPasses(), -1) {
    for (int stage = 0; stage < shape_.stages; ++stage) {
      stages_.push_back(
          std::make_unique<StageWalk>(plan, stage, schedules[static_cast<std::size_t>(stage)]));
    }
  }

  /// Nothing where stages wait for each other in a circle.
  [[nodiscard]] std::optional<std::int64_t> Ps() {
    bool has_moved = true;
    while (has_moved) {
      has_moved = false;
      for (int stage = 0; stage < shape_.stages; ++stage) {
        while (TryAdvance(stage)) {
          has_moved = true;
        }
      }
    }
    std::int64_t end_ps = 0;
    for (const std::unique_ptr<StageWalk>& stage : stages_) {
      if (!stage->is_finished()) {
        return std::nullopt;
      }
      end_ps = std::max(end_ps, stage->Finish());
    }
    return end_ps;
  }

 private:
  [[nodiscard]] std::size_t NumPasses() const {
    return static_cast<std::size_t>(shape_.stages) * static_cast<std::size_t>(shape_.chunks) *
           static_cast<std::size_t>(shape_.microbatches);
  }

  [[nodiscard]] std::size_t PassIndex(ChunkPlace place, int microbatch) const {
    return (static_cast<std::size_t>(place.stage) * static_cast<std::size_t>(shape_.chunks) +
            static_cast<std::size_t>(place.chunk)) *
               static_cast<std::size_t>(shape_.microbatches) +
           static_cast<std::size_t>(microbatch);
  }

  [[nodiscard]] std::int64_t MessagePs(int from, int to) {
    const auto [known, is_new] = message_ps_.try_emplace({from, to}, 0);
    if (is_new) {
      const std::array<workload::Rank, 2> ranks{workload::RankAt(plan_.job->plan, {.pp = from}),
                                                workload::RankAt(plan_.job->plan, {.pp = to})};
      known->second = plan_.collectives->DurationPs({.role = GroupRole::kNextForwardOut,
                                                     .kind = CollectiveKind::kSendRecv,
                                                     .bytes = plan_.units->message_bytes},
                                                    plan_.collectives->Place(ranks));
    }
    return known->second;
  }

  // Runs the next pass of a stage, where its input is there.
  bool TryAdvance(int stage) {
    StageWalk& walk = *stages_[static_cast<std::size_t>(stage)];
    if (walk.is_finished()) {
      return false;
    }
    const PipelineStep step = walk.next();
    if (step.pass == PipelinePass::kWeightBackward) {
      walk.Advance();
      return true;
    }
    const bool is_forward = step.pass == PipelinePass::kForward;
    const ChunkPlace place{stage, step.chunk};
    const auto before = ChunkBefore(shape_, place);
    const auto after = ChunkAfter(shape_, place);
    const auto& source = is_forward ? before : after;
    const auto& target = is_forward ? after : before;
    std::vector<std::int64_t>& done_ps = is_forward ? forward_ps_ : backward_ps_;
    if (source) {
      const std::int64_t sent_ps = done_ps[PassIndex(*source, step.microbatch)];
      if (sent_ps < 0) {
        return false;
      }
      if (source->stage != stage) {
        walk.clock().AwaitPs(std::max(sent_ps, PostedPs(walk, is_forward)) +
                             MessagePs(source->stage, stage));
      }
    }
    walk.Advance();
    const std::int64_t end_ps = walk.clock().last_kernel_ps();
    done_ps[PassIndex(place, step.microbatch)] = end_ps;
    walk.LastPassPs(is_forward) = end_ps;
    if (target && target->stage != stage && !overlaps_sends_) {
      walk.clock().AwaitPs(end_ps + MessagePs(stage, target->stage));
    }
    return true;
  }

  // When a receive is posted.
  [[nodiscard]] std::int64_t PostedPs(StageWalk& walk, bool is_forward) const {
    if (!overlaps_sends_) {
      return walk.clock().last_kernel_ps();
    }
    return plan_.job->mechanisms.receives ? walk.LastPassPs(is_forward) : 0;
  }

  const StagedPlan& plan_;
  const workload::PipelineShape& shape_;
  bool overlaps_sends_;
  std::vector<std::int64_t> forward_ps_;  // by pass: its last kernel; -1: not run yet
  std::vector<std::int64_t> backward_ps_;
  std::map<std::pair<int, int>, std::int64_t> message_ps_;
  std::vector<std::unique_ptr<StageWalk>> stages_;
};

}  // namespace

const PassBound::StageSchedules& PassBound::SchedulesOf(const workload::PipelineShape& shape) {
  if (schedules_of_shape_.size() >= kMostShapes) {
    schedules_of_shape_.clear();
  }
  StageSchedules& schedules =
      schedules_of_shape_[{shape.schedule, shape.stages, shape.chunks, shape.microbatches}];
  if (schedules.empty()) {
    for (int stage = 0; stage < shape.stages; ++stage) {
      const Result<std::vector<PipelineStep>> steps = workload::ScheduleOf(shape, stage);
      schedules.push_back(steps.value_or(std::vector<PipelineStep>()));
    }
  }
  return schedules;
}

std::int64_t PassBound::Ps(const StagedPlan& plan) {
  return RunsPairs(*plan.job) ? 0 : PipelineWalk(plan, SchedulesOf(plan.shape)).Ps().value_or(0);
}

}  // namespace orrery::search
