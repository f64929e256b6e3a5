#include "orrery/workload/recorded/recorded.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/aten/recorded_call.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/input.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/alone_kernels.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/data_loader.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_walk.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/priced_calls.h"
#include "orrery/workload/recorded/recorded_costs.h"
#include "orrery/workload/recorded/recorded_waits.h"
#include "orrery/workload/recorded/stream_filler.h"

namespace orrery::workload {
namespace {

using trace::Trace;

constexpr std::int64_t kUsualStream = 7;  // the number that profilers give the default stream

// The orders in which top-level calls of the backward threads begin.
std::vector<std::int64_t> TurnsOf(const CallTree& step) {
  std::vector<std::int64_t> turns;
  for (const ThreadCalls& thread : step.threads) {
    if (thread.runs_backward) {
      ForEachChild(std::span(thread.calls), 0,
                   [&](std::uint32_t call) { turns.push_back(thread.calls[call].begin_ns); });
    }
  }
  std::sort(turns.begin(), turns.end());
  return turns;
}

// The thread that waits for the backward pass is the one that began first; others run on.
struct Threads {
  std::vector<HostWalk::Pause> pauses;
  std::vector<std::vector<TopCall>> backward;  // of each backward thread
};

void LinkPause(const HostWalk::Pause& pause, const std::vector<TopCall>& calls, Program& program) {
  TaskId first = kNone;
  TaskId last = kNone;
  const auto begin = std::ranges::lower_bound(calls, pause.order_begin, {}, &TopCall::order);
  for (auto call = begin; call != calls.end() && call->order <= pause.order_end; ++call) {
    first = std::min(first, call->first);
    last = last == kNone ? call->last : std::max(last, call->last);
  }
  if (first == kNone) {
    return;
  }
  if (pause.before != kNone) {
    program.edges.Append({.from = pause.before, .to = first});
  }
  if (pause.after != kNone) {
    program.edges.Append({.from = last, .to = pause.after});
  }
}

/// The costs of the host: by the model, or place by place where that is known.
struct HostPrices {
  const HostModel& model;
  const StepCosts* places = nullptr;
};

Threads WalkThreads(const Trace& trace, const CallTree& step, const HostPrices& host,
                    const WorkOfCall& work, WalkResult& result) {
  const std::vector<std::int64_t> turns = TurnsOf(step);
  Threads threads;
  bool has_waiting = false;
  for (std::size_t number = 0; number < step.threads.size(); ++number) {
    const ThreadCalls& thread = step.threads[number];
    HostWalk walk(trace, step, host.model, work, result,
                  host.places == nullptr ? nullptr : &host.places->threads[number]);
    const bool waits = !thread.runs_backward && !has_waiting;
    walk.Walk(thread, waits ? std::span(turns) : std::span<const std::int64_t>());
    has_waiting |= waits;
    if (waits) {
      threads.pauses = walk.pauses();
    }
    if (thread.runs_backward) {
      threads.backward.push_back(walk.top_calls());
    }
  }
  return threads;
}

RecordedProgram Build(const Trace& trace, const CallTree& step, const HostPrices& host,
                      const WorkOfCall& work, CommunicationStreams communications,
                      const RecordedWaits& waits) {
  WalkResult result;
  const Threads threads = WalkThreads(trace, step, host, work, result);
  for (const HostWalk::Pause& pause : threads.pauses) {
    for (const std::vector<TopCall>& calls : threads.backward) {
      LinkPause(pause, calls, result.recorded.program);
    }
  }
  FillStreams(host.model, communications, waits, result);
  const HostCost* latency = host.model.Find(HostPart::kLaunchLatency, HostModel::kAll);
  result.recorded.program.launch_latency_ps =
      latency == nullptr ? 0 : std::llround(latency->typical * 1000);
  return std::move(result.recorded);
}

std::int64_t StreamOf(const Trace& recording, RowId activity) {
  const RowId track = recording.activities.track[activity];
  return track == kNoRow ? 0 : recording.tracks.thread[track];
}

/// The waits of a step. Inferred ones belong to the launch that they delay.
RecordedWaits WaitsOfStep(const Trace& recording, const CallTree& step) {
  RecordedWaits waits = WaitsOf(recording);
  if (waits.are_inferred) {
    std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
    for (const ThreadCalls& thread : step.threads) {
      begin_ns = std::min(begin_ns, thread.calls.front().begin_ns);
    }
    std::erase_if(waits.of_streams, [&](const StreamWait& wait) { return wait.order < begin_ns; });
  }
  return waits;
}

RecordedProgram Replay(const Trace& recording, const CallTree& step, const HostPrices& host,
                       const CompleteTask& complete) {
  const trace::RowIndex activities(recording.activities.launch);
  const AloneKernels alone = AloneKernelsOf(recording);
  const WorkOfCall work = [&](const Call& call) {
    CallWork found;
    if (call.kind != CallKind::kLaunch) {
      return found;
    }
    for (RowId row = activities.First(call.row); row != kNoRow; row = activities.Next(row)) {
      DeviceTask task{.duration_ps = alone.duration_ns[row] * 1000,
                      .name = std::string(recording.Text(recording.activities.name[row]))};
      if (alone.have_several_streams) {
        task.role = DeviceRole{.sm_share = alone.sm_share[row]};
      }
      if (complete) {
        complete(row, task);
      }
      found.kernels.push_back(
          {.order = call.begin_ns, .stream = StreamOf(recording, row), .task = std::move(task)});
    }
    return found;
  };
  const RecordedWaits waits = WaitsOfStep(recording, step);
  RecordedProgram recorded =
      Build(recording, step, host, work, CommunicationStreams::kAsRecorded, waits);
  recorded.has_inferred_waits = waits.are_inferred;
  return recorded;
}

/// Returns true if the host waits for the GPU in a node: for numbers, for results whose size
/// depends on values, and for copies from or to the host that do not say that they need not wait.
bool WaitsForGpu(const Trace& graph, RowId node) {
  const std::string_view name = graph.Text(graph.graph_nodes.name[node]);
  if (name == "aten::copy_") {
    const kernel::AtenCall call = kernel::CallOfNode(graph, node);
    const kernel::AtenTensor* const target = call.TensorAt(0);
    const kernel::AtenTensor* const source = call.TensorAt(1);
    return target != nullptr && source != nullptr && target->on_gpu != source->on_gpu &&
           !call.IsTrueAt(2);
  }
  constexpr auto kReading = std::to_array<std::string_view>(
      {"aten::_coalesce", "aten::_local_scalar_dense", "aten::_unique", "aten::_unique2", "aten::bincount",
       "aten::equal", "aten::masked_select", "aten::nonzero", "aten::unique_consecutive",
       "aten::unique_dim"});
  if (std::ranges::find(kReading, name) == kReading.end()) {
    return false;
  }
  const kernel::AtenCall call = kernel::CallOfNode(graph, node);
  const kernel::AtenTensor* const input = call.TensorAt(0);
  return input != nullptr && (input->on_gpu || input->is_sparse);
}

// The members of groups according to the files, by the key of the group.
using MembersOfKey = std::map<std::string, std::vector<Rank>, std::less<>>;

void CollectMembers(const trace::Trace& graph, std::size_t num_ranks, MembersOfKey& members) {
  for (RowId group = 0; group < graph.process_groups.size(); ++group) {
    const auto found = trace::IdentifyGroup(graph, group, false);
    const bool is_whole =
        found && !found->members.empty() &&
        std::all_of(found->members.begin(), found->members.end(), [&](std::int32_t rank) {
          return rank >= 0 && static_cast<std::size_t>(rank) < num_ranks;
        });
    if (is_whole) {
      members.try_emplace(found->key, found->members.begin(), found->members.end());
    }
  }
}

// Lets the main thread begin later: its first task takes that much longer.
void DelayBegin(std::int64_t begin_ps, Program& program) {
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == LaneKind::kHostThread) {
      program.tasks.duration_ps[task] += begin_ps;
      return;
    }
  }
}

