#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/error.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// An operation of a layer as rows of one program, so that writing it repeatedly is cheap.
struct PreparedOp {
  StringId name = StringId::kEmpty;
  PartId part = kNone;
  CommunicationId communication = kNone;
  LaneId lane = kNone;
  std::int64_t duration_ps = 0;
  std::int64_t launch_ps = 0;
  int overlapped_ops = 0;
  bool is_wgrad = false;
  bool is_routed = false;  // see LayerOp
  bool is_launched = true;
  bool host_waits = false;
};

using PreparedOps = std::vector<PreparedOp>;

/// The time of the update of an optimizer whose states are in host memory, with nothing beside it.
[[nodiscard]] std::int64_t OffloadedUpdatePs(const Job& job, std::int64_t parameters);

/// Returns true if a stage computes while it sends to its neighbours. With several chunks, a device
/// computes between a send and the receive that its neighbour needs to get there: blocking sends
/// would deadlock, so every implementation sends asynchronously.
[[nodiscard]] bool OverlapsPipelineSends(const Job& job, const PipelineShape& shape);

/// The time of the host to launch an operation; the first of a list also launches the graph of its
/// layer.
[[nodiscard]] std::int64_t LaunchPs(const Job& job, const LayerOp& op, bool is_first);

/// The work of a layer with experts in a micro-batch, relative to the work that its operations were
/// prepared for.
struct RoutedLoad {
  double compute = 1;  // of the busiest expert rank, over the mean of all layers and micro-batches
  double sent = 1;     // to it, over what is sent to the others

  bool operator==(const RoutedLoad&) const = default;
};

/// The first and last computation of a list of operations; kNone if it has none.
struct PassTasks {
  TaskId first = kNone;
  TaskId last = kNone;
};

