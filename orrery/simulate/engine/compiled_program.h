#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/workload/program.h"

namespace orrery::simulate {

/// A program prepared for simulating, shared by all classes that have it.
class CompiledProgram {
 public:
  explicit CompiledProgram(const workload::Program& program);

  [[nodiscard]] const workload::Program& program() const { return *program_; }

  [[nodiscard]] std::uint32_t num_tasks() const {
    return static_cast<std::uint32_t>(lane_of_task_.size());
  }

  [[nodiscard]] std::uint32_t num_lanes() const {
    return static_cast<std::uint32_t>(lane_offsets_.size() - 1);
  }

  /// The tasks of a lane in their order.
  [[nodiscard]] std::span<const workload::TaskId> TasksOf(workload::LaneId lane) const {
    return std::span(tasks_of_lane_)
        .subspan(lane_offsets_[lane], lane_offsets_[lane + 1] - lane_offsets_[lane]);
  }

  [[nodiscard]] workload::LaneId LaneOf(workload::TaskId task) const { return lane_of_task_[task]; }

  /// The place of a task among those of its lane.
  [[nodiscard]] std::uint32_t PlaceOf(workload::TaskId task) const { return place_of_task_[task]; }

  /// The kernel that a launch hands over, the last one of several; kNone for other tasks.
  [[nodiscard]] workload::TaskId KernelOf(workload::TaskId launch) const {
    return kernel_of_launch_[launch];
  }

  /// The place of a communication among those of its role, in the order of the program.
  [[nodiscard]] std::uint32_t TurnOf(workload::TaskId task) const { return turn_of_task_[task]; }

  /// The number of communications of a role.
  [[nodiscard]] std::uint32_t TurnsOn(std::uint32_t role) const { return turns_on_role_[role]; }

  /// The number of predecessors that each task waits for.
  [[nodiscard]] std::span<const std::uint32_t> waits() const { return waits_; }

  [[nodiscard]] const workload::Successors& successors() const { return successors_; }

 private:
  void PrepareLanes();
  void PrepareTurns();

  const workload::Program* program_;
  workload::Successors successors_;
  std::vector<std::uint32_t> waits_;
  std::vector<workload::LaneId> lane_of_task_;
  std::vector<std::uint32_t> place_of_task_;
  std::vector<workload::TaskId> kernel_of_launch_;
  std::vector<std::uint32_t> turn_of_task_;
  std::vector<std::uint32_t> turns_on_role_;
  std::vector<std::uint32_t> lane_offsets_;
  std::vector<workload::TaskId> tasks_of_lane_;
};

}  // namespace orrery::simulate