void JoinGroups(const MembersOfKey& members_of_key, Ensemble& ensemble) {
  const Program& first = ensemble.programs.front();
  ensemble.SetRoles(static_cast<std::uint32_t>(first.roles.size()));
  for (std::uint32_t role = 0; role < ensemble.num_roles; ++role) {
    const auto named = members_of_key.find(first.RoleName(role));
    std::vector<Rank> members;
    if (named != members_of_key.end()) {
      members = named->second;
    } else {
      for (Rank rank = 0; rank < ensemble.programs.size(); ++rank) {
        const auto& roles = ensemble.programs[rank].communications.role;
        if (std::ranges::find(roles, role) != roles.end()) {
          members.push_back(rank);
        }
      }
    }
    if (members.size() >= 2) {
      ensemble.AddGroup(members, role);
    }
  }
}

bool IsSimulated(CollectiveKind kind) {
  return (kind >= CollectiveKind::kAllReduce && kind <= CollectiveKind::kReduce) ||
         kind == CollectiveKind::kBarrier;
}

/// The full side.
std::int64_t BytesOf(const Trace& graph, RowId row) {
  const bool is_gather = graph.collectives.kind[row] == CollectiveKind::kAllGather;
  const std::int64_t in = graph.collectives.in_bytes[row];
  const std::int64_t out = graph.collectives.out_bytes[row];
  return std::max<std::int64_t>(is_gather ? std::max(in, out) : (in >= 0 ? in : out), 0);
}

