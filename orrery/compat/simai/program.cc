#include "orrery/compat/simai/program.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/base/units.h"
#include "orrery/compat/simai/bus_bandwidth.h"
#include "orrery/compat/simai/workload.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/program.h"

namespace orrery::compat::simai {
namespace {

using workload::CommunicationId, workload::GroupRole, workload::LaneId, workload::LaneKind;
using workload::Ensemble, workload::GroupId, workload::kNoGroup, workload::kNumGroupRoles;
using workload::Name, workload::PartId, workload::Phase, workload::Program, workload::Rank;
using workload::PipelinePass, workload::PipelineSchedule, workload::PipelineShape;
using workload::PipelineStep, workload::PositionOf, workload::ScheduleOf;
using workload::TaskId, workload::TaskKind, workload::Tasks, workload::kNone;

using Layers = std::vector<const Layer*>;

struct Degrees {
  Rank tensor = 1;
  Rank expert = 1;
  Rank data = 1;
  Rank stages = 1;

  [[nodiscard]] Rank RankAt(Rank tensor_index, Rank data_index, Rank stage) const {
    return tensor_index + tensor * (data_index + data * stage);
  }
};

constexpr std::int64_t kMaxStepPs = std::int64_t{1} << 60;  // 13 days
constexpr std::int64_t kMaxTasks = 1 << 28;
constexpr std::int64_t kComputeStream = 7;
constexpr std::int64_t kFirstCommunicationStream = 20;

/// The rows of a workload by when they run.
struct StepRows {
  Layers around;                     // forward first, gradients at the end of the step
  std::vector<Layers> microbatches;  // each from its first layer on
  Layers optimizer;
};

/// Sorts rows as MakeEnsemble describes. The number of micro-batches found counts; one that
/// differs from the announced number is noted.
StepRows RowsOf(const Workload& workload, trace::ProblemLog& problems) {
  StepRows rows;
  for (const Layer& layer : workload.layers) {
    if (layer.name.starts_with("optimizer")) {
      rows.optimizer.push_back(&layer);
      continue;
    }
    if (layer.name == "embedding_layer") {
      rows.microbatches.emplace_back();
    }
    (rows.microbatches.empty() ? rows.around : rows.microbatches.back()).push_back(&layer);
  }
  if (rows.microbatches.empty()) {  // without an embedding all rows are one micro-batch
    rows.microbatches.push_back(std::exchange(rows.around, {}));
  }
  const auto announced = static_cast<std::size_t>(workload.accumulation);
  if (rows.microbatches.size() == 1) {
    rows.microbatches.resize(announced, Layers(rows.microbatches[0]));
  }
  if (rows.microbatches.size() != announced) {
    problems.Note("micro-batches are written that ga does not announce",
                  static_cast<std::int64_t>(rows.microbatches.size()),
                  fmt::format("ga {}", announced));
  }
  return rows;
}

/// The rows of one chunk out of `chunks`, split as evenly as possible.
std::span<const Layer* const> ChunkOf(std::span<const Layer* const> rows, int chunk, int chunks) {
  const auto bound = [&](int index) {
    return rows.size() * static_cast<std::size_t>(index) / static_cast<std::size_t>(chunks);
  };
  return rows.subspan(bound(chunk), bound(chunk + 1) - bound(chunk));
}

GroupRole RoleOf(Group group) {
  constexpr std::array kRoles = {GroupRole::kTensor, GroupRole::kExperts, GroupRole::kData,
                                 GroupRole::kExpertData};
  return kRoles[static_cast<std::size_t>(group)];
}

/// Writes one stage: a chain of tasks, each of which starts after the one before.
class StageWriter {
 public:
  StageWriter() {
    compute_ = program_.lanes.Append({.kind = LaneKind::kStream, .number = kComputeStream});
    lane_of_role_.fill(kNone);
    AddGroupRoles(program_);
  }

  void SetPlace(int microbatch, int chunk) {
    microbatch_ = microbatch;
    chunk_ = chunk;
  }

  /// The chain continues when the collective is done.
  void AddPass(const Layer& layer, const Pass& pass, Phase phase) {
    AddCompute(layer, pass, phase);
    if (pass.collective) {
      front_ = AddCollective(layer, *pass.collective, phase);
    }
  }

  /// The chain continues at once; `Join` waits for the collective.
  void AddPassAsync(const Layer& layer, const Pass& pass, Phase phase) {
    AddCompute(layer, pass, phase);
    if (pass.collective) {
      pending_.push_back(AddCollective(layer, *pass.collective, Phase::kReduce));
    }
  }

  void Join() {
    const TaskId task =
        Append({.lane = compute_, .kind = TaskKind::kWait}, "join", "join", Phase::kOther);
    for (const TaskId awaited : pending_) {
      program_.edges.Append({.from = awaited, .to = task});
    }
    pending_.clear();
    front_ = task;
  }

  void Send(GroupRole role, Bytes size, Phase phase) { FollowChain(AddMessage(role, size, phase)); }

