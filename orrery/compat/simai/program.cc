#include "orrery/compat/simai/program.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/compat/simai/groups.h"
#include "orrery/compat/simai/rows.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::compat::simai {

using workload::CommunicationId;
using workload::GroupRole;
using workload::LaneId;
using workload::LaneKind;
using workload::Name;
using workload::PartId;
using workload::Phase;
using workload::PipelinePass;
using workload::PipelineSchedule;
using workload::PipelineShape;
using workload::PipelineStep;
using workload::PositionOf;
using workload::Program;
using workload::ScheduleOf;
using workload::TaskId;
using workload::TaskKind;
using workload::Tasks;
using workload::kNone;
using workload::kNumGroupRoles;

namespace {

using collective::CollectiveKind;
using compat::simai::Group;

constexpr std::int64_t kMaxStepPs = std::int64_t{1} << 60;  // 13 days
constexpr std::int64_t kMaxTasks = 1 << 28;
constexpr std::int64_t kComputeStream = 7;
constexpr std::int64_t kFirstCommunicationStream = 20;

GroupRole RoleOf(Group group) {
  switch (group) {
    case Group::kTensor:
      return GroupRole::kTensor;
    case Group::kExpert:
      return GroupRole::kExperts;
    case Group::kData:
      return GroupRole::kData;
    case Group::kExpertData:
      return GroupRole::kExpertData;
  }
  return GroupRole::kTensor;
}

/// Writes one stage: a chain of tasks, in which each begins behind the one before.
class StageWriter {
 public:
  StageWriter() {
    compute_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = kComputeStream});
    lane_of_role_.fill(kNone);
    for (std::uint32_t role = 0; role < kNumGroupRoles; ++role) {
      program_.roles.push_back(program_.strings.Intern(Name(static_cast<GroupRole>(role))));
    }
  }

  void SetPlace(int microbatch, int chunk) {
    microbatch_ = microbatch;
    chunk_ = chunk;
  }

  /// The chain goes on when the collective is done.
  void Pass(const SimaiLayer& layer, const SimaiPass& pass, Phase phase) {
    Compute(layer, pass, phase);
    if (pass.collective) {
      Advance(Collective(layer, *pass.collective, phase));
    }
  }

  /// The chain goes on at once; `Join` waits.
  void PassBeside(const SimaiLayer& layer, const SimaiPass& pass, Phase phase) {
    Compute(layer, pass, phase);
    if (pass.collective) {
      beside_.push_back(Collective(layer, *pass.collective, Phase::kReduce));
    }
  }

  void Join() {
    const TaskId task =
        Append({.lane = compute_, .kind = TaskKind::kWait}, "join", "join", Phase::kOther);
    for (const TaskId awaited : beside_) {
      program_.edges.Append({.from = awaited, .to = task});
    }
    beside_.clear();
    Advance(task);
  }

  void Send(GroupRole role, Bytes size, Phase phase) { FollowChain(Message(role, size, phase)); }

  /// What comes next waits for it.
  void Receive(GroupRole role, Bytes size, Phase phase) {
    received_.push_back(Message(role, size, phase));
  }

  [[nodiscard]] Program Finish() { return std::move(program_); }

 private:
  void Compute(const SimaiLayer& layer, const SimaiPass& pass, Phase phase) {
    if (pass.compute_ns > 0) {
      Advance(Append(
          {.lane = compute_, .kind = TaskKind::kKernel, .duration_ps = pass.compute_ns * 1000},
          layer.name, layer.name, phase));
    }
  }

  TaskId Collective(const SimaiLayer& layer, const SimaiCollective& collective, Phase phase) {
    return Talk(RoleOf(collective.group), collective.kind, collective.size, layer.name, phase);
  }

  TaskId Message(GroupRole role, Bytes size, Phase phase) {
    return Talk(role, CollectiveKind::kSendRecv, {std::max<std::int64_t>(size.count, 1)},
                Name(role), phase, /*is_in_chain=*/false);
  }

  TaskId Talk(GroupRole role, CollectiveKind kind, Bytes size, std::string_view name, Phase phase,
              bool is_in_chain = true) {
    const CommunicationId communication = program_.communications.Append(
        {.role = static_cast<std::uint32_t>(role), .kind = kind, .bytes = size.count});
    return Append(
        {.lane = LaneOf(role), .kind = TaskKind::kCollective, .communication = communication}, name,
        Name(role), phase, is_in_chain);
  }

  LaneId LaneOf(GroupRole role) {
    LaneId& lane = lane_of_role_[static_cast<std::size_t>(role)];
    if (lane == kNone) {
      lane = program_.lanes.Append(
          {.kind = LaneKind::kStream,
           .number = kFirstCommunicationStream + static_cast<std::int64_t>(role)});
    }
    return lane;
  }

  TaskId Append(Tasks::Row row, std::string_view name, std::string_view category, Phase phase,
                bool is_in_chain = true) {
    row.name = program_.strings.Intern(name);
    row.part = PartOf(category, phase);
    row.microbatch = microbatch_;
    const TaskId task = program_.tasks.Append(row);
    if (is_in_chain) {
      FollowChain(task);
      for (const TaskId received : received_) {
        program_.edges.Append({.from = received, .to = task});
      }
      received_.clear();
    }
    return task;
  }

  void FollowChain(TaskId task) {
    if (front_ != kNone && program_.tasks.lane[front_] != program_.tasks.lane[task]) {
      program_.edges.Append({.from = front_, .to = task});
    }
  }

  void Advance(TaskId task) { front_ = task; }

  PartId PartOf(std::string_view category, Phase phase) {
    const StringId word = program_.strings.Intern(category);
    const auto [found, is_new] = parts_.try_emplace({word, phase, chunk_}, kNone);
    if (is_new) {
      found->second = program_.parts.Append({.category = word, .phase = phase, .chunk = chunk_});
    }
    return found->second;
  }

  Program program_;
  LaneId compute_ = kNone;
  std::array<LaneId, kNumGroupRoles> lane_of_role_ = {};
  std::map<std::tuple<StringId, Phase, int>, PartId> parts_;
  TaskId front_ = kNone;
  std::vector<TaskId> beside_;
  std::vector<TaskId> received_;
  int microbatch_ = -1;
  int chunk_ = -1;
};

