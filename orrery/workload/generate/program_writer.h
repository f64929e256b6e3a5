#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/job/job.h"
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
  bool is_launched = true;
};

using PreparedOps = std::vector<PreparedOp>;

/// The first and last computation of a list of operations; kNone if it has none.
struct PassTasks {
  TaskId first = kNone;
  TaskId last = kNone;
};

/// Writes the program of one rank: a host thread, a compute stream, and a stream for each process
/// group.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Job& job);

  [[nodiscard]] PreparedOps Prepare(std::span<const LayerOp> ops, Phase phase, int chunk);

  /// Which operations of a backward pass are written.
  enum class Part : std::uint8_t { kAll, kWithoutWeights, kWeightsOnly };

  /// Writes operations in order. Each waits for the communications before it, except overlapped
  /// ones.
  PassTasks Write(const PreparedOps& ops, int microbatch, Part part = Part::kAll);

  /// Operations of one micro-batch.
  struct Pass {
    const PreparedOps* ops = nullptr;
    int microbatch = -1;
    Part part = Part::kAll;
  };

  /// Interleaves two lists: while one communicates, the other computes.
  std::array<PassTasks, 2> WriteTogether(const Pass& one, const Pass& other);

  /// Writes a communication that waits for `after` and the launch. Returns its task.
  TaskId WriteCommunication(const PreparedOp& communication, TaskId after, int microbatch);

  /// The next computation waits for the task.
  void WaitFor(TaskId task);

  /// A computation that takes no time, for others to wait for.
  void WriteMarker(std::string_view name);

  /// Copies between GPU and host, and work of another host thread on them.
  enum class Side : std::uint8_t { kToHost, kOnHost, kFromHost };

  /// Writes a task on a lane of its own that waits for `after`.
  TaskId WriteSideTask(Side where, std::string_view name, std::int64_t duration_ps, TaskId after);

  void HostWaitsFor(TaskId task);

  /// The last task of the compute stream; kNone before the first.
  [[nodiscard]] TaskId last_compute() const { return last_compute_; }

  /// Process groups used so far; all pipeline messages count as one.
  [[nodiscard]] int NumCommunicators() const;

  void Hold(std::string_view category, std::int64_t bytes);
  /// Allocates memory at the begin of a task, or frees it at the end.
  void Allocate(TaskId task, std::string_view category, std::int64_t bytes);
  void Free(TaskId task, std::string_view category, std::int64_t bytes);

  [[nodiscard]] Program Finish() { return std::move(program_); }

 private:
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

  [[nodiscard]] Track Begin(const Pass& pass) const;
  /// Continues until a communication that is waited for is written; false: nothing is left.
  bool Advance(Track& track);
  void AddCommunication(Track& track, const PreparedOp& op);
  static void AwaitOverlapped(Track& track);
  void End(Track& track);
  [[nodiscard]] PartId PartOf(const LayerOp& op, Phase phase, int chunk);
  [[nodiscard]] LaneId LaneOf(GroupRole role);
  TaskId Launch(const PreparedOp& op);
  TaskId Compute(const PreparedOp& op, int microbatch, std::vector<TaskId>& awaited);
  void AddEdges(std::span<const TaskId> from, TaskId to);

  const Job& job_;
  Program program_;
  PartIndex parts_;
  std::array<LaneId, kNumGroupRoles> lane_of_role_ = {};
  StringId launch_name_ = StringId::kEmpty;
  TaskId last_compute_ = kNone;
  std::vector<TaskId> awaited_;  // by the next computation

  std::array<LaneId, 3> side_lanes_ = {kNone, kNone, kNone};
};

}  // namespace orrery::workload
