#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/workload/generate/priced_unit.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// A list of steps in the words of one program, so that writing it again and again is cheap.
struct PreparedOp {
  StringId name = StringId::kEmpty;
  PartId part = kNone;
  CommunicationId communication = kNone;
  LaneId lane = kNone;
  std::int64_t duration_ps = 0;
  std::int64_t launch_ps = 0;
  int beside = 0;
  bool is_wgrad = false;
  bool is_launched = true;
};

using PreparedOps = std::vector<PreparedOp>;

/// Computations of a list of steps, from the first to the last; kNone when there are none.
struct PassTasks {
  TaskId first = kNone;
  TaskId last = kNone;
};

/// Writes the program of one rank: a host that launches, one stream that computes, and one stream
/// for each group that it talks in.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Job& job);

  [[nodiscard]] PreparedOps Prepare(std::span<const PricedOp> steps, Phase phase, int chunk);

  /// Which steps of a backward pass are written.
  enum class Part : std::uint8_t { kAll, kWithoutWeights, kWeightsOnly };

  /// Writes steps in order. A step waits for communications before it, but for those it runs
  /// beside.
  PassTasks Write(const PreparedOps& steps, int microbatch, Part part = Part::kAll);

  /// Ops of one micro-batch.
  struct Pass {
    const PreparedOps* steps = nullptr;
    int microbatch = -1;
    Part part = Part::kAll;
  };

  /// Writes two lists side by side: while one communications, the other computes.
  std::array<PassTasks, 2> WriteTogether(const Pass& one, const Pass& other);

  /// Writes an communication that waits for `after` and the launch. Returns its task.
  TaskId WriteCommunication(const PreparedOp& communication, TaskId after, int microbatch);

  /// The next computation waits for the task.
  void WaitFor(TaskId task);

  /// A computation that takes no time, for others to wait for.
  void WriteMarker(std::string_view name);

  /// Copies between the GPU and the host, and what another thread of the host does with them.
  enum class Aside : std::uint8_t { kToHost, kOnHost, kFromHost };

  /// Work beside the streams that all programs have, which waits for `after`.
  TaskId WriteAside(Aside where, std::string_view name, std::int64_t duration_ps, TaskId after);

  /// The host works, or waits for a task.
  void HostWorks(std::string_view name, std::int64_t duration_ps);
  void HostWaitsFor(TaskId task);

  /// The last task of the compute stream; kNone before the first.
  [[nodiscard]] TaskId last_compute() const { return last_compute_; }

  /// Groups that the program talks in so far; neighbours in the pipeline are one.
  [[nodiscard]] int NumCommunicators() const;

  void Hold(std::string_view category, std::int64_t bytes);
  /// Memory from the begin of a task on, or until its end.
  void Take(TaskId task, std::string_view category, std::int64_t bytes);
  void GiveBack(TaskId task, std::string_view category, std::int64_t bytes);

  [[nodiscard]] Program Finish() { return std::move(program_); }

 private:
  struct Running {
    TaskId task = kNone;
    int left = 0;  // operators that may still run beside it
  };

  /// How far a list is written, and what its next computation waits for.
  struct Track {
    Pass pass;
    std::size_t next = 0;
    TaskId last_compute = kNone;
    std::vector<TaskId> awaited;
    std::vector<Running> beside;
    PassTasks tasks = {};
  };

  [[nodiscard]] Track Begin(const Pass& pass) const;
  /// Writes on until an communication that is waited for is written; false: nothing is left.
  bool Advance(Track& track);
  void AddCommunication(Track& track, const PreparedOp& step);
  static void AwaitBeside(Track& track);
  void End(Track& track);
  [[nodiscard]] PartId PartOf(const PricedOp& step, Phase phase, int chunk);
  [[nodiscard]] LaneId LaneOf(GroupRole role);
  TaskId Launch(const PreparedOp& step);
  TaskId Compute(const PreparedOp& step, int microbatch, std::vector<TaskId>& awaited);
  void AddEdge(TaskId from, TaskId to);

  const Job& job_;
  Program program_;
  std::array<LaneId, kNumGroupRoles> lane_of_role_ = {};
  StringId launch_name_ = StringId::kEmpty;
  TaskId last_compute_ = kNone;
  std::vector<TaskId> awaited_;  // by the next computation

  std::array<LaneId, 3> lane_aside_ = {kNone, kNone, kNone};
};

}  // namespace orrery::workload
