#include "capture/sanitizer/host/session.h"

#include "orrery/stream/codes.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

constexpr std::uint64_t kRecordedFlags =
    kModuleMemory | kManagedMemory | kHostMappedMemory | kPinnedMemory | kPeerMemory;

}  // namespace

Session::Session(const Setup& setup)
    : recorder_(setup.recorder),
      options_(setup.options),
      overheads_(setup.clock),
      failures_(setup.recorder, setup.calls, setup.show),
      calls_(setup.calls),
      objects_(options_.page_shift()),
      selection_(options_),
      stacks_(options_.stacks ? std::optional<CallStacks>(std::in_place, setup.recorder)
                              : std::nullopt),
      patcher_(setup.calls, setup.recorder, failures_,
               {.image = setup.patches, .with_empty_patches = options_.empty_patch}),
      functions_(setup.calls, setup.recorder),
      contexts_(setup.calls, setup.recorder, options_, overheads_),
      launches_({.calls = setup.calls,
                 .recorder = setup.recorder,
                 .options = options_,
                 .overheads = overheads_,
                 .failures = failures_,
                 .contexts = contexts_,
                 .patcher = patcher_,
                 .functions = functions_,
                 .objects = objects_,
                 .selection = selection_,
                 .maps = maps_,
                 .stacks = stacks_ ? &*stacks_ : nullptr}) {
  recorder_.SetListener(this);
}

Session::~Session() {
  recorder_.SetListener(nullptr);
}

Context::Place Session::PlaceOf(ContextHandle context, std::uint64_t device) {
  return context.value == 0 ? Context::Place{.handle = {}, .device = device}
                            : contexts_.Get(context, device)->place();
}

void Session::OnContextCreated(const ContextEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const Context::Place place = PlaceOf(event.context, event.device);
  recorder_.Record(stream::ContextChange{.context = place.number, .device = place.device});
  if (IsNewDevice(event.device)) {
    WriteDevice(event.device);
  }
  patcher_.LoadInto(event.context);
}

bool Session::IsNewDevice(std::uint64_t device) {
  const std::lock_guard lock(mutex_);
  return devices_.insert(device).second;
}

void Session::WriteDevice(std::uint64_t device) {
  DeviceFacts facts;
  if (!failures_.IsWell("querying the device's properties", calls_.FactsOf(device, &facts))) {
    return;
  }
  recorder_.Write(stream::Device{.device = device,
                                 .name = facts.name,
                                 .uuid = facts.uuid,
                                 .memory_bytes = facts.memory_bytes,
                                 .multiprocessors = facts.multiprocessors,
                                 .compute_major = facts.compute_major,
                                 .compute_minor = facts.compute_minor});
}

void Session::OnContextDestroying(const ContextEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  if (const auto context = contexts_.Find(event.context)) {
    launches_.drainer().Drain(*context, std::nullopt);
    recorder_.Record(stream::ContextChange{
        .context = context->place().number, .device = context->place().device, .is_end = 1});
    context->Close();
    contexts_.Remove(event.context);
  }
  patcher_.Forget(event.context);
}

void Session::OnStreamCreated(const StreamEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const Context::Place place = PlaceOf(event.context);
  recorder_.Record(stream::StreamChange{
      .context = place.number, .device = place.device, .stream = event.stream});
}

void Session::OnStreamDestroying(const StreamEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  // Its handle means nothing afterwards, and may come again.
  if (const auto context = contexts_.Find(event.context)) {
    launches_.drainer().DrainPassed(*context, event.handle);
  }
  const Context::Place place = PlaceOf(event.context);
  recorder_.Record(stream::StreamChange{
      .context = place.number, .device = place.device, .stream = event.stream, .is_end = 1});
}

void Session::OnModuleLoaded(const ModuleEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  functions_.AddModule(event, PlaceOf(event.context).number);
  patcher_.Patch(event);
}

void Session::OnModuleUnloading(const ModuleEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  functions_.ForgetModule(event, PlaceOf(event.context).number);
  patcher_.Forget(event.context, event.module);
  launches_.OnFunctionsGone();
}

// Memory that another device may see too is told of once for each device.
bool Session::IsKnownPeer(const MemoryEvent& event) {
  return (event.flags & kPeerMemory) != 0 && objects_.Snapshot()->Find(event.address) >= 0;
}

void Session::OnMemoryAllocated(const MemoryEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  if (IsKnownPeer(event)) {
    const std::lock_guard lock(mutex_);
    peer_maps_.insert(event.address);
    return;
  }
  recorder_.Allocated({.address = event.address,
                       .bytes = event.bytes,
                       .level = codes::kDriver,
                       .flags = event.flags & kRecordedFlags,
                       .device = event.device,
                       .context = PlaceOf(event.context, event.device).number,
                       .stream = event.stream,
                       .pool = event.pool});
}

