#include "orrery/workload/generate/program_writer.h"

#include <cmath>
#include <utility>

namespace orrery::workload {
namespace {

constexpr std::int64_t kPicosecondsPerMicrosecond = 1'000'000;
constexpr LaneId kHost = 0;
constexpr LaneId kComputing = 1;
constexpr std::uint32_t kMillion = 1'000'000;

}  // namespace

ProgramWriter::ProgramWriter(const Job& job) : job_(job) {
  program_.lanes.Append({.kind = LaneKind::kHostThread, .number = 0});
  program_.lanes.Append({.kind = LaneKind::kStream, .number = 7});
  lane_of_role_.fill(kNone);
  launch_name_ = program_.strings.Intern("cudaLaunchKernel");
  for (std::uint32_t role = 0; role < kNumGroupRoles; ++role) {
    program_.roles.push_back(program_.strings.Intern(Name(static_cast<GroupRole>(role))));
  }
}

LaneId ProgramWriter::LaneOf(GroupRole role) {
  LaneId& lane = lane_of_role_[static_cast<std::size_t>(role)];
  if (lane == kNone) {
    lane = program_.lanes.Append(
        {.kind = LaneKind::kStream, .number = 20 + static_cast<std::int64_t>(role)});
  }
  return lane;
}

PartId ProgramWriter::PartOf(const PricedOp& step, Phase phase, int chunk) {
  Parts::Row row;
  row.phase = phase;
  row.chunk = chunk;
  if (step.communication) {
    row.category = program_.strings.Intern(Name(step.communication->role));
    row.sm_share = CommunicationShare(step.communication->kind, job_.gpu.multiprocessors);
  } else {
    row.category = program_.strings.Intern(Name(step.category));
    row.sm_share = kMillion;
    row.memory_share = step.memory_share;
    row.compute_share = step.compute_share;
    row.operation = step.operation;
  }
  for (PartId part = 0; part < program_.parts.size(); ++part) {
    if (ContentOf(program_.parts.At(part)) == ContentOf(row)) {
      return part;
    }
  }
  return program_.parts.Append(row);
}

PreparedOps ProgramWriter::Prepare(std::span<const PricedOp> steps, Phase phase, int chunk) {
  const auto launch_ps = static_cast<std::int64_t>(
      std::llround(job_.framework.launch_us * kPicosecondsPerMicrosecond));
  PreparedOps prepared;
  prepared.reserve(steps.size());
  for (const PricedOp& step : steps) {
    PreparedOp row;
    row.name = program_.strings.Intern(step.name);
    row.part = PartOf(step, phase, chunk);
    row.is_wgrad = step.is_wgrad;
    row.is_launched = step.launches > 0;
    row.launch_ps = job_.framework.uses_graphs ? 0 : launch_ps * step.launches;
    row.duration_ps = step.duration_ps;
    row.lane = kComputing;
    if (step.communication) {
      // One call into the library, without the modules and the autograd that stand around a kernel,
      // unless the framework wraps it in Python.
      row.launch_ps /= job_.framework.wraps_communication ? 1 : 3;
      const Communication& communication = *step.communication;
      row.lane = LaneOf(communication.role);
      row.beside = communication.beside;
      row.communication =
          program_.communications.Append({.role = static_cast<std::uint32_t>(communication.role),
                                          .kind = communication.kind,
                                          .bytes = communication.bytes,
                                          .element = communication.element});
    }
    prepared.push_back(row);
  }
  return prepared;
}

void ProgramWriter::AddEdge(TaskId from, TaskId to) {
  program_.edges.Append({.from = from, .to = to});
}

TaskId ProgramWriter::Launch(const PreparedOp& step) {
  if (!step.is_launched) {
    return kNone;
  }
  return program_.tasks.Append({.lane = kHost,
                                .kind = TaskKind::kLaunch,
                                .duration_ps = step.launch_ps,
                                .name = launch_name_});
}

TaskId ProgramWriter::Compute(const PreparedOp& step, int microbatch,
                              std::vector<TaskId>& awaited) {
  const TaskId launch = Launch(step);
  const TaskId task = program_.tasks.Append({.lane = step.lane,
                                             .kind = TaskKind::kKernel,
                                             .duration_ps = step.duration_ps,
                                             .name = step.name,
                                             .launch = launch,
                                             .part = step.part,
                                             .microbatch = microbatch});
  for (const TaskId before : awaited) {
    AddEdge(before, task);
  }
  awaited.clear();
  last_compute_ = task;
  return task;
}

TaskId ProgramWriter::WriteCommunication(const PreparedOp& communication, TaskId after,
                                         int microbatch) {
  const TaskId launch = Launch(communication);
  const TaskId task = program_.tasks.Append({.lane = communication.lane,
                                             .kind = TaskKind::kCollective,
                                             .name = communication.name,
                                             .launch = launch,
                                             .part = communication.part,
                                             .microbatch = microbatch,
                                             .communication = communication.communication});
  if (after != kNone) {
    AddEdge(after, task);
  }
  return task;
}

void ProgramWriter::WaitFor(TaskId task) {
  awaited_.push_back(task);
}

ProgramWriter::Track ProgramWriter::Begin(const Pass& pass) const {
  return {.pass = pass, .last_compute = last_compute_, .awaited = awaited_, .beside = {}};
}

void ProgramWriter::AddCommunication(Track& track, const PreparedOp& step) {
  const TaskId task = WriteCommunication(step, track.last_compute, track.pass.microbatch);
  for (const TaskId before : track.awaited) {
    AddEdge(before, task);
  }
  if (step.beside == 0) {
    track.awaited = {task};
  } else {
    track.beside.push_back({task, step.beside});
  }
}

void ProgramWriter::AwaitBeside(Track& track) {
  std::erase_if(track.beside, [&track](Running& running) {
    if (running.left > 0) {
      --running.left;
      return false;
    }
    track.awaited.push_back(running.task);
    return true;
  });
}

bool ProgramWriter::Advance(Track& track) {
  const Part part = track.pass.part;
  while (track.next < track.pass.steps->size()) {
    const PreparedOp& step = (*track.pass.steps)[track.next++];
    if ((part == Part::kWithoutWeights && step.is_wgrad) ||
        (part == Part::kWeightsOnly && !step.is_wgrad)) {
      continue;
    }
    if (step.communication != kNone) {
      AddCommunication(track, step);
      if (step.beside == 0) {
        return true;
      }
      continue;
    }
    AwaitBeside(track);
    track.last_compute = Compute(step, track.pass.microbatch, track.awaited);
    track.tasks.first = track.tasks.first == kNone ? track.last_compute : track.tasks.first;
    track.tasks.last = track.last_compute;
  }
  return false;
}

// Nothing runs on beyond the list that it belongs to.
void ProgramWriter::End(Track& track) {
  for (const Running& running : track.beside) {
    track.awaited.push_back(running.task);
  }
  awaited_.insert(awaited_.end(), track.awaited.begin(), track.awaited.end());
}

PassTasks ProgramWriter::Write(const PreparedOps& steps, int microbatch, Part part) {
  Track track = Begin({&steps, microbatch, part});
  while (Advance(track)) {
  }
  awaited_.clear();
  End(track);
  return track.tasks;
}

std::array<PassTasks, 2> ProgramWriter::WriteTogether(const Pass& one, const Pass& other) {
  std::array<Track, 2> tracks = {Begin(one), Begin(other)};
  std::array<bool, 2> has_more = {true, true};
  while (has_more[0] || has_more[1]) {
    for (std::size_t i = 0; i < tracks.size(); ++i) {
      has_more[i] = has_more[i] && Advance(tracks[i]);
    }
  }
  awaited_.clear();
  End(tracks[0]);
  End(tracks[1]);
  return {tracks[0].tasks, tracks[1].tasks};
}

TaskId ProgramWriter::WriteAside(Aside where, std::string_view name, std::int64_t duration_ps,
                                 TaskId after) {
  constexpr std::int64_t kFirstNumber = 60;
  const bool is_on_host = where == Aside::kOnHost;
  LaneId& lane = lane_aside_[static_cast<std::size_t>(where)];
  if (lane == kNone) {
    lane = program_.lanes.Append(
        {.kind = is_on_host ? LaneKind::kHostThread : LaneKind::kStream,
         .number = is_on_host ? 1 : kFirstNumber + static_cast<std::int64_t>(where)});
  }
  PricedOp step;
  step.category = Category::kOptimizer;
  const PartId part = PartOf(step, Phase::kOptimizer, -1);
  const TaskId task =
      program_.tasks.Append({.lane = lane,
                             .kind = is_on_host ? TaskKind::kHost : TaskKind::kKernel,
                             .duration_ps = duration_ps,
                             .name = program_.strings.Intern(name),
                             .part = part});
  if (after != kNone) {
    AddEdge(after, task);
  }
  return task;
}

void ProgramWriter::WriteMarker(std::string_view name) {
  PreparedOp marker;
  marker.name = program_.strings.Intern(name);
  marker.lane = kComputing;
  marker.is_launched = false;
  Compute(marker, -1, awaited_);
}

void ProgramWriter::HostWorks(std::string_view name, std::int64_t duration_ps) {
  program_.tasks.Append({.lane = kHost,
                         .kind = TaskKind::kHost,
                         .duration_ps = duration_ps,
                         .name = program_.strings.Intern(name)});
}

void ProgramWriter::HostWaitsFor(TaskId task) {
  if (task == kNone) {
    return;
  }
  const TaskId wait =
      program_.tasks.Append({.lane = kHost,
                             .kind = TaskKind::kSynchronize,
                             .name = program_.strings.Intern("cudaStreamSynchronize")});
  AddEdge(task, wait);
}

int ProgramWriter::NumCommunicators() const {
  constexpr auto kFirstMessage = static_cast<std::size_t>(GroupRole::kNextForwardOut);
  int count = 0;
  bool has_messages = false;
  for (std::size_t role = 0; role < lane_of_role_.size(); ++role) {
    const bool is_used = lane_of_role_[role] != kNone;
    count += is_used && role < kFirstMessage ? 1 : 0;
    has_messages = has_messages || (is_used && role >= kFirstMessage);
  }
  return count + (has_messages ? 1 : 0);
}

void ProgramWriter::Hold(std::string_view category, std::int64_t bytes) {
  if (bytes != 0) {
    program_.held_memory.Append({.category = program_.strings.Intern(category), .bytes = bytes});
  }
}

void ProgramWriter::Take(TaskId task, std::string_view category, std::int64_t bytes) {
  if (bytes != 0 && task != kNone) {
    program_.memory_changes.Append(
        {.task = task, .category = program_.strings.Intern(category), .bytes = bytes});
  }
}

void ProgramWriter::GiveBack(TaskId task, std::string_view category, std::int64_t bytes) {
  Take(task, category, -bytes);
}

}  // namespace orrery::workload