  /// The next task of the chain waits for it.
  void Receive(GroupRole role, Bytes size, Phase phase) {
    received_.push_back(AddMessage(role, size, phase));
  }

  [[nodiscard]] Program Finish() { return std::move(program_); }

 private:
  void AddCompute(const Layer& layer, const Pass& pass, Phase phase) {
    if (pass.compute_ns > 0) {
      front_ = Append(
          {.lane = compute_, .kind = TaskKind::kKernel, .duration_ps = pass.compute_ns * 1000},
          layer.name, layer.name, phase);
    }
  }

  TaskId AddCollective(const Layer& layer, const Collective& collective, Phase phase) {
    return Communicate(RoleOf(collective.group), collective.kind, collective.size, layer.name,
                       phase);
  }

  TaskId AddMessage(GroupRole role, Bytes size, Phase phase) {
    return Communicate(role, CollectiveKind::kSendRecv, {std::max<std::int64_t>(size.count, 1)},
                       Name(role), phase, /*is_in_chain=*/false);
  }

  TaskId Communicate(GroupRole role, CollectiveKind kind, Bytes size, std::string_view name,
                     Phase phase, bool is_in_chain = true) {
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
  std::vector<TaskId> pending_;
  std::vector<TaskId> received_;
  int microbatch_ = -1;
  int chunk_ = -1;
};

/// Writes the program of one stage.
class StageProgram {
 public:
  StageProgram(const Workload& workload, const StepRows& rows, const PipelineShape& shape,
               int stage)
      : workload_(workload), rows_(rows), shape_(shape), stage_(stage) {}

  Result<Program> Write() {
    ORRERY_TRY(const std::vector<PipelineStep> steps, ScheduleOf(shape_, stage_));
    for (const Layer* layer : rows_.around) {
      writer_.AddPass(*layer, layer->forward, Phase::kForward);
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
  [[nodiscard]] std::span<const Layer* const> RowsOfStep(const PipelineStep& step) const {
    return ChunkOf(rows_.microbatches[static_cast<std::size_t>(step.microbatch)], step.chunk,
                   shape_.chunks);
  }

  [[nodiscard]] bool IsFirst(const PipelineStep& step) const {
    return PositionOf(shape_, stage_, step.chunk) == 0;
  }

  [[nodiscard]] bool IsLast(const PipelineStep& step) const {
    return PositionOf(shape_, stage_, step.chunk) == shape_.stages * shape_.chunks - 1;
  }

  // With one stage, chunks run one after another and nothing is sent.
  [[nodiscard]] bool HasNeighbours() const { return shape_.stages > 1; }

  void Forward(const PipelineStep& step) {
    if (HasNeighbours() && !IsFirst(step)) {
      writer_.Receive(GroupRole::kPreviousForwardIn, workload_.pipeline_message, Phase::kForward);
    }
    for (const Layer* layer : RowsOfStep(step)) {
      writer_.AddPass(*layer, layer->forward, Phase::kForward);
    }
    if (HasNeighbours() && !IsLast(step)) {
      writer_.Send(GroupRole::kNextForwardOut, workload_.pipeline_message, Phase::kForward);
    }
  }

  void Backward(const PipelineStep& step) {
    if (HasNeighbours() && !IsLast(step)) {
      writer_.Receive(GroupRole::kNextBackwardIn, workload_.pipeline_message, Phase::kBackward);
    }
    const std::span<const Layer* const> rows = RowsOfStep(step);
    for (std::size_t i = rows.size(); i-- > 0;) {
      writer_.AddPass(*rows[i], rows[i]->input_gradient, Phase::kBackward);
      writer_.AddPassAsync(*rows[i], rows[i]->weight_gradient, Phase::kBackward);
    }
    if (HasNeighbours() && !IsFirst(step)) {
      writer_.Send(GroupRole::kPreviousBackwardOut, workload_.pipeline_message, Phase::kBackward);
    }
  }

  void Finish() {
    for (std::size_t i = rows_.around.size(); i-- > 0;) {
      writer_.AddPass(*rows_.around[i], rows_.around[i]->input_gradient, Phase::kReduce);
      writer_.AddPass(*rows_.around[i], rows_.around[i]->weight_gradient, Phase::kReduce);
    }
    for (const Layer* layer : rows_.optimizer) {
      writer_.AddPass(*layer, layer->forward, Phase::kOptimizer);
      writer_.AddPass(*layer, layer->input_gradient, Phase::kOptimizer);
      writer_.AddPass(*layer, layer->weight_gradient, Phase::kOptimizer);
    }
  }

  const Workload& workload_;
  const StepRows& rows_;
  PipelineShape shape_;
  int stage_ = 0;
  StageWriter writer_;
};

Result<Degrees> DegreesOf(const Workload& workload) {
  const int least = workload.tensor * workload.pipeline;
  const int gpus = workload.gpus == 0 ? least * workload.expert : workload.gpus;
  const int data = gpus / least;
  if (data % workload.expert != 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("ep {} does not divide the {} data-parallel ranks of all_gpus {}; "
                            "choose one that does",
                            workload.expert, data, gpus));
  }
  return Degrees{static_cast<Rank>(workload.tensor), static_cast<Rank>(workload.expert),
                 static_cast<Rank>(data), static_cast<Rank>(workload.pipeline)};
}

Status CheckSize(const Workload& workload, const StepRows& rows) {
  std::int64_t sum_ns = 0;
  std::int64_t num_rows = 0;
  const auto is_too_large = [&](const Layers& layers) {
    num_rows += static_cast<std::int64_t>(layers.size());
    for (const Layer* layer : layers) {
      sum_ns = std::min(sum_ns + layer->forward.compute_ns + layer->input_gradient.compute_ns +
                            layer->weight_gradient.compute_ns,
                        kMaxStepPs);
    }
    return sum_ns > kMaxStepPs / 1000 || num_rows * workload.pipeline > kMaxTasks;
  };
  if (is_too_large(rows.around) || is_too_large(rows.optimizer) ||
      std::ranges::any_of(rows.microbatches, is_too_large)) {
    return Fail(Error::Kind::kLimit,
                "the step is longer than 13 days or has more than 2^28 rows in all stages; make ga "
                "smaller");
  }
  return {};
}

// Adds the groups of all roles (generate/step.h): tensor, expert, data, expert data, and pairs of
// pipeline neighbours (the stages form a ring). Groups of one rank are left out.
class GroupWriter {
 public:
  GroupWriter(const Degrees& degrees, Ensemble& ensemble)
      : degrees_(degrees), ensemble_(ensemble) {}