void Session::OnMemoryFreed(const MemoryEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  if ((event.flags & kPeerMemory) != 0) {
    const std::lock_guard lock(mutex_);
    if (peer_maps_.contains(event.address)) {
      return;
    }
  }
  recorder_.Freed({.address = event.address,
                   .level = codes::kDriver,
                   .phase = codes::kFreed,
                   .device = event.device,
                   .stream = event.stream});
}

template <typename Event>
void Session::RecordTransfer(const Event& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const Context::Place place = PlaceOf(event.context);
  auto record = event.record;
  record.device = place.device;
  record.context = place.number;
  recorder_.Record(record);
}

template void Session::RecordTransfer(const CopyEvent&);
template void Session::RecordTransfer(const SetEvent&);

void Session::OnLaunchCall(const LaunchCall& call) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  launches_.OnCall(call);
}

void Session::OnLaunchCallDone() {
  Launches::OnCallDone();
}

void Session::OnTensorMap(const TensorMapEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const TensorMaps::Added added = maps_.Add(event);
  if (!added.is_new) {
    return;
  }
  recorder_.Write(stream::TensorMap{
      .id = added.id,
      .address = event.address,
      .element_bytes = event.element_bytes,
      .shape = event.shape,
      .strides_bytes = event.strides_bytes,
      .box = event.box,
      .key = {reinterpret_cast<const char*>(event.map.data()), event.map.size()}});
}

void Session::OnLaunchBegin(LaunchEvent event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  event.graph = graphs_.Of(event.graph);
  event.graph_node = nodes_.Of(event.graph_node);
  launches_.OnBegin(event);
}

void Session::OnLaunchEnd(const LaunchEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  launches_.OnEnd(event);
}

void Session::OnGraphLaunchBegin(const GraphEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const Context::Place place = PlaceOf(event.context);
  recorder_.Record(stream::GraphLaunch{.graph = graphs_.Of(event.graph),
                                       .device = place.device,
                                       .context = place.number,
                                       .stream = event.stream});
  launches_.OnGraphBegin(event);
}

void Session::OnGraphLaunchEnd(const GraphEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  GraphEvent numbered = event;
  numbered.graph = graphs_.Of(event.graph);
  launches_.OnGraphEnd(numbered);
}

void Session::OnDeviceGraph() {
  recorder_.Count(codes::kGraphsNotCovered, "graphs that the device launches");
}

void Session::OnSync(const SyncEvent& event) {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  const auto context = contexts_.Find(event.context);
  recorder_.Record(
      stream::Synchronization{.kind = event.kind,
                              .device = context == nullptr ? 0 : context->place().device,
                              .context = context == nullptr ? 0 : context->place().number,
                              .stream = event.stream,
                              .event = event.event});
  if (context == nullptr) {
    return;
  }
  if (event.kind == codes::kStreamSync) {
    launches_.drainer().DrainPassed(*context, event.handle);
  } else if (event.kind == codes::kContextSync) {
    launches_.drainer().DrainPassed(*context, std::nullopt);
  }
}

void Session::OnException(const char* what) {
  failures_.Add("recording an event", what);
}

void Session::DrainAll() {
  for (const auto& context : contexts_.All()) {
    launches_.drainer().Drain(*context, std::nullopt);
  }
}

void Session::Finish() {
  if (is_finished_.exchange(true)) {
    return;
  }
  {
    const Overheads::Scope scope(overheads_, codes::kCollection);
    DrainAll();
    for (const auto& context : contexts_.All()) {
      if (context->accesses() != nullptr) {
        context->accesses()->Stop();
      }
    }
  }
  overheads_.WriteTo(recorder_);
}

void Session::OnAllocated(const stream::Allocation& allocation) {
  objects_.Add(static_cast<std::uint32_t>(allocation.level), allocation.object, allocation.address,
               allocation.bytes);
}

void Session::OnFreed(const stream::Free& free) {
  if (free.phase != codes::kFreeRequested) {
    objects_.Remove(static_cast<std::uint32_t>(free.level), free.address);
  }
}

void Session::OnPythonStack(std::span<const std::string_view> frames) {
  if (stacks_) {
    stacks_->SetPython(frames);
  }
}

void Session::OnDetailBegin(const DetailSelection& selection) {
  selection_.OpenDetail(selection.id, selection.kernels, selection.launches);
}

void Session::OnDetailEnd(std::uint64_t id) {
  selection_.CloseDetail(id);
}

void Session::OnFlush() {
  const Overheads::Scope scope(overheads_, codes::kCollection);
  DrainAll();
}

}  // namespace orrery::capture::sanitizer
