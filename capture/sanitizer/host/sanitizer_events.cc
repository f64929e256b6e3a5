#include <algorithm>
#include <cstdint>
#include <exception>
#include <vector>

#include <sanitizer.h>

#include "capture/sanitizer/host/sanitizer_calls.h"
#include "capture/sanitizer/host/sanitizer_driver_calls.h"
#include "orrery/stream/codes.h"

// The callbacks, translated. Nothing is decided here, and no exception leaves.

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

std::uint64_t Number(const volatile void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

ContextHandle HandleOf(CUcontext context) {
  return {Number(context)};
}

StreamHandle HandleOf(Sanitizer_StreamHandle stream) {
  return {Number(stream)};
}

std::uint64_t DeviceNumber(CUdevice device) {
  return device < 0 ? 0 : static_cast<std::uint64_t>(device);
}

MemoryEvent EventOf(const Sanitizer_ResourceMemoryData& data) {
  return {.context = HandleOf(data.context),
          .device = DeviceNumber(data.device),
          .stream = Number(data.stream),
          .pool = Number(data.memoryPool),
          .address = data.address,
          .bytes = data.size,
          .flags = data.flags};
}

LaunchEvent EventOf(const Sanitizer_LaunchData& data) {
  return {.context = HandleOf(data.context),
          .api_context = {},
          .device = DeviceNumber(data.device),
          .handle = HandleOf(data.hStream),
          .stream = Number(data.stream),
          .module = {Number(data.module)},
          .function = {Number(data.function)},
          .launch = {Number(data.hLaunch)},
          .name = data.functionName == nullptr ? "" : data.functionName,
          .grid = {data.gridDim_x, data.gridDim_y, data.gridDim_z},
          .block = {data.blockDim_x, data.blockDim_y, data.blockDim_z},
          .cluster = {data.clusterDim_x, data.clusterDim_y, data.clusterDim_z}};
}

std::uint64_t CopyKindOf(Sanitizer_MemcpyDirection direction) {
  switch (direction) {
    case SANITIZER_MEMCPY_DIRECTION_HOST_TO_HOST:
      return codes::kHostToHost;
    case SANITIZER_MEMCPY_DIRECTION_HOST_TO_DEVICE:
      return codes::kHostToDevice;
    case SANITIZER_MEMCPY_DIRECTION_DEVICE_TO_HOST:
      return codes::kDeviceToHost;
    case SANITIZER_MEMCPY_DIRECTION_DEVICE_TO_DEVICE:
      return codes::kDeviceToDevice;
    default:
      return codes::kUnknownCopy;
  }
}

CopyEvent EventOf(const Sanitizer_MemcpyData& data) {
  const bool has_shape = data.width != 0;
  return {.context = HandleOf(data.apiContext),
          .record = {.source = data.srcAddress,
                     .destination = data.dstAddress,
                     .width_bytes = has_shape ? data.width : data.size,
                     .kind = CopyKindOf(data.direction),
                     .stream = Number(data.apiStream),
                     .is_async = data.isAsync != 0 ? 1U : 0U,
                     .height = has_shape ? data.height : 0,
                     .depth = has_shape ? data.depth : 0,
                     .source_pitch = data.srcPitch,
                     .destination_pitch = data.dstPitch}};
}

SetEvent EventOf(const Sanitizer_MemsetData& data) {
  return {.context = HandleOf(data.context),
          .record = {.address = data.address,
                     .width_bytes = data.width * std::max<std::uint64_t>(data.elementSize, 1),
                     .stream = Number(data.stream),
                     .is_async = data.isAsync != 0 ? 1U : 0U,
                     .height = data.height,
                     .pitch = data.pitch,
                     .value = data.value}};
}

void OnModule(Session& session, const Sanitizer_ResourceModuleData& data, bool is_loaded) {
  ModuleEvent event{
      .context = HandleOf(data.context), .module = {Number(data.module)}, .cubin = {}};
  if (!is_loaded) {
    session.OnModuleUnloading(event);
    return;
  }
  if (data.pCubin != nullptr) {
    event.cubin = {reinterpret_cast<const std::byte*>(data.pCubin), data.cubinSize};
  }
  session.OnModuleLoaded(event);
}

void OnContext(Session& session, const Sanitizer_ResourceContextData& data, bool is_created) {
  if (is_created) {
    session.OnContextCreated({HandleOf(data.context), DeviceNumber(data.device)});
  } else {
    session.OnContextDestroying({HandleOf(data.context), 0});
  }
}

void OnStream(Session& session, const Sanitizer_ResourceStreamData& data, bool is_created) {
  const StreamEvent event{.context = HandleOf(data.context),
                          .handle = HandleOf(data.hStream),
                          .stream = Number(data.stream)};
  is_created ? session.OnStreamCreated(event) : session.OnStreamDestroying(event);
}

void OnHostMemory(Session& session, MemoryEvent event, bool is_allocated) {
  event.flags |= kPinnedMemory;
  is_allocated ? session.OnMemoryAllocated(event) : session.OnMemoryFreed(event);
}

bool IsOfMemory(Sanitizer_CallbackId id) {
  switch (id) {
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_MEMORY_ALLOC_ASYNC:
    case SANITIZER_CBID_RESOURCE_MEMORY_FREE_ASYNC:
    case SANITIZER_CBID_RESOURCE_MEMPOOL_IMPORT_POINTER:
      return true;
    default:
      return false;
  }
}

// Memory that is freed in order of a stream is free for the program at once; that it is really
// released later is of no use to it. Other callbacks of the domain have other data, or none: the
// first, at the end of cuInit.
void OnMemory(Session& session, Sanitizer_CallbackId id, const void* data) {
  if (!IsOfMemory(id)) {
    return;
  }
  const MemoryEvent event = EventOf(*static_cast<const Sanitizer_ResourceMemoryData*>(data));
  switch (id) {
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_ALLOC:
    case SANITIZER_CBID_RESOURCE_MEMORY_ALLOC_ASYNC:
    case SANITIZER_CBID_RESOURCE_MEMPOOL_IMPORT_POINTER:
      return session.OnMemoryAllocated(event);
    case SANITIZER_CBID_RESOURCE_DEVICE_MEMORY_FREE:
    case SANITIZER_CBID_RESOURCE_MEMORY_FREE_ASYNC:
      return session.OnMemoryFreed(event);
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_ALLOC:
      return OnHostMemory(session, event, true);
    case SANITIZER_CBID_RESOURCE_HOST_MEMORY_FREE:
      return OnHostMemory(session, event, false);
    default:
      return;
  }
}

void OnResource(Session& session, Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_RESOURCE_CONTEXT_CREATION_FINISHED:
      return OnContext(session, *static_cast<const Sanitizer_ResourceContextData*>(data), true);
    case SANITIZER_CBID_RESOURCE_CONTEXT_DESTROY_STARTING:
      return OnContext(session, *static_cast<const Sanitizer_ResourceContextData*>(data), false);
    case SANITIZER_CBID_RESOURCE_STREAM_CREATED:
      return OnStream(session, *static_cast<const Sanitizer_ResourceStreamData*>(data), true);
    case SANITIZER_CBID_RESOURCE_STREAM_DESTROY_STARTING:
      return OnStream(session, *static_cast<const Sanitizer_ResourceStreamData*>(data), false);
    case SANITIZER_CBID_RESOURCE_MODULE_LOADED:
      return OnModule(session, *static_cast<const Sanitizer_ResourceModuleData*>(data), true);
    case SANITIZER_CBID_RESOURCE_MODULE_UNLOAD_STARTING:
      return OnModule(session, *static_cast<const Sanitizer_ResourceModuleData*>(data), false);
    default:
      return OnMemory(session, id, data);
  }
}