// The model's time of the program counts for this share of what was recorded at least.
constexpr double kLeastOfModel = 0.2;

/// The factor of the program's code that moves it from what was recorded towards what the model
/// says: a power of their ratio (RecordedPace::program_power).
double FactorOfCode(const Trace& recording, const CallTree& step, const ReplayedHost& host) {
  const double recorded_ns = CodeNs(host.program);
  if (host.pace.program_power == 1 || recorded_ns <= 0) {
    return 1;
  }
  const HostCoverage places =
      Replay(recording, step, {.model = host.model, .places = &host.program}, {}).coverage;
  const HostCoverage modelled = Replay(recording, step, {.model = host.model}, {}).coverage;
  const double of_model_ns = modelled.operators_ns + modelled.program_ns - places.operators_ns;
  return std::pow(std::max(of_model_ns / recorded_ns, kLeastOfModel),
                  1 - host.pace.program_power);
}

void AddStorage(const kernel::AtenTensor& tensor, std::vector<std::int64_t>& storages) {
  if (tensor.is_defined && tensor.on_gpu && tensor.storage) {
    storages.push_back(*tensor.storage);
  }
}

}  // namespace

RecordedProgram ProgramOfRecording(const Trace& recording, const CallTree& step,
                                   const HostModel& host, const CompleteTask& complete,
                                   const StepCosts* costs) {
  return Replay(recording, step, {.model = host, .places = costs}, complete);
}

RecordedProgram ProgramOfMiddleStep(const Trace& recording, std::span<const CallTree> steps,
                                    const HostChoice& host, const CompleteTask& complete) {
  const std::size_t which = steps.size() / 2;
  ReplayedHost replayed = HostOfRecording(recording, steps, which, host);
  ScaleCode(FactorOfCode(recording, steps[which], replayed), replayed.program);
  RecordedProgram recorded = Replay(
      recording, steps[which], {.model = replayed.model, .places = &replayed.program}, complete);
  recorded.pace = replayed.pace;
  recorded.loader = LoaderPaceOf(recording);
  if (recorded.loader) {
    AddLoader(*recorded.loader, recorded.program);
  }
  return recorded;
}

RecordedProgram ProgramOfMiddleStep(const Trace& recording, const HostChoice& host) {
  return ProgramOfMiddleStep(recording, RecordedSteps(recording), host);
}

RecordedProgram ProgramOfGraph(const Trace& graph, const CallTree& step, const HostModel& host,
                               const PriceNode& price) {
  const bool has_communications = !graph.collectives.empty();
  const WorkOfCall work = [&](const Call& call) {
    CallWork found;
    if (call.kind != CallKind::kOperator) {
      return found;
    }
    for (DeviceTask& task : price(call.row)) {
      std::vector<std::int64_t> storages;
      if (has_communications) {
        storages = task.communication ? WrittenStorages(graph, call.row)
                                      : TouchedStorages(graph, call.row);
      }
      found.kernels.push_back({.order = call.begin_ns,
                               .stream = kUsualStream,
                               .task = std::move(task),
                               .storages = std::move(storages)});
    }
    const HostCost* waits = host.Find(HostPart::kWaits, graph.Text(call.name));
    found.waits = WaitsForGpu(graph, call.row) || (waits != nullptr && waits->typical >= 0.5);
    return found;
  };
  return Build(graph, step, {.model = host}, work, CommunicationStreams::kOfTheirGroup, {});
}

