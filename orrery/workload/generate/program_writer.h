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
struct PreparedStep {
  StringId name = StringId::kEmpty;
  PartId part = kNone;
  CommunicationId communication = kNone;
  LaneId lane = kNone;
  std::int64_t duration_ps = 0;
  std::int64_t launch_ps = 0;
  int beside = 0;
  bool is_for_weights = false;
  bool is_launched = true;
};

using PreparedSteps = std::vector<PreparedStep>;

/// Writes the program of one rank: a host that launches, one stream that computes, and one stream
/// for each group that it talks in.
class ProgramWriter {
 public:
  explicit ProgramWriter(const Job& job);

  [[nodiscard]] PreparedSteps Prepare(std::span<const PricedStep> steps, Phase phase, int chunk);

  /// Which steps of a backward pass are written.
  enum class Part : std::uint8_t { kAll, kWithoutWeights, kWeightsOnly };

  /// Writes steps in order. A step waits for exchanges before it, but for those it runs beside.
  /// Returns the first computation; kNone when there is none.
  TaskId Write(const PreparedSteps& steps, int microbatch, Part part = Part::kAll);

  /// Writes an exchange that waits for `after` and the launch. Returns its task.
  TaskId WriteExchange(const PreparedStep& exchange, TaskId after, int microbatch);

  /// The next computation waits for the task.
  void WaitFor(TaskId task);

  /// A computation that takes no time, for others to wait for.
  void WriteMarker(std::string_view name);

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
  [[nodiscard]] PartId PartOf(const PricedStep& step, Phase phase, int chunk);
  [[nodiscard]] LaneId LaneOf(Slot slot);
  TaskId Launch(const PreparedStep& step);
  TaskId Compute(const PreparedStep& step, int microbatch);
  void AddEdge(TaskId from, TaskId to);

  const Job& job_;
  Program program_;
  std::array<LaneId, kNumSlots> lane_of_slot_ = {};
  StringId launch_name_ = StringId::kEmpty;
  TaskId last_compute_ = kNone;
  std::vector<TaskId> awaited_;  // by the next computation

  struct Running {
    TaskId task = kNone;
    int left = 0;  // operators that may still run beside it
  };
  std::vector<Running> beside_;
};

}  // namespace orrery::workload
