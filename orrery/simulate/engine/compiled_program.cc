#include "orrery/simulate/engine/compiled_program.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "orrery/workload/program.h"

namespace orrery::simulate {

using workload::kNone;
using workload::LaneId;
using workload::TaskId;

CompiledProgram::CompiledProgram(const workload::Program& program)
    : program_(&program),
      successors_(workload::SuccessorsOf(program)),
      waits_(program.tasks.size(), 0),
      lane_of_task_(program.tasks.lane) {
  for (const TaskId target : successors_.targets) {
    ++waits_[target];
  }
  PrepareLanes();
  PrepareTurns();
}

void CompiledProgram::PrepareLanes() {
  place_of_task_.resize(num_tasks());
  kernel_of_launch_.assign(num_tasks(), kNone);
  tasks_of_lane_.resize(num_tasks());
  lane_offsets_.assign(program_->lanes.size() + 1, 0);
  for (TaskId task = 0; task < num_tasks(); ++task) {
    place_of_task_[task] = lane_offsets_[lane_of_task_[task] + 1]++;
    if (program_->tasks.launch[task] != kNone) {
      kernel_of_launch_[program_->tasks.launch[task]] = task;
    }
  }
  for (LaneId lane = 0; lane < num_lanes(); ++lane) {
    lane_offsets_[lane + 1] += lane_offsets_[lane];
  }
  for (TaskId task = 0; task < num_tasks(); ++task) {
    tasks_of_lane_[lane_offsets_[lane_of_task_[task]] + place_of_task_[task]] = task;
  }
}

void CompiledProgram::PrepareTurns() {
  const workload::Communications& communications = program_->communications;
  turn_of_task_.assign(num_tasks(), 0);
  for (const std::uint32_t role : communications.role) {
    turns_on_role_.resize(std::max<std::size_t>(turns_on_role_.size(), role + std::size_t{1}), 0);
  }
  for (TaskId task = 0; task < num_tasks(); ++task) {
    const workload::CommunicationId communication = program_->tasks.communication[task];
    if (communication != kNone) {
      turn_of_task_[task] = turns_on_role_[communications.role[communication]]++;
    }
  }
}

}  // namespace orrery::simulate