/// Writes what one stage does in a step.
class StageProgram {
 public:
  StageProgram(const SimaiWorkload& workload, const SimaiRows& rows, const PipelineShape& shape,
               int stage)
      : workload_(workload), rows_(rows), shape_(shape), stage_(stage) {}

  Result<Program> Write() {
    ORRERY_TRY(const std::vector<PipelineStep> steps, ScheduleOf(shape_, stage_));
    for (const SimaiLayer* layer : rows_.around) {
      writer_.Pass(*layer, layer->forward, Phase::kForward);
    }
    for (const PipelineStep& step : steps) {
      writer_.SetPlace(step.microbatch, step.chunk);
      if (step.pass == PipelinePass::kForward) {
        Forward(step);
      } else {
        Backward(step);
      }
    }
    writer_.SetPlace(-1, -1);
    writer_.Join();
    Finish();
    return writer_.Finish();
  }

 private:
  [[nodiscard]] std::span<const SimaiLayer* const> RowsOfStep(const PipelineStep& step) const {
    return ChunkOf(rows_.microbatches[static_cast<std::size_t>(step.microbatch)], step.chunk,
                   shape_.chunks);
  }

  [[nodiscard]] bool IsFirst(const PipelineStep& step) const {
    return PositionOf(shape_, stage_, step.chunk) == 0;
  }

  [[nodiscard]] bool IsLast(const PipelineStep& step) const {
    return PositionOf(shape_, stage_, step.chunk) == shape_.stages * shape_.chunks - 1;
  }

  // A pipeline of one stage has chunks behind each other and nobody to send to.
  [[nodiscard]] bool HasNeighbours() const { return shape_.stages > 1; }

  void Forward(const PipelineStep& step) {
    if (HasNeighbours() && !IsFirst(step)) {
      writer_.Receive(GroupRole::kPreviousForwardIn, workload_.pipeline_message, Phase::kForward);
    }
    for (const SimaiLayer* layer : RowsOfStep(step)) {
      writer_.Pass(*layer, layer->forward, Phase::kForward);
    }
    if (HasNeighbours() && !IsLast(step)) {
      writer_.Send(GroupRole::kNextForwardOut, workload_.pipeline_message, Phase::kForward);
    }
  }