Result<RecordedEnsemble> EnsembleOfGraphs(std::span<const RankGraph> ranks, const HostModel& host) {
  if (ranks.empty()) {
    return Refuse("a job has at least one execution trace");
  }
  RecordedEnsemble result;
  MembersOfKey members;
  for (Rank rank = 0; rank < ranks.size(); ++rank) {
    const trace::Trace& graph = *ranks[rank].graph;
    if (graph.graph_nodes.empty()) {
      return Refuse("rank {} has no execution trace", rank);
    }
    const auto communications = CommunicationsOf(graph, result.problems);
    const PriceNode price = WithCommunications(communications, ranks[rank].price);
    ORRERY_TRY(const std::vector<CallTree> steps, GraphSteps(graph));
    RecordedProgram recorded = ProgramOfGraph(graph, MiddleStep(steps), host, price);
    DelayBegin(ranks[rank].begin_ps, recorded.program);
    CollectMembers(graph, ranks.size(), members);
    result.coverage_of_rank.push_back(recorded.coverage);
    result.ensemble.programs.push_back(std::move(recorded.program));
    result.ensemble.AddRank(rank, rank);
  }
  UniteGroupRoles(result.ensemble.programs);
  JoinGroups(members, result.ensemble);
  return result;
}

std::map<RowId, RecordedCommunication> CommunicationsOf(const Trace& graph,
                                                        trace::ProblemLog& problems) {
  std::map<RowId, RecordedCommunication> communications;
  for (RowId row = 0; row < graph.collectives.size(); ++row) {
    const RowId node = graph.collectives.graph_node[row];
    const CollectiveKind kind = graph.collectives.kind[row];
    if (node == kNoRow || !IsSimulated(kind)) {
      problems.Loss(node == kNoRow ? "collectives without a node in the execution trace"
                                   : "messages and collectives of an unsupported kind",
                    1, graph.Text(graph.collectives.name[row]));
      continue;
    }
    const DataType type = graph.collectives.data_type[row];
    const RowId group = graph.collectives.group[row];
    const auto found = group == kNoRow ? std::nullopt : trace::IdentifyGroup(graph, group, false);
    const std::string role = found ? found->key : "all";
    communications.emplace(
        node,
        RecordedCommunication{.role = role,
                              .dimension = role.substr(0, role.find(' ')),
                              .kind = kind,
                              .bytes = BytesOf(graph, row),
                              .element = type == DataType::kUnknown ? DataType::kFp32 : type});
  }
  return communications;
}

PriceNode WithCommunications(const std::map<RowId, RecordedCommunication>& communications,
                             const PriceNode& price) {
  return [&communications, &price](RowId node) {
    const auto found = communications.find(node);
    if (found == communications.end()) {
      return price(node);
    }
    DeviceTask task{.name = std::string(CollectiveKindName(found->second.kind))};
    task.communication = found->second;
    return std::vector<DeviceTask>{std::move(task)};
  };
}

std::vector<std::int64_t> TouchedStorages(const Trace& graph, RowId node) {
  const kernel::AtenCall call = kernel::CallOfNode(graph, node);
  std::vector<std::int64_t> storages;
  for (const kernel::AtenTensor* input : call.InputTensors()) {
    AddStorage(*input, storages);
  }
  for (const kernel::AtenTensor& output : call.outputs) {
    AddStorage(output, storages);
  }
  return storages;
}

std::vector<std::int64_t> WrittenStorages(const Trace& graph, RowId node) {
  std::vector<std::int64_t> storages;
  for (const kernel::AtenTensor& output : kernel::CallOfNode(graph, node).outputs) {
    AddStorage(output, storages);
  }
  return storages.empty() ? TouchedStorages(graph, node) : storages;
}

}  // namespace orrery::workload
