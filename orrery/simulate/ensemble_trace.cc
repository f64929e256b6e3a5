#include "orrery/simulate/ensemble_trace.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/text.h"
#include "orrery/kernel/operator.h"
#include "orrery/simulate/engine/compiled_program.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/memory_timeline.h"
#include "orrery/simulate/operator_class.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/folded_ranks.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::GroupId;
using workload::kNoGroup;
using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::Rank;
using workload::TaskId;
using workload::TaskKind;

constexpr std::int64_t kProcess = 1;
constexpr std::string_view kStepMarker = "ProfilerStep#";

// Rounds to the unit of traces, halves up; times before 0 are those of hosts that run ahead.
constexpr std::int64_t Nanoseconds(std::int64_t picoseconds) {
  const std::int64_t raised = picoseconds + 500;
  return (raised >= 0 ? raised : raised - 999) / 1000;
}

// Returns the time of a task alone, and its wait for room, as arguments of its slice.
std::string DelayFields(const DelayedTask* delayed) {
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  if (delayed == nullptr) {
    return "";
  }
  std::string fields = fmt::format(
      "\"alone_us\": {:.3f}", static_cast<double>(delayed->alone_ps) / kPicosecondsPerMicrosecond);
  if (delayed->delayed_ps > 0) {
    fields += fmt::format(", \"delayed_us\": {:.3f}",
                          static_cast<double>(delayed->delayed_ps) / kPicosecondsPerMicrosecond);
  }
  return fields;
}

// The class of a generated kernel, which has the name of a layer; one that was recorded in a call
// has the name of its kernel.
std::string ClassField(const workload::Program& program, TaskId task) {
  const workload::PartId part = program.tasks.part[task];
  const std::uint8_t operation =
      part == kNone ? workload::kNoOperation : program.parts.operation[part];
  if (operation >= kernel::kNumOperatorKinds || program.tasks.call[task] != kNone) {
    return "";
  }
  const trace::KernelClass kernel_class =
      program.parts.phase[part] == workload::Phase::kOptimizer
          ? trace::KernelClass::kOptimizer
          : ClassOf(static_cast<kernel::OperatorKind>(operation));
  return fmt::format("{}{}\"", trace::kClassArgument, KernelClassName(kernel_class));
}

// The descriptions that frameworks give their groups, from which readers infer the dimension.
std::string DescriptionOf(const std::string& dimension) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kDescriptions{
      {{"tp", "tensor_parallel"},
       {"dp", "data_parallel"},
       {"pp", "pipeline_parallel"},
       {"cp", "context_parallel"},
       {"ep", "expert_parallel"},
       {kAllRanks, "all_ranks"}}};
  const auto* const found = std::ranges::find(
      kDescriptions, dimension, &std::pair<std::string_view, std::string_view>::first);
  return found == kDescriptions.end() ? dimension : std::string(found->second);
}

/// Whose trace is written: a rank, and the rank class that simulated it.
struct TracedRank {
  Rank rank = 0;
  RankClassId rank_class = 0;
  bool is_for_class = false;  // its groups are those of the rank classes, not its own
};

/// Writes the groups and collectives of one rank.
class CollectiveRows {
 public:
  CollectiveRows(const RankClasses& rank_classes, const TracedRank& traced, trace::Trace& trace)
      : rank_classes_(rank_classes),
        traced_(traced),
        program_(rank_classes.ProgramOf(traced.rank_class)),
        trace_(trace),
        compiled_(program_) {
    AddGroups();
  }