  void Write() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank data = 0; data < degrees_.data; ++data) {
        Join(GroupRole::kTensor, degrees_.tensor,
             [&](Rank i) { return degrees_.RankAt(i, data, stage); });
      }
      for (Rank tensor = 0; tensor < degrees_.tensor; ++tensor) {
        WriteData(tensor, stage);
      }
    }
    if (degrees_.stages > 1) {
      WriteNeighbours();
    }
  }

 private:
  template <typename RankOf>
  void Join(GroupRole role, Rank size, const RankOf& rank_of) {
    if (size < 2) {
      return;
    }
    std::vector<Rank> members(size);
    for (Rank i = 0; i < size; ++i) {
      members[i] = rank_of(i);
    }
    const GroupId group = ensemble_.AddGroup(members);
    for (const Rank rank : members) {
      SetGroup(rank, role, group);
    }
  }

  void SetGroup(Rank rank, GroupRole role, GroupId group) {
    ensemble_.group_of_role[static_cast<std::size_t>(rank) * kNumGroupRoles +
                            static_cast<std::size_t>(role)] = group;
  }

  void WriteData(Rank tensor, Rank stage) {
    const Rank replicas = degrees_.data / degrees_.expert;
    Join(GroupRole::kData, degrees_.data,
         [&](Rank i) { return degrees_.RankAt(tensor, i, stage); });
    for (Rank replica = 0; replica < replicas; ++replica) {
      Join(GroupRole::kExperts, degrees_.expert,
           [&](Rank i) { return degrees_.RankAt(tensor, replica * degrees_.expert + i, stage); });
    }
    for (Rank expert = 0; expert < degrees_.expert; ++expert) {
      Join(GroupRole::kExpertData, replicas,
           [&](Rank i) { return degrees_.RankAt(tensor, i * degrees_.expert + expert, stage); });
    }
  }

  void WriteNeighbours() {
    for (Rank stage = 0; stage < degrees_.stages; ++stage) {
      for (Rank place = 0; place < degrees_.tensor * degrees_.data; ++place) {
        const Rank here = degrees_.RankAt(place, 0, stage);
        const Rank next = degrees_.RankAt(place, 0, (stage + 1) % degrees_.stages);
        const GroupId forward = ensemble_.AddGroup(std::vector<Rank>{here, next});
        SetGroup(here, GroupRole::kNextForwardOut, forward);
        SetGroup(next, GroupRole::kPreviousForwardIn, forward);
        const GroupId backward = ensemble_.AddGroup(std::vector<Rank>{next, here});
        SetGroup(next, GroupRole::kPreviousBackwardOut, backward);
        SetGroup(here, GroupRole::kNextBackwardIn, backward);
      }
    }
  }

  Degrees degrees_;
  Ensemble& ensemble_;
};

}  // namespace

Result<WorkloadEnsemble> MakeEnsemble(const Workload& workload) {
  WorkloadEnsemble result;
  result.problems = workload.problems;
  ORRERY_TRY(const Degrees degrees, DegreesOf(workload));
  const StepRows rows = RowsOf(workload, result.problems);
  ORRERY_TRY_STATUS(CheckSize(workload, rows));
  result.microbatches = static_cast<int>(rows.microbatches.size());
  // Chunks of a single stage run one after another anyway.
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
  ensemble.num_roles = kNumGroupRoles;
  ensemble.group_of_role.assign(static_cast<std::size_t>(ensemble.num_ranks()) * kNumGroupRoles,
                                kNoGroup);
  GroupWriter(degrees, ensemble).Write();
  return result;
}

}  // namespace orrery::compat::simai