/// Writes the program of one rank: a host thread, a compute stream, and a stream for each process
/// group.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Job& job) : job_(job) {
    program_.lanes.Append({.kind = LaneKind::kHostThread, .number = 0});
    program_.lanes.Append({.kind = LaneKind::kStream, .number = 7});
    lane_of_role_.fill(kNone);
    launch_name_ = program_.strings.Intern("cudaLaunchKernel");
    AddGroupRoles(program_);
  }

  [[nodiscard]] PreparedOps Prepare(std::span<const LayerOp> ops, Phase phase, int chunk) {
    PreparedOps prepared;
    prepared.reserve(ops.size());
    for (const LayerOp& op : ops) {
      PreparedOp row;
      row.name = program_.strings.Intern(op.name);
      row.part = PartOf(op, phase, chunk);
      row.is_wgrad = op.is_wgrad;
      row.is_routed = op.is_routed;
      row.is_launched = op.launches > 0;
      row.host_waits = op.host_waits;
      row.launch_ps = LaunchPs(job_, op, prepared.empty());
      row.duration_ps = op.cost.duration_ps;
      row.lane = kComputing;
      if (op.communication) {
        const Communication& communication = *op.communication;
        row.lane = LaneOf(communication.role);
        row.overlapped_ops = communication.overlapped_ops;
        row.communication =
            program_.communications.Append({.role = static_cast<std::uint32_t>(communication.role),
                                            .kind = communication.kind,
                                            .bytes = communication.bytes,
                                            .element = communication.element,
                                            .in_pieces = communication.in_pieces});
      }
      prepared.push_back(row);
    }
    return prepared;
  }

  /// The operations of a backward pass that are written.
  enum class Part : std::uint8_t { kAll, kWithoutWeights, kWeightsOnly };

  /// Writes operations in order. Each waits for the communications before it, except overlapped
  /// ones.
  PassTasks Write(const PreparedOps& ops, int microbatch, Part part = Part::kAll,
                  const RoutedLoad& load = {}) {
    Track track = Begin({&ops, microbatch, part, load});
    while (Advance(track)) {
    }
    awaited_.clear();
    End(track);
    return track.tasks;
  }

  /// Operations of one micro-batch.
  struct Pass {
    const PreparedOps* ops = nullptr;
    int microbatch = -1;
    Part part = Part::kAll;
    RoutedLoad load = {};
  };

  /// Interleaves two lists: while one communicates, the other computes. The backward pass begins: a
  /// layer with experts sends tokens almost at once there and late in the forward pass, so that
  /// each message meets work of the other one.
  std::array<PassTasks, 2> WriteTogether(const Pass& forward, const Pass& backward) {
    std::array<Track, 2> tracks = {Begin(forward), Begin(backward)};
    std::array<bool, 2> has_more = {true, true};
    while (has_more[0] || has_more[1]) {
      for (const std::size_t i : {std::size_t{1}, std::size_t{0}}) {
        has_more[i] = has_more[i] && Advance(tracks[i]);
      }
    }
    awaited_.clear();
    End(tracks[0]);
    End(tracks[1]);
    return {tracks[0].tasks, tracks[1].tasks};
  }

  /// Writes a communication that waits for `after` and the launch. Returns its task.
  TaskId WriteCommunication(const PreparedOp& communication, TaskId after, int microbatch) {
    const TaskId launch = Launch(communication);
    const TaskId task = program_.tasks.Append({.lane = communication.lane,
                                               .kind = TaskKind::kCollective,
                                               .name = communication.name,
                                               .launch = launch,
                                               .part = communication.part,
                                               .microbatch = microbatch,
                                               .communication = communication.communication});
    if (after != kNone) {
      AddEdges({&after, 1}, task);
    }
    return task;
  }

  /// The next computation waits for the task.
  void WaitFor(TaskId task) { awaited_.push_back(task); }

  /// A communication that is launched now waits for what the next computation waits for: its
  /// stream follows the one that computes.
  void WaitAsComputation(TaskId communication) { AddEdges(awaited_, communication); }

  /// A computation that takes no time, for others to wait for.
  void WriteMarker(std::string_view name) {
    PreparedOp marker;
    marker.name = program_.strings.Intern(name);
    marker.lane = kComputing;
    marker.is_launched = false;
    Compute(marker, -1, awaited_);
  }

  /// Copies between GPU and host, and work of another host thread on them.
  enum class Side : std::uint8_t { kToHost, kOnHost, kFromHost };

  /// Writes a task on a lane of its own that waits for `after`.
  TaskId WriteSideTask(Side where, std::string_view name, std::int64_t duration_ps,
                       std::initializer_list<TaskId> after, Phase phase = Phase::kOptimizer) {
    constexpr std::int64_t kFirstNumber = 60;
    const bool is_on_host = where == Side::kOnHost;
    LaneId& lane = side_lanes_[static_cast<std::size_t>(where)];
    if (lane == kNone) {
      lane = program_.lanes.Append(
          {.kind = is_on_host ? LaneKind::kHostThread : LaneKind::kStream,
           .number = is_on_host ? 1 : kFirstNumber + static_cast<std::int64_t>(where)});
    }
    // Copy engines hold no multiprocessor.
    Parts::Row row;
    row.phase = phase;
    row.chunk = -1;
    row.category = program_.strings.Intern(
        Name(phase == Phase::kOptimizer ? Category::kOptimizer : Category::kCopy));
    const PartId part = parts_.Find(row, program_);
    const TaskId task =
        program_.tasks.Append({.lane = lane,
                               .kind = is_on_host ? TaskKind::kHost : TaskKind::kKernel,
                               .duration_ps = duration_ps,
                               .name = program_.strings.Intern(name),
                               .part = part});
    std::vector<TaskId> known(after);
    std::erase(known, kNone);
    AddEdges(known, task);
    return task;
  }

  void HostWaitsFor(TaskId task) {
    if (task == kNone) {
      return;
    }
    const TaskId wait =
        program_.tasks.Append({.lane = kHost,
                               .kind = TaskKind::kSynchronize,
                               .name = program_.strings.Intern("cudaStreamSynchronize")});
    AddEdges({&task, 1}, wait);
  }

  /// The last task of the compute stream; kNone before the first.
  [[nodiscard]] TaskId last_compute() const { return last_compute_; }

  /// Process groups used so far; all pipeline messages count as one.
  [[nodiscard]] int NumCommunicators() const {
    constexpr auto kFirstMessage = static_cast<std::size_t>(GroupRole::kNextForwardOut);
    constexpr auto kLastMessage = static_cast<std::size_t>(GroupRole::kPreviousBackwardIn);
    int count = 0;
    bool has_messages = false;
    for (std::size_t role = 0; role < lane_of_role_.size(); ++role) {
      const bool is_used = lane_of_role_[role] != kNone;
      const bool is_message = role >= kFirstMessage && role <= kLastMessage;
      count += is_used && !is_message ? 1 : 0;
      has_messages = has_messages || (is_used && is_message);
    }
    return count + (has_messages ? 1 : 0);
  }

  void Hold(std::string_view category, std::int64_t bytes) {
    if (bytes != 0) {
      program_.held_memory.Append({.category = program_.strings.Intern(category), .bytes = bytes});
    }
  }

  /// Allocates memory at the begin of a task, or frees it at the end.
  void Allocate(TaskId task, std::string_view category, std::int64_t bytes) {
    if (bytes != 0 && task != kNone) {
      program_.memory_changes.Append(
          {.task = task, .category = program_.strings.Intern(category), .bytes = bytes});
    }
  }

  void Free(TaskId task, std::string_view category, std::int64_t bytes) {
    Allocate(task, category, -bytes);
  }

  [[nodiscard]] Program Finish() { return std::move(program_); }

 private:
  static constexpr LaneId kHost = 0;
  static constexpr LaneId kComputing = 1;

  struct Running {
    TaskId task = kNone;
    int left = 0;  // operators that may still overlap with it
  };

  /// The progress of a list, and what its next computation waits for.
  struct Track {
    Pass pass;
    std::size_t next = 0;
    TaskId last_compute = kNone;
    std::vector<TaskId> awaited;
    std::vector<Running> overlapped;
    PassTasks tasks = {};
  };

  [[nodiscard]] Track Begin(const Pass& pass) const {
    return {.pass = pass, .last_compute = last_compute_, .awaited = awaited_, .overlapped = {}};
  }

  /// Continues until a communication that is waited for is written; false: nothing is left.
  bool Advance(Track& track) {
    const Part part = track.pass.part;
    while (track.next < track.pass.ops->size()) {
      const PreparedOp& op = (*track.pass.ops)[track.next++];
      if ((part == Part::kWithoutWeights && op.is_wgrad) ||
          (part == Part::kWeightsOnly && !op.is_wgrad)) {
        continue;
      }
      if (op.communication != kNone) {
        AddCommunication(track, op);
        if (op.overlapped_ops == 0) {
          return true;
        }
        continue;
      }
      AwaitOverlapped(track);
      track.last_compute =
          Compute(Loaded(op, track.pass.load), track.pass.microbatch, track.awaited);
      track.tasks.first = track.tasks.first == kNone ? track.last_compute : track.tasks.first;
      track.tasks.last = track.last_compute;
      if (op.host_waits) {
        HostWaitsFor(track.last_compute);
      }
    }
    return false;
  }

  /// An operation with what it has to do in a layer and a micro-batch.
  [[nodiscard]] PreparedOp Loaded(const PreparedOp& op, const RoutedLoad& load) {
    if (!op.is_routed || load == RoutedLoad{}) {
      return op;
    }
    PreparedOp loaded = op;
    loaded.duration_ps = std::llround(static_cast<double>(op.duration_ps) * load.compute);
    if (op.communication != kNone) {
      Communications::Row row = program_.communications.At(op.communication);
      const double factor = row.kind == CollectiveKind::kAllToAll ? load.sent : load.compute;
      row.bytes = std::llround(static_cast<double>(row.bytes) * factor);
      const auto [known, is_new] = loaded_.try_emplace({op.communication, row.bytes}, kNone);
      if (is_new) {
        known->second = program_.communications.Append(row);
      }
      loaded.communication = known->second;
    }
    return loaded;
  }

  void AddCommunication(Track& track, const PreparedOp& op) {
    const TaskId task =
        WriteCommunication(Loaded(op, track.pass.load), track.last_compute, track.pass.microbatch);
    AddEdges(track.awaited, task);
    if (op.host_waits) {
      HostWaitsFor(task);
    }
    if (op.overlapped_ops == 0) {
      track.awaited = {task};
    } else {
      track.overlapped.push_back({task, op.overlapped_ops});
    }
  }

  static void AwaitOverlapped(Track& track) {
    std::erase_if(track.overlapped, [&track](Running& running) {
      if (running.left > 0) {
        --running.left;
        return false;
      }
      track.awaited.push_back(running.task);
      return true;
    });
  }

  // No communication overlaps with operations beyond its list.
  void End(Track& track) {
    for (const Running& running : track.overlapped) {
      track.awaited.push_back(running.task);
    }
    awaited_.insert(awaited_.end(), track.awaited.begin(), track.awaited.end());
  }

  [[nodiscard]] PartId PartOf(const LayerOp& op, Phase phase, int chunk) {
    Parts::Row row;
    row.phase = phase;
    row.chunk = chunk;
    if (op.communication) {
      row.category = program_.strings.Intern(Name(op.communication->role));
      row.sm_share = CommunicationShare(*op.communication);
    } else {
      row.category = program_.strings.Intern(Name(op.category));
      row.sm_share = 1'000'000;
      row.memory_share = op.cost.memory_share;
      row.compute_share = op.cost.compute_share;
      row.operation = op.cost.operation;
    }
    return parts_.Find(row, program_);
  }

  // Copy engines hold no multiprocessor.
  [[nodiscard]] std::uint32_t CommunicationShare(const Communication& communication) const {
    return communication.in_pieces
               ? 0
               : workload::CommunicationShare(communication.kind, job_.gpu.multiprocessors);
  }

  [[nodiscard]] LaneId LaneOf(GroupRole role) {
    LaneId& lane = lane_of_role_[static_cast<std::size_t>(role)];
    if (lane == kNone) {
      lane = program_.lanes.Append(
          {.kind = LaneKind::kStream, .number = 20 + static_cast<std::int64_t>(role)});
    }
    return lane;
  }

  TaskId Launch(const PreparedOp& op) {
    if (!op.is_launched) {
      return kNone;
    }
    return program_.tasks.Append({.lane = kHost,
                                  .kind = TaskKind::kLaunch,
                                  .duration_ps = op.launch_ps,
                                  .name = launch_name_});
  }

  TaskId Compute(const PreparedOp& op, int microbatch, std::vector<TaskId>& awaited) {
    const TaskId launch = Launch(op);
    const TaskId task = program_.tasks.Append({.lane = op.lane,
                                               .kind = TaskKind::kKernel,
                                               .duration_ps = op.duration_ps,
                                               .name = op.name,
                                               .launch = launch,
                                               .part = op.part,
                                               .microbatch = microbatch});
    AddEdges(awaited, task);
    awaited.clear();
    last_compute_ = task;
    if (job_.framework.launch_blocking && launch != kNone) {
      HostWaitsFor(task);
    }
    return task;
  }

  void AddEdges(std::span<const TaskId> from, TaskId to) {
    for (const TaskId task : from) {
      program_.edges.Append({.from = task, .to = to});
    }
  }

  const Job& job_;
  Program program_;
  PartIndex parts_;
  std::array<LaneId, kNumGroupRoles> lane_of_role_ = {};
  StringId launch_name_ = StringId::kEmpty;
  TaskId last_compute_ = kNone;
  // Communications with other sizes, by what they were prepared as and their bytes.
  std::map<std::pair<CommunicationId, std::int64_t>, CommunicationId> loaded_;
  std::vector<TaskId> awaited_;  // by the next computation

  std::array<LaneId, 3> side_lanes_ = {kNone, kNone, kNone};
};

/// The inputs of the program of one pipeline device.
struct StageSource {
  const Job& job;
  const PipelineShape& shape;
  const ModelUnits& model;
  std::span<const UnitOps> kinds;  // those of the model, with costs
  ProgramId program = 0;           // of the model's
  int stage = 0;
  std::vector<LayerOp> optimizer = {};
};

/// Writes the program of one device for one training step.
[[nodiscard]] Result<Program> WriteStageProgram(const StageSource& source);

}  // namespace orrery::workload