  // A communication that ran as an activity; nothing for those without a group.
  void Add(int repetition, TaskId task, RowId activity) {
    const workload::CommunicationId communication = program_.tasks.communication[task];
    if (communication == kNone) {
      return;
    }
    const workload::Communications::Row row = program_.communications.At(communication);
    if (row.role >= rank_classes_.num_roles || group_of_role_[row.role] == kNoRow) {
      return;
    }
    trace::Collectives::Row collective{
        .begin_ns = trace_.activities.begin_ns[activity],
        .duration_ns = trace_.activities.duration_ns[activity],
        .name = trace_.activities.name[activity],
        .kind = row.kind,
        .group = group_of_role_[row.role],
        .data_type = row.element,
        .sequence = std::int64_t{repetition} * compiled_.TurnsOn(row.role) + compiled_.TurnOf(task),
        .track = trace_.activities.track[activity],
        .num_kernels = 1,
    };
    if (row.kind == CollectiveKind::kSendRecv && peer_of_role_[row.role] >= 0) {
      collective.kind = Sends(task, row.role) ? CollectiveKind::kSend : CollectiveKind::kRecv;
      collective.peer = peer_of_role_[row.role];
    }
    SetSizes(row, collective);
    trace_.activities.collective[activity] = trace_.collectives.Append(collective);
  }

 private:
  void AddGroups() {
    group_of_role_.assign(rank_classes_.num_roles, kNoRow);
    peer_of_role_.assign(rank_classes_.num_roles, -1);
    for (std::uint32_t role = 0; role < rank_classes_.num_roles; ++role) {
      const GroupClassId group = rank_classes_.GroupOf(traced_.rank_class, role);
      if (group != kNoGroup) {
        AddGroup(role, group);
      }
    }
  }

  void AddGroup(std::uint32_t role, GroupClassId group_class) {
    const auto members = rank_classes_.ensemble->Members(RealGroup(role, group_class));
    group_of_role_[role] = trace_.process_groups.Append(
        {.name = trace_.strings.Intern(GroupName(role, group_class)),
         .description = trace_.strings.Intern(DescriptionOf(DimensionOf(program_, role))),
         .backend = trace_.strings.Intern("nccl"),
         .num_ranks = static_cast<std::int32_t>(members.size()),
         .ranks = trace_.strings.Intern(fmt::format("[{}]", fmt::join(members, ",")))});
    peer_of_role_[role] = PeerOn(role, group_class);
  }

  [[nodiscard]] GroupId RealGroup(std::uint32_t role, GroupClassId group_class) const {
    return traced_.is_for_class ? rank_classes_.groups[group_class].group
                                : rank_classes_.ensemble->GroupOf(traced_.rank, role);
  }

  // The same text on all members, and another one for each place where communication meets.
  [[nodiscard]] std::string GroupName(std::uint32_t role, GroupClassId group_class) const {
    const std::string dimension = DimensionOf(program_, role);
    if (traced_.is_for_class) {
      return fmt::format("{} {}", dimension, group_class);
    }
    const GroupId group = RealGroup(role, group_class);
    int uses = 0;
    for (std::uint32_t other = 0; other < rank_classes_.num_roles; ++other) {
      uses += rank_classes_.ensemble->GroupOf(traced_.rank, other) == group ? 1 : 0;
    }
    return uses > 1 ? fmt::format("{} {} role {}", dimension, group, role)
                    : fmt::format("{} {}", dimension, group);
  }

  // The other rank of a pair; for a rank class's trace the rank that stands for it.
  [[nodiscard]] std::int32_t PeerOn(std::uint32_t role, GroupClassId group_class) const {
    const auto members = rank_classes_.ensemble->Members(RealGroup(role, group_class));
    if (members.size() != 2) {
      return -1;
    }
    const bool is_first = rank_classes_.class_of_rank[members[0]] == traced_.rank_class;
    if (traced_.is_for_class) {
      return static_cast<std::int32_t>(
          rank_classes_.classes[rank_classes_.class_of_rank[members[is_first ? 1 : 0]]].rank);
    }
    return static_cast<std::int32_t>(members[members[0] == traced_.rank ? 1 : 0]);
  }

  [[nodiscard]] bool Sends(TaskId task, std::uint32_t role) const {
    const std::string_view name = program_.strings.View(program_.tasks.name[task]);
    const bool is_send = Contains(name, "send");
    const bool is_receive = Contains(name, "recv") || Contains(name, "receive");
    if (is_send != is_receive) {
      return is_send;
    }
    const GroupId group = RealGroup(role, rank_classes_.GroupOf(traced_.rank_class, role));
    const Rank first = rank_classes_.ensemble->Members(group)[0];
    return traced_.is_for_class ? rank_classes_.class_of_rank[first] == traced_.rank_class
                                : first == traced_.rank;
  }

