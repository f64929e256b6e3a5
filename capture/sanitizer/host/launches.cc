#include "capture/sanitizer/host/launches.h"

#include <algorithm>
#include <utility>

#include "capture/sanitizer/host/results.h"
#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

constexpr const char* kNotPatched = "its module is not patched";
constexpr const char* kEmptyPatches = "patches are empty";
constexpr const char* kNoMemory = "no memory for records";
constexpr const char* kNoRoom = "no room for its record";
constexpr const char* kNotBound = "its record could not be bound";
constexpr const char* kNodeWithoutParameters =
    "launches of graph nodes that may use tensor maps: what they were given is not known";
constexpr const char* kForeignStream = "a graph's node in another context than its graph";

// The parameters of the call that this thread is in.
thread_local std::optional<ParameterBlock> parameters_of_call;

stream::Launch RowOf(const LaunchEvent& event, const Context::Place& place,
                     std::uint64_t function) {
  return {.function = function,
          .device = place.device,
          .context = place.number,
          .stream = event.stream,
          .grid_x = event.grid.x,
          .grid_y = event.grid.y,
          .grid_z = event.grid.z,
          .block_x = event.block.x,
          .block_y = event.block.y,
          .block_z = event.block.z,
          .graph = event.graph,
          .graph_node = event.graph_node,
          .cluster_x = event.cluster.x,
          .cluster_y = event.cluster.y,
          .cluster_z = event.cluster.z};
}

}  // namespace

void Launches::OnCall(const LaunchCall& call) {
  parameters_of_call.emplace();
  parameters_.Read(call, *parameters_of_call);
  if (parameters_of_call->bytes.empty() && call.parameters != nullptr) {
    parameters_of_call.reset();
  }
}

void Launches::OnCallDone() {
  parameters_of_call.reset();
}

void Launches::OnBegin(const LaunchEvent& event) {
  const auto context = parts_.contexts.Get(event.context, event.device);
  const auto facts = parts_.functions.FactsOf(
      event, [&] { return parts_.patcher.IsPatched(event.context, event.module); });
  stream::Launch row = RowOf(event, context->place(), facts->id);
  parts_.recorder.Stamp(row);
  if (parts_.stacks != nullptr) {
    row.stack = parts_.stacks->OfThisThread();
  }
  const Choice choice = parts_.selection.Choose(facts->name);
  row.inclusion_ppb = choice.inclusion_ppb;
  const Outcome outcome = choice.is_taken()
                              ? Instrument(*context, event, *facts, choice, row.sequence)
                              : Outcome{.reason_left_out = choice.skip_reason};
  if (outcome.reason_left_out != nullptr) {
    row.reason = parts_.recorder.Text(outcome.reason_left_out);
  } else if (outcome.merged_into != 0) {
    row.reason =
        parts_.recorder.Text("counts merged into launch " + std::to_string(outcome.merged_into));
  }
  parts_.recorder.Write(row);
  if (outcome.reason_left_out != nullptr) {
    LeaveOut(event, *facts, row, outcome.reason_left_out);
  }
}

Launches::Outcome Launches::Instrument(Context& context, const LaunchEvent& event,
                                       const FunctionFacts& facts, const Choice& choice,
                                       std::uint64_t number) {
  if (!facts.is_patched) {
    return {.reason_left_out = kNotPatched};
  }
  if (parts_.options.empty_patch) {
    return {.reason_left_out = kEmptyPatches};
  }
  if (event.api_context.value != 0 && event.api_context != event.context) {
    return {.reason_left_out = kForeignStream};
  }
  if (!context.Open(event.handle, parts_.failures)) {
    return {.reason_left_out = kNoMemory};
  }
  const PendingLaunch launch = Prepare(context, event, facts, choice, number);
  const auto begun = BeginInPool(context, launch);
  if (!begun) {
    return {.reason_left_out = kNoRoom};
  }
  const CallResult bound =
      parts_.calls.SetLaunchData(event.launch, event.function, event.handle, begun->record);
  if (!parts_.failures.IsWell("binding a launch's record", bound)) {
    context.pool().Cancel(event.launch);
    return {.reason_left_out = kNotBound};
  }
  return {.merged_into = begun->into};
}

PendingLaunch Launches::Prepare(Context& context, const LaunchEvent& event,
                                const FunctionFacts& facts, const Choice& choice,
                                std::uint64_t number) {
  PendingLaunch launch;
  launch.number = number;
  launch.device = context.place().device;
  launch.stream = event.handle;
  launch.handle = event.launch;
  launch.graph = event.graph;
  launch.function = facts.id;
  launch.choice = choice;
  launch.modes = ModesOf(choice);
  launch.num_shards = parts_.options.num_shards;
  launch.objects = parts_.objects.Snapshot();
  launch.wants_pages = parts_.options.page_bytes != 0;
  launch.function_pc = facts.pc;
  launch.may_use_tensor_maps = facts.may_use_tensor_maps;
  if (const auto parameters = std::exchange(parameters_of_call, std::nullopt)) {
    launch.arguments = FindArguments(parameters->bytes, *launch.objects, parts_.maps);
    launch.has_arguments = true;
  }
  if (launch.graph != 0 && launch.may_use_tensor_maps) {
    parts_.recorder.Count(codes::kGraphsNotCovered, kNodeWithoutParameters);
  }
  return launch;
}