void OnSynchronize(Session& session, Sanitizer_CallbackId id,
                   const Sanitizer_SynchronizeData& data) {
  session.OnSync({.kind = id == SANITIZER_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
                              ? codes::kStreamSync
                              : codes::kContextSync,
                  .context = HandleOf(data.context),
                  .handle = HandleOf(data.hStream),
                  .stream = Number(data.stream)});
}

void OnEvent(Session& session, Sanitizer_CallbackId id, const Sanitizer_EventData& data) {
  SyncEvent event{.context = HandleOf(data.context),
                  .handle = HandleOf(data.hStream),
                  .stream = Number(data.stream),
                  .event = Number(data.event)};
  switch (id) {
    case SANITIZER_CBID_EVENTS_RECORD:
      event.kind = codes::kEventRecord;
      return session.OnSync(event);
    case SANITIZER_CBID_EVENTS_STREAM_WAIT:
      event.kind = codes::kStreamWaitEvent;
      return session.OnSync(event);
    case SANITIZER_CBID_EVENTS_SYNCHRONIZE:
      event.kind = codes::kEventSync;
      return session.OnSync(event);
    default:
      return;
  }
}

void OnLaunch(Session& session, Sanitizer_CallbackId id, const Sanitizer_LaunchData& data) {
  if (id == SANITIZER_CBID_LAUNCH_BEGIN) {
    session.OnLaunchBegin(EventOf(data));
  } else if (id == SANITIZER_CBID_LAUNCH_END) {
    session.OnLaunchEnd(EventOf(data));
  }
}

void OnNode(Session& session, const Sanitizer_GraphNodeLaunchData& data, bool is_begin) {
  if (data.isGraphUpload != 0) {
    return;
  }
  if (data.nodeType == CU_GRAPH_NODE_TYPE_KERNEL) {
    LaunchEvent event = EventOf(data.launchData);
    event.api_context = HandleOf(data.launchData.apiContext);
    event.handle = HandleOf(data.launchData.hApiStream);
    event.stream = Number(data.launchData.apiStream);
    event.graph = Number(data.graphExec);
    event.graph_node = Number(data.node);
    return is_begin ? session.OnLaunchBegin(event) : session.OnLaunchEnd(event);
  }
  if (!is_begin) {
    return;
  }
  if (data.nodeType == CU_GRAPH_NODE_TYPE_MEMCPY) {
    session.OnCopy(EventOf(data.memcpyData));
  } else if (data.nodeType == CU_GRAPH_NODE_TYPE_MEMSET) {
    session.OnSet(EventOf(data.memsetData));
  } else if (data.nodeType == CU_GRAPH_NODE_TYPE_MEM_ALLOC) {
    session.OnMemoryAllocated(EventOf(data.memAllocData));
  } else if (data.nodeType == CU_GRAPH_NODE_TYPE_MEM_FREE) {
    session.OnMemoryFreed({.context = {}, .address = data.memFreeAddress});
  }
}