  void SetSizes(const workload::Communications::Row& row,
                trace::Collectives::Row& collective) const {
    const std::int64_t num_ranks = trace_.process_groups.num_ranks[collective.group];
    collective.in_bytes = row.bytes;
    collective.out_bytes = row.bytes;
    if (collective.kind == CollectiveKind::kAllGather) {
      collective.in_bytes = row.bytes / num_ranks;
    } else if (collective.kind == CollectiveKind::kReduceScatter) {
      collective.out_bytes = row.bytes / num_ranks;
    }
    const std::int64_t element_bytes = SizeInBytes(1, collective.data_type);
    collective.in_elements = collective.in_bytes / element_bytes;
    collective.out_elements = collective.out_bytes / element_bytes;
  }

  const RankClasses& rank_classes_;
  TracedRank traced_;
  const workload::Program& program_;
  trace::Trace& trace_;
  CompiledProgram compiled_;
  std::vector<RowId> group_of_role_;
  std::vector<std::int32_t> peer_of_role_;  // of pairs
};

/// Writes the trace of one rank. Picoseconds are rounded to nanoseconds here and nowhere else.
class RankTrace {
 public:
  RankTrace(const RankClasses& rank_classes, const Timeline& timeline, const TracedRank& traced)
      : rank_classes_(rank_classes),
        timeline_(timeline),
        traced_(traced),
        program_(rank_classes.ProgramOf(traced.rank_class)) {}

