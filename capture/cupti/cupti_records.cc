#include "capture/cupti/cupti_records.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "capture/recorder/buffer_pool.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

std::string_view TextOf(const char* text) {
  return text == nullptr ? std::string_view() : text;
}

std::int64_t Time(std::uint64_t time_ns) {
  return static_cast<std::int64_t>(time_ns);
}

std::int64_t Duration(std::uint64_t start, std::uint64_t end) {
  return std::max<std::int64_t>(Time(end) - Time(start), 0);
}

std::uint64_t Length(std::int64_t length) {
  return static_cast<std::uint64_t>(std::max<std::int64_t>(length, 0));
}

/// An event of the stream with what all records of device work have.
template <typename Event, typename Record>
Event WorkOf(const Record& record) {
  Event event;
  event.time_ns = Time(record.start);
  event.duration_ns = Duration(record.start, record.end);
  event.device = record.deviceId;
  event.context = record.contextId;
  event.stream = record.streamId;
  event.correlation = record.correlationId;
  return event;
}

std::uint64_t CopyKindOf(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return codes::kHostToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return codes::kDeviceToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return codes::kDeviceToDevice;
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return codes::kHostToHost;
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return codes::kPeerToPeer;
    default:
      return codes::kUnknownCopy;
  }
}

std::uint64_t FlagsOf(CUpti_ActivityMemoryKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return codes::kPinnedFlag;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return codes::kManagedFlag;
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return codes::kModuleFlag;
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return codes::kModuleFlag | codes::kManagedFlag;
    default:
      return 0;
  }
}

// The actions of a stream in the order of CUPTI's counters; the first is not known.
constexpr std::array<std::uint64_t, kNumManagedCounters> kActionOfCounter = {
    codes::kAdvise,       codes::kMigrationToDevice, codes::kMigrationToHost, codes::kHostFaults,
    codes::kDeviceFaults, codes::kThrashing,         codes::kThrottling,      codes::kRemoteMap};

bool CountsBytes(std::uint64_t action) {
  return action == codes::kMigrationToDevice || action == codes::kMigrationToHost;
}

std::string HexOf(const CUuuid& uuid) {
  std::string text;
  for (const char byte : uuid.bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", static_cast<unsigned char>(byte));
    text += digits.data();
  }
  return text;
}

void Show(const CUpti_ActivityKernel10& kernel, ActivityReceiver& receiver) {
  auto launch = WorkOf<stream::Launch>(kernel);
  launch.grid_x = Length(kernel.gridX);
  launch.grid_y = Length(kernel.gridY);
  launch.grid_z = Length(kernel.gridZ);
  launch.block_x = Length(kernel.blockX);
  launch.block_y = Length(kernel.blockY);
  launch.block_z = Length(kernel.blockZ);
  launch.cluster_x = Length(kernel.clusterX);
  launch.cluster_y = Length(kernel.clusterY);
  launch.cluster_z = Length(kernel.clusterZ);
  launch.shared_bytes = static_cast<std::uint64_t>(kernel.staticSharedMemory) +
                        static_cast<std::uint64_t>(kernel.dynamicSharedMemory);
  launch.registers = kernel.registersPerThread;
  launch.graph = kernel.graphId;
  launch.graph_node = kernel.graphNodeId;
  receiver.Take(launch, TextOf(kernel.name));
}