std::uint32_t Launches::ModesOf(const Choice& choice) const {
  const std::uint32_t streamed = choice.with_access_records ? kStreamMode | kPlaceMode : 0U;
  if (parts_.options.analysis == Analysis::kHost) {
    return kStreamMode | streamed;
  }
  return kCountMode | (parts_.options.page_bytes != 0 ? kPageMode : 0U) | streamed;
}

// A wait costs time, which is recorded; a merge costs what each launch did, which nothing brings
// back. So unless the options say otherwise the launch's own stream is waited for where it may be,
// and merging comes only before leaving out.
std::optional<LaunchPool::Joined> Launches::BeginInPool(Context& context,
                                                        const PendingLaunch& launch) {
  AccessStream* const accesses = (launch.modes & kStreamMode) != 0 ? context.accesses() : nullptr;
  if (accesses != nullptr) {
    accesses->Expect(launch, parts_.options.analysis == Analysis::kHost);
  }
  AccessRing* const ring = accesses == nullptr ? nullptr : accesses->ring();
  auto record = context.pool().Begin(launch, ring);
  if (!record && parts_.options.merge_before_waiting) {
    if (const auto joined = context.pool().Merge(launch)) {
      return joined;
    }
  }
  // In the middle of a graph its stream is not ours to wait for.
  if (!record && launch.graph == 0 && context.pool().CanHold(LayoutFor(launch).bytes)) {
    WaitAndDrain(context, launch.stream);
    record = context.pool().Begin(launch, ring);
  }
  if (record) {
    return LaunchPool::Joined{.record = *record};
  }
  if (accesses != nullptr) {
    accesses->Forget(launch);
  }
  return context.pool().Merge(launch);
}

void Launches::WaitAndDrain(Context& context, StreamHandle stream) {
  {
    const Overheads::Scope scope(parts_.overheads, codes::kWaiting);
    static_cast<void>(parts_.calls.Synchronize(stream));
  }
  Drain(context, stream);
}

void Launches::LeaveOut(const LaunchEvent& event, const FunctionFacts& facts,
                        const stream::Launch& row, const char* reason) {
  parts_.recorder.Count(codes::kLaunchesSkipped, reason);
  parts_.recorder.Record(stream::LaunchEnd{.launch = row.sequence});
  if (facts.is_patched) {
    // Patches return at once where they are called with nothing.
    parts_.failures.IsWell(
        "leaving a launch out",
        parts_.calls.SetLaunchData(event.launch, event.function, event.handle, 0));
  }
  const std::lock_guard lock(mutex_);
  left_out_.insert(event.launch);
}

void Launches::OnEnd(const LaunchEvent& event) {
  {
    const std::lock_guard lock(mutex_);
    if (left_out_.erase(event.launch) != 0) {
      return;
    }
  }
  const auto context = parts_.contexts.Find(event.context);
  if (context == nullptr || !context->pool().End(event.launch)) {
    parts_.recorder.Count(codes::kOtherCoverage, "ends of launches that did not begin");
  }
}

void Launches::OnGraphBegin(const GraphEvent& event) {
  const auto context = parts_.contexts.Find(event.context);
  if (context != nullptr && !context->pool().is_broken() && context->pool().IsCrowded()) {
    WaitAndDrain(*context, event.handle);
  }
}

void Launches::OnGraphEnd(const GraphEvent& event) {
  for (const auto& context : parts_.contexts.All()) {
    context->pool().EndGraph(event.graph);
  }
}

void Launches::Drain(Context& context, std::optional<StreamHandle> stream) {
  std::vector<PendingLaunch> launches = context.pool().TakeEnded(stream);
  if (launches.empty()) {
    return;
  }
  context.pool().ReadBack(launches);
  std::uint64_t num_dropped = 0;
  if (context.accesses() != nullptr && !context.pool().is_broken()) {
    num_dropped = FinishAccesses(*context.accesses(), launches);
  }
  Finish(context, launches, num_dropped != 0);
  context.pool().Release(launches);
}

std::uint64_t Launches::FinishAccesses(AccessStream& accesses,
                                       const std::vector<PendingLaunch>& launches) {
  const bool is_streamed =
      std::any_of(launches.begin(), launches.end(),
                  [](const PendingLaunch& launch) { return (launch.modes & kStreamMode) != 0; });
  if (!is_streamed) {
    return 0;
  }
  const std::uint64_t num_dropped = accesses.Finish(launches.back().stream);
  if (num_dropped != 0) {
    parts_.recorder.Count(codes::kRecordsDropped, "accesses that found no room in the ring",
                          num_dropped);
  }
  return num_dropped;
}

void Launches::Finish(Context& context, const std::vector<PendingLaunch>& launches, bool is_cut) {
  const Overheads::Scope scope(parts_.overheads, codes::kAnalysis);
  for (const PendingLaunch& launch : launches) {
    if (launch.is_cancelled) {
      continue;
    }
    if (launch.is_lost) {
      WriteLost(parts_.recorder, launch);
      continue;
    }
    const bool is_streamed = (launch.modes & kStreamMode) != 0;
    WriteResults(parts_.recorder, launch,
                 (launch.modes & kCountMode) != 0 ? context.pool().Results(launch)
                                                  : context.accesses()->Results(launch),
                 is_cut && is_streamed);
    if (is_streamed) {
      context.accesses()->Forget(launch);
    }
  }
}

}  // namespace orrery::capture::sanitizer