  trace::Trace Write(const std::string& gpu, const std::vector<std::int64_t>& step_ends_ps,
                     bool marks_training_loop) {
    trace_.info.format = "Orrery prediction";
    trace_.info.rank = static_cast<std::int32_t>(traced_.rank);
    trace_.info.world_size = static_cast<std::int32_t>(rank_classes_.class_of_rank.size());
    trace_.info.time_origin = trace::TimeOrigin::kRecordingStart;
    trace_.devices.Append({.id = 0, .name = trace_.strings.Intern(gpu)});
    names_ = trace_.strings.Merge(program_.strings);
    AddTracks();
    const std::int64_t ahead_ps = HostAheadPs();
    std::int64_t begin_ns = Nanoseconds(-ahead_ps);
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      const std::int64_t end_ns =
          Nanoseconds(step_ends_ps[static_cast<std::size_t>(repetition)] - ahead_ps);
      if (marks_training_loop && !program_.tasks.empty()) {
        AddStep(repetition, BeginNs(repetition, 0), EndNs(repetition, LastOfLoop()));
      } else {
        AddStep(repetition, std::exchange(begin_ns, end_ns), end_ns);
      }
      AddCalls(repetition);
      AddRuntimeCalls(repetition);
    }
    AddActivities();
    AddMemory();
    trace::FinishTrace(trace_);
    return std::move(trace_);
  }

 private:
  struct Activity {
    int repetition = 0;
    TaskId task = 0;
    std::int64_t begin_ns = 0;
    std::int64_t duration_ns = 0;

    [[nodiscard]] auto Order() const {
      return std::tuple(begin_ns, -duration_ns, repetition, task);
    }
  };

  [[nodiscard]] std::size_t IndexOf(int repetition, TaskId task) const {
    return timeline_.First(traced_.rank_class, repetition) + task;
  }

  // When it had room on the GPU.
  [[nodiscard]] std::int64_t BeginNs(int repetition, TaskId task) const {
    return Nanoseconds(timeline_.StartPs(IndexOf(repetition, task)));
  }

  [[nodiscard]] std::int64_t EndNs(int repetition, TaskId task) const {
    return Nanoseconds(timeline_.end_ps[IndexOf(repetition, task)]);
  }

  // The program's string in the trace.
  [[nodiscard]] StringId Name(StringId id) const { return names_[static_cast<std::size_t>(id)]; }

  // A track for each lane, with the lane's number as its row.
  void AddTracks() {
    for (LaneId lane = 0; lane < program_.lanes.size(); ++lane) {
      const bool is_stream = program_.lanes.kind[lane] == LaneKind::kStream;
      const std::int64_t number = program_.lanes.number[lane];
      trace_.tracks.Append({.kind = is_stream ? trace::TrackKind::kDevice : trace::TrackKind::kHost,
                            .process = is_stream ? 0 : kProcess,
                            .thread = number,
                            .device = is_stream ? 0 : -1,
                            .name = trace_.strings.Intern(
                                fmt::format("{} {}", is_stream ? "stream" : "thread", number))});
    }
  }

  // The marker of a step on the lane of the first task, the thread that runs the training loop.
  void AddStep(int repetition, std::int64_t begin_ns, std::int64_t end_ns) {
    if (!program_.tasks.empty()) {
      trace_.annotations.Append(
          {.begin_ns = begin_ns,
           .duration_ns = end_ns - begin_ns,
           .name = trace_.strings.Intern(fmt::format("{}{}", kStepMarker, repetition)),
           .track = program_.tasks.lane[0]});
    }
  }

  [[nodiscard]] TaskId LastOfLoop() const {
    TaskId last = 0;
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      last = program_.tasks.lane[task] == program_.tasks.lane[0] ? task : last;
    }
    return last;
  }

  // The time before 0 at which the rank's host begins the first step, if steps before it are left
  // out.
  [[nodiscard]] std::int64_t HostAheadPs() const {
    std::int64_t ahead_ps = 0;
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      if (program_.lanes.kind[program_.tasks.lane[task]] == LaneKind::kHostThread) {
        ahead_ps = std::max(ahead_ps, -timeline_.begin_ps[IndexOf(0, task)]);
      }
    }
    return ahead_ps;
  }

  // Operators and annotations on host threads. The marker of a recorded step is left out: each
  // repetition has one of its own.
  void AddCalls(int repetition) {
    for (workload::CallId call = 0; call < program_.calls.size(); ++call) {
      const workload::Calls::Row row = program_.calls.At(call);
      const bool is_step_marker =
          row.is_annotation != 0 && program_.strings.View(row.name).starts_with(kStepMarker);
      if (row.first_task == kNone || is_step_marker) {
        continue;
      }
      const std::int64_t begin_ns = BeginNs(repetition, row.first_task);
      const std::int64_t duration_ns = EndNs(repetition, row.last_task) - begin_ns;
      const StringId name = Name(row.name);
      if (row.is_annotation != 0) {
        trace_.annotations.Append({begin_ns, duration_ns, name, row.lane});
      } else {
        trace_.host_ops.Append({begin_ns, duration_ns, name, row.lane});
      }
    }
  }

  // Launches and waits on host threads, with correlation ids.
  void AddRuntimeCalls(int repetition) {
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      const TaskKind kind = program_.tasks.kind[task];
      if (kind == TaskKind::kLaunch || kind == TaskKind::kSynchronize) {
        const std::int64_t begin_ns = BeginNs(repetition, task);
        trace_.runtime_calls.Append({.begin_ns = begin_ns,
                                     .duration_ns = EndNs(repetition, task) - begin_ns,
                                     .name = Name(program_.tasks.name[task]),
                                     .track = program_.tasks.lane[task],
                                     .correlation = Correlation(repetition, task)});
      }
    }
  }

  [[nodiscard]] std::int64_t Correlation(int repetition, TaskId launch) const {
    return repetition * static_cast<std::int64_t>(program_.tasks.size()) + launch + 1;
  }

  // In the order of FinishTrace, so that links between activities and collectives stay right.
  void AddActivities() {
    std::vector<Activity> activities;
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      for (TaskId task = 0; task < program_.tasks.size(); ++task) {
        const TaskKind kind = program_.tasks.kind[task];
        if (kind == TaskKind::kKernel || kind == TaskKind::kCollective) {
          const std::int64_t begin_ns = BeginNs(repetition, task);
          activities.push_back({repetition, task, begin_ns, EndNs(repetition, task) - begin_ns});
        }
      }
    }
    std::ranges::sort(activities, {}, &Activity::Order);
    CollectiveRows collectives(rank_classes_, traced_, trace_);
    for (const Activity& activity : activities) {
      collectives.Add(activity.repetition, activity.task, AddActivity(activity));
    }
  }

  RowId AddActivity(const Activity& activity) {
    const TaskId launch = program_.tasks.launch[activity.task];
    const std::size_t index = IndexOf(activity.repetition, activity.task);
    std::string arguments = DelayFields(timeline_.FindDelayed(index));
    const std::string class_field = ClassField(program_, activity.task);
    arguments += (arguments.empty() || class_field.empty() ? "" : ", ") + class_field;
    return trace_.activities.Append(
        {.begin_ns = activity.begin_ns,
         .duration_ns = activity.duration_ns,
         .name = Name(program_.tasks.name[activity.task]),
         .track = program_.tasks.lane[activity.task],
         .correlation = launch == kNone ? -1 : Correlation(activity.repetition, launch),
         .extra = trace_.strings.Intern(arguments)});
  }

  void AddMemory() {
    std::int64_t total = 0;
    const auto add = [&](std::int64_t at_ps, StringId category, std::int64_t bytes) {
      total += bytes;
      trace_.memory_events.Append({.begin_ns = Nanoseconds(at_ps),
                                   .bytes = bytes,
                                   .device_kind = trace::DeviceKind::kGpu,
                                   .device = 0,
                                   .total_allocated_bytes = total,
                                   .name = Name(category)});
    };
    for (std::size_t row = 0; row < program_.held_memory.size(); ++row) {
      add(0, program_.held_memory.category[row], program_.held_memory.bytes[row]);
    }
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      for (const MemoryStep& step : MemorySteps(program_, timeline_, IndexOf(repetition, 0))) {
        add(step.at_ps, step.category, step.bytes);
      }
    }
  }

  const RankClasses& rank_classes_;
  const Timeline& timeline_;
  TracedRank traced_;
  const workload::Program& program_;
  trace::Trace trace_;
  std::vector<StringId> names_;  // of the program's strings in the trace
};