void OnGraphLaunch(Session& session, const Sanitizer_GraphLaunchData& data, bool is_begin) {
  if (data.isGraphUpload != 0) {
    return;
  }
  const GraphEvent event{.context = HandleOf(data.context),
                         .handle = HandleOf(data.hStream),
                         .stream = Number(data.stream),
                         .graph = Number(data.graphExec)};
  is_begin ? session.OnGraphLaunchBegin(event) : session.OnGraphLaunchEnd(event);
}

void OnGraph(Session& session, Sanitizer_CallbackId id, const void* data) {
  switch (id) {
    case SANITIZER_CBID_GRAPHS_GRAPHEXEC_CREATED:
      if (static_cast<const Sanitizer_GraphExecData*>(data)->containsDeviceGraphLaunches != 0) {
        session.OnDeviceGraph();
      }
      return;
    case SANITIZER_CBID_GRAPHS_NODE_LAUNCH_BEGIN:
      return OnNode(session, *static_cast<const Sanitizer_GraphNodeLaunchData*>(data), true);
    case SANITIZER_CBID_GRAPHS_NODE_LAUNCH_END:
      return OnNode(session, *static_cast<const Sanitizer_GraphNodeLaunchData*>(data), false);
    case SANITIZER_CBID_GRAPHS_LAUNCH_BEGIN:
      return OnGraphLaunch(session, *static_cast<const Sanitizer_GraphLaunchData*>(data), true);
    case SANITIZER_CBID_GRAPHS_LAUNCH_END:
      return OnGraphLaunch(session, *static_cast<const Sanitizer_GraphLaunchData*>(data), false);
    default:
      return;
  }
}

void Dispatch(Session& session, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
              const void* data) {
  switch (domain) {
    case SANITIZER_CB_DOMAIN_DRIVER_API:
      return OnDriverCallback(session, id, *static_cast<const Sanitizer_CallbackData*>(data));
    case SANITIZER_CB_DOMAIN_RESOURCE:
      return OnResource(session, id, data);
    case SANITIZER_CB_DOMAIN_SYNCHRONIZE:
      return OnSynchronize(session, id, *static_cast<const Sanitizer_SynchronizeData*>(data));
    case SANITIZER_CB_DOMAIN_LAUNCH:
      return OnLaunch(session, id, *static_cast<const Sanitizer_LaunchData*>(data));
    case SANITIZER_CB_DOMAIN_MEMCPY:
      return session.OnCopy(EventOf(*static_cast<const Sanitizer_MemcpyData*>(data)));
    case SANITIZER_CB_DOMAIN_MEMSET:
      return session.OnSet(EventOf(*static_cast<const Sanitizer_MemsetData*>(data)));
    case SANITIZER_CB_DOMAIN_GRAPHS:
      return OnGraph(session, id, data);
    case SANITIZER_CB_DOMAIN_EVENTS:
      return OnEvent(session, id, *static_cast<const Sanitizer_EventData*>(data));
    default:
      return;
  }
}

void OnCallback(void* user_data, Sanitizer_CallbackDomain domain, Sanitizer_CallbackId id,
                const void* data) {
  if (OwnCall::IsOpen()) {
    return;
  }
  auto& session = *static_cast<Session*>(user_data);
  try {
    Dispatch(session, domain, id, data);
  } catch (const std::exception& error) {
    session.OnException(error.what());
  } catch (...) {
    session.OnException("an exception without a name");
  }
}

constexpr Sanitizer_CallbackDomain kDomains[] = {
    SANITIZER_CB_DOMAIN_RESOURCE, SANITIZER_CB_DOMAIN_SYNCHRONIZE, SANITIZER_CB_DOMAIN_LAUNCH,
    SANITIZER_CB_DOMAIN_MEMCPY,   SANITIZER_CB_DOMAIN_MEMSET,      SANITIZER_CB_DOMAIN_GRAPHS,
    SANITIZER_CB_DOMAIN_EVENTS};

}  // namespace

CallResult Subscribe(Session& session) {
  Sanitizer_SubscriberHandle subscriber = nullptr;
  CallResult result = sanitizerSubscribe(&subscriber, OnCallback, &session);
  for (const Sanitizer_CallbackDomain domain : kDomains) {
    result = result != 0 ? result : sanitizerEnableDomain(1, subscriber, domain);
  }
  for (const Sanitizer_CallbackId function : DriverFunctions()) {
    result = result != 0
                 ? result
                 : sanitizerEnableCallback(1, subscriber, SANITIZER_CB_DOMAIN_DRIVER_API, function);
  }
  return result;
}

}  // namespace orrery::capture::sanitizer
