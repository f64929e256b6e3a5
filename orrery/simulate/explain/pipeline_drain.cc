#include "orrery/simulate/explain/pipeline_drain.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <tuple>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::Ensemble;
using workload::kNone;
using workload::Phase;
using workload::Program;
using workload::Rank;
using workload::TaskId;
using workload::TaskKind;

// The ranks that a rank is joined to by messages between stages, itself first.
std::vector<Rank> PipelineOf(const RankClasses& rank_classes, Rank rank) {
  const Ensemble& ensemble = *rank_classes.ensemble;
  std::vector<Rank> pipeline = {rank};
  for (std::size_t i = 0; i < pipeline.size(); ++i) {
    const Rank member = pipeline[i];
    const Program& program = rank_classes.ProgramOf(rank_classes.class_of_rank[member]);
    for (std::uint32_t role = 0; role < rank_classes.num_roles; ++role) {
      const workload::GroupId group = ensemble.GroupOf(member, role);
      if (group == workload::kNoGroup || DimensionOf(program, role) != kPipeline) {
        continue;
      }
      for (const Rank other : ensemble.Members(group)) {
        if (std::ranges::find(pipeline, other) == pipeline.end()) {
          pipeline.push_back(other);
        }
      }
    }
  }
  return pipeline;
}

// By role, the classes of the other stages that share the group of the pipeline's first rank.
std::vector<std::vector<RankClassId>> StagesInGroups(const RankClasses& rank_classes,
                                                     const std::vector<Rank>& pipeline) {
  const Ensemble& ensemble = *rank_classes.ensemble;
  const Rank rank = pipeline.front();
  const Program& program = rank_classes.ProgramOf(rank_classes.class_of_rank[rank]);
  std::vector<std::vector<RankClassId>> stages(rank_classes.num_roles);
  for (std::uint32_t role = 0; role < rank_classes.num_roles; ++role) {
    const workload::GroupId group = ensemble.GroupOf(rank, role);
    if (group == workload::kNoGroup || DimensionOf(program, role) == kPipeline) {
      continue;
    }
    for (const Rank other : std::span(pipeline).subspan(1)) {
      if (ensemble.GroupOf(other, role) == group) {
        stages[role].push_back(rank_classes.class_of_rank[other]);
      }
    }
  }
  return stages;
}

bool IsPass(const Program& program, TaskId task) {
  if (program.tasks.kind[task] != TaskKind::kKernel || program.tasks.communication[task] != kNone) {
    return false;
  }
  const workload::PartId part = program.tasks.part[task];
  const Phase phase = part == kNone ? Phase::kOther : program.parts.phase[part];
  return phase != Phase::kOptimizer && phase != Phase::kReduce && phase != Phase::kGather;
}

constexpr std::int64_t kNoPassPs = std::numeric_limits<std::int64_t>::min();

// For each of these times, which are sorted, the last end of a pass since the time before it.
std::vector<std::int64_t> LastPassesPs(const RankClasses& rank_classes, const Timeline& timeline,
                                       RankClassId rank_class,
                                       const std::vector<std::int64_t>& until_ps) {
  const Program& program = rank_classes.ProgramOf(rank_class);
  const std::size_t first = timeline.First(rank_class);
  std::vector<std::int64_t> last_ps(until_ps.size(), kNoPassPs);
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (!IsPass(program, task)) {
      continue;
    }
    const std::int64_t end_ps = timeline.end_ps[first + task];
    const auto next = std::ranges::lower_bound(until_ps, end_ps);
    const bool is_work = end_ps > timeline.begin_ps[first + task];  // no marker
    if (is_work && next != until_ps.end()) {
      std::int64_t& last = last_ps[static_cast<std::size_t>(next - until_ps.begin())];
      last = std::max(last, end_ps);
    }
  }
  return last_ps;
}

}  // namespace

PipelineDrain::PipelineDrain(const RankClasses& rank_classes, const Timeline& timeline,
                             RankClassId rank_class) {
  if (rank_classes.ensemble == nullptr) {
    return;
  }
  const std::vector<Rank> pipeline =
      PipelineOf(rank_classes, rank_classes.classes[rank_class].rank);
  const StagesByRole stages = StagesInGroups(rank_classes, pipeline);
  AddMeetings(rank_classes.ProgramOf(rank_class), timeline, timeline.First(rank_class), stages);
  if (!meetings_.empty()) {
    MeasureDrains(rank_classes, timeline, rank_class, stages);
  }
}

void PipelineDrain::AddMeetings(const Program& program, const Timeline& timeline, std::size_t first,
                                const StagesByRole& stages) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    const std::int64_t arrived_ps = timeline.transfer_ps[first + task];
    if (communication == kNone || arrived_ps == kNeverPs) {
      continue;
    }
    const std::uint32_t role = program.communications.role[communication];
    if (role < stages.size() && !stages[role].empty()) {
      meetings_.push_back({.arrived_ps = arrived_ps, .role = role});
    }
  }
  std::ranges::sort(meetings_);
}

void PipelineDrain::MeasureDrains(const RankClasses& rank_classes, const Timeline& timeline,
                                  RankClassId rank_class, const StagesByRole& stages) {
  std::vector<std::int64_t> times_ps;
  for (const Meeting& meeting : meetings_) {
    times_ps.push_back(meeting.arrived_ps);
  }
  std::map<RankClassId, std::vector<std::int64_t>> last_ps;
  for (Meeting& meeting : meetings_) {
    for (const RankClassId stage : stages[meeting.role]) {
      if (!last_ps.contains(stage)) {
        last_ps[stage] = LastPassesPs(rank_classes, timeline, stage, times_ps);
      }
    }
  }
  const std::vector<std::int64_t> own_ps =
      LastPassesPs(rank_classes, timeline, rank_class, times_ps);
  for (std::size_t i = 0; i < meetings_.size(); ++i) {
    for (const RankClassId stage : stages[meetings_[i].role]) {
      if (own_ps[i] != kNoPassPs && last_ps[stage][i] > own_ps[i]) {
        meetings_[i].drain_ps = std::max(meetings_[i].drain_ps, last_ps[stage][i] - own_ps[i]);
      }
    }
  }
}

std::int64_t PipelineDrain::BubblePs(std::uint32_t role, std::int64_t arrived_ps,
                                     std::int64_t wait_ps) const {
  const auto meeting = std::ranges::lower_bound(
      meetings_, std::tuple(arrived_ps, role), {},
      [](const Meeting& known) { return std::tuple(known.arrived_ps, known.role); });
  const bool is_known =
      meeting != meetings_.end() && meeting->arrived_ps == arrived_ps && meeting->role == role;
  return is_known ? std::min(meeting->drain_ps, wait_ps) : 0;
}

}  // namespace orrery::simulate