template <typename Copy>
void ShowCopy(const Copy& copy, ActivityReceiver& receiver) {
  auto event = WorkOf<stream::Copy>(copy);
  event.kind = CopyKindOf(copy.copyKind);
  event.width_bytes = copy.bytes;
  event.is_async = (copy.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0 ? 1 : 0;
  receiver.Take(event);
}

void Show(const CUpti_ActivityMemset4& set, ActivityReceiver& receiver) {
  auto event = WorkOf<stream::Set>(set);
  event.width_bytes = set.bytes;
  event.value = set.value;
  event.is_async = (set.flags & CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC) != 0 ? 1 : 0;
  receiver.Take(event);
}

void Show(const CUpti_ActivityGraphTrace2& graph, ActivityReceiver& receiver) {
  auto event = WorkOf<stream::GraphLaunch>(graph);
  event.graph = graph.graphId;
  receiver.Take(event);
}

void Show(const CUpti_ActivityAPI& call, ActivityReceiver& receiver) {
  const bool is_runtime = call.kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  receiver.Take(
      stream::ApiCall{.time_ns = Time(call.start),
                      .thread = ThreadNumberOf(call.threadId),
                      .api = is_runtime ? codes::kRuntimeApi : codes::kDriverApi,
                      .correlation = call.correlationId,
                      .duration_ns = Duration(call.start, call.end),
                      .result = call.returnValue},
      NameOfCall(is_runtime ? CUPTI_CB_DOMAIN_RUNTIME_API : CUPTI_CB_DOMAIN_DRIVER_API, call.cbid));
}

void Show(const CUpti_ActivityMemory4& memory, ActivityReceiver& receiver) {
  receiver.Take(MemoryActivity{
      .correlation = memory.correlationId,
      .time_ns = Time(memory.timestamp),
      .address = memory.address,
      .bytes = memory.bytes,
      .flags = FlagsOf(memory.memoryKind),
      .device = memory.deviceId,
      .context = memory.contextId,
      .stream = memory.streamId == CUPTI_INVALID_STREAM_ID ? 0 : memory.streamId,
      .pool = memory.memoryPoolConfig.address,
      .is_free = memory.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE});
}

void Show(const CUpti_ActivitySynchronization2& wait, ActivityReceiver& receiver) {
  const auto kind = static_cast<std::uint64_t>(wait.type);
  receiver.Take(stream::Synchronization{
      .time_ns = Time(wait.start),
      .kind = kind <= codes::kContextSync ? kind : codes::kUnknownSync,
      .context = wait.contextId,
      .stream = wait.streamId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : wait.streamId,
      .event = wait.cudaEventId == CUPTI_SYNCHRONIZATION_INVALID_VALUE ? 0 : wait.cudaEventId,
      .correlation = wait.correlationId,
      .duration_ns = Duration(wait.start, wait.end)});
}

void Show(const CUpti_ActivityUnifiedMemoryCounter3& counter, ActivityReceiver& receiver) {
  const auto kind = static_cast<std::size_t>(counter.counterKind);
  if (kind == 0 || kind >= kActionOfCounter.size()) {
    return;
  }
  const std::uint64_t action = kActionOfCounter[kind];
  const bool is_to_host = action == codes::kMigrationToHost;
  receiver.Take(stream::ManagedMemory{
      .time_ns = Time(counter.start),
      .action = action,
      .address = counter.address,
      .bytes = CountsBytes(action) ? counter.value : 0,
      .device = CountsBytes(action) && !is_to_host ? counter.dstId : counter.srcId,
      .count = CountsBytes(action) ? 1 : counter.value,
      .duration_ns = Duration(counter.start, counter.end)});
}

void Show(const CUpti_ActivityDevice5& device, ActivityReceiver& receiver) {
  const std::string uuid = HexOf(device.uuid);
  receiver.Take(stream::Device{.device = device.id,
                               .name = TextOf(device.name),
                               .uuid = uuid,
                               .memory_bytes = static_cast<std::int64_t>(device.globalMemorySize),
                               .multiprocessors = device.numMultiprocessors,
                               .compute_major = device.computeCapabilityMajor,
                               .compute_minor = device.computeCapabilityMinor});
}

template <typename Record>
const Record& As(const CUpti_Activity& activity) {
  return reinterpret_cast<const Record&>(activity);
}

}  // namespace

std::string_view NameOfCall(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const char* name = nullptr;
  return cuptiGetCallbackName(domain, id, &name) == CUPTI_SUCCESS ? TextOf(name)
                                                                  : std::string_view();
}

void ShowAny(const CUpti_Activity& activity, ActivityReceiver& receiver) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return Show(As<CUpti_ActivityKernel10>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return ShowCopy(As<CUpti_ActivityMemcpy6>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return ShowCopy(As<CUpti_ActivityMemcpyPtoP4>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return Show(As<CUpti_ActivityMemset4>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return Show(As<CUpti_ActivityGraphTrace2>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return Show(As<CUpti_ActivityAPI>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_MEMORY2:
      return Show(As<CUpti_ActivityMemory4>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
      return Show(As<CUpti_ActivitySynchronization2>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
      return Show(As<CUpti_ActivityUnifiedMemoryCounter3>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_DEVICE:
      return Show(As<CUpti_ActivityDevice5>(activity), receiver);
    case CUPTI_ACTIVITY_KIND_OVERHEAD: {
      const auto& cost = As<CUpti_ActivityOverhead3>(activity);
      return receiver.TakeOverhead(Time(cost.end) - Time(cost.start));
    }
    default:
      return;
  }
}

}  // namespace orrery::capture