std::vector<TracedRank> RanksToTrace(const RankClasses& rank_classes, std::uint32_t most_ranks) {
  std::vector<TracedRank> traced;
  if (rank_classes.class_of_rank.size() <= most_ranks) {
    for (Rank rank = 0; rank < rank_classes.class_of_rank.size(); ++rank) {
      traced.push_back({.rank = rank, .rank_class = rank_classes.class_of_rank[rank]});
    }
    return traced;
  }
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    traced.push_back({.rank = rank_classes.classes[rank_class].rank,
                      .rank_class = rank_class,
                      .is_for_class = true});
  }
  return traced;
}

}  // namespace

trace::TraceSet EnsembleTrace(const RankClasses& rank_classes, const Timeline& timeline,
                              const EnsembleTraceOptions& options) {
  std::vector<std::int64_t> step_ends_ps;
  for (int repetition = 0; repetition < timeline.repetitions; ++repetition) {
    step_ends_ps.push_back(std::max<std::int64_t>(timeline.EndOfRepetition(repetition), 0));
  }
  trace::TraceSet set;
  set.card = options.card;
  for (const TracedRank& traced : RanksToTrace(rank_classes, options.most_ranks)) {
    if (traced.is_for_class) {
      trace::WorkloadCard& card = set.card ? *set.card : set.card.emplace();
      card.values[std::string(trace::kFoldedRanks)] = "true";
    }
    const std::string& gpu =
        options.gpu_of_program.empty()
            ? options.gpu
            : options.gpu_of_program[rank_classes.classes[traced.rank_class].program];
    set.ranks.push_back(RankTrace(rank_classes, timeline, traced)
                            .Write(gpu, step_ends_ps, options.marks_training_loop));
  }
  return set;
}

}  // namespace orrery::simulate