  void Backward(const PipelineStep& step) {
    if (HasNeighbours() && !IsLast(step)) {
      writer_.Receive(GroupRole::kNextBackwardIn, workload_.pipeline_message, Phase::kBackward);
    }
    const std::span<const SimaiLayer* const> rows = RowsOfStep(step);
    for (std::size_t i = rows.size(); i-- > 0;) {
      writer_.Pass(*rows[i], rows[i]->input_gradient, Phase::kBackward);
      writer_.PassBeside(*rows[i], rows[i]->weight_gradient, Phase::kBackward);
    }
    if (HasNeighbours() && !IsFirst(step)) {
      writer_.Send(GroupRole::kPreviousBackwardOut, workload_.pipeline_message, Phase::kBackward);
    }
  }

  void Finish() {
    for (std::size_t i = rows_.around.size(); i-- > 0;) {
      writer_.Pass(*rows_.around[i], rows_.around[i]->input_gradient, Phase::kReduce);
      writer_.Pass(*rows_.around[i], rows_.around[i]->weight_gradient, Phase::kReduce);
    }
    for (const SimaiLayer* layer : rows_.last) {
      writer_.Pass(*layer, layer->forward, Phase::kOptimizer);
      writer_.Pass(*layer, layer->input_gradient, Phase::kOptimizer);
      writer_.Pass(*layer, layer->weight_gradient, Phase::kOptimizer);
    }
  }

  const SimaiWorkload& workload_;
  const SimaiRows& rows_;
  PipelineShape shape_;
  int stage_ = 0;
  StageWriter writer_;
};

Result<SimaiDegrees> DegreesOf(const SimaiWorkload& workload) {
  const int least = workload.tensor * workload.pipeline;
  const int gpus = workload.gpus == 0 ? least * workload.expert : workload.gpus;
  const int data = gpus / least;
  if (data % workload.expert != 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("ep {} does not divide the {} data-parallel ranks of all_gpus {}; "
                            "choose one that does",
                            workload.expert, data, gpus));
  }
  return SimaiDegrees{static_cast<Rank>(workload.tensor), static_cast<Rank>(workload.expert),
                      static_cast<Rank>(data), static_cast<Rank>(workload.pipeline)};
}

Status CheckSize(const SimaiWorkload& workload, const SimaiRows& rows) {
  std::int64_t sum_ns = 0;
  std::int64_t num_rows = 0;
  const auto is_too_large = [&](const std::vector<const SimaiLayer*>& layers) {
    num_rows += static_cast<std::int64_t>(layers.size());
    for (const SimaiLayer* layer : layers) {
      sum_ns = std::min(sum_ns + layer->forward.compute_ns + layer->input_gradient.compute_ns +
                            layer->weight_gradient.compute_ns,
                        kMaxStepPs);
    }
    return sum_ns > kMaxStepPs / 1000 || num_rows * workload.pipeline > kMaxTasks;
  };
  if (is_too_large(rows.around) || is_too_large(rows.last) ||
      std::any_of(rows.microbatches.begin(), rows.microbatches.end(), is_too_large)) {
    return Fail(Error::Kind::kLimit,
                "the step is longer than 13 days or has more than 2^28 rows in all stages; make ga "
                "smaller");
  }
  return {};
}

}  // namespace

Result<SimaiEnsemble> EnsembleOfSimai(const SimaiWorkload& workload) {
  SimaiEnsemble result;
  result.problems = workload.problems;
  ORRERY_TRY(const SimaiDegrees degrees, DegreesOf(workload));
  const SimaiRows rows = RowsOf(workload, result.problems);
  ORRERY_TRY_STATUS(CheckSize(workload, rows));
  result.microbatches = static_cast<int>(rows.microbatches.size());
  // Chunks of a single stage run one behind the other anyway.
  const int chunks = workload.pipeline > 1 ? workload.chunks : 1;
  const PipelineShape shape{
      .schedule = chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b,
      .stages = workload.pipeline,
      .chunks = chunks,
      .microbatches = result.microbatches};
  Ensemble& ensemble = result.ensemble;
  for (int stage = 0; stage < workload.pipeline; ++stage) {
    ORRERY_TRY(Program program, StageProgram(workload, rows, shape, stage).Write());
    ensemble.programs.push_back(std::move(program));
  }
  const Rank of_stage = degrees.tensor * degrees.data;
  for (Rank rank = 0; rank < of_stage * degrees.stages; ++rank) {
    ensemble.program_of_rank.push_back(rank / of_stage);
    ensemble.gpu_of_rank.push_back(rank);
    ensemble.slowness_of_rank.push_back(1);
  }
  JoinSimaiGroups(degrees, ensemble);
  return result;
}

}  // namespace orrery::compat::simai
