#include "orrery/ingest/rocprofv3/process.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/base/lookup.h"
#include "orrery/base/math/round_up.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"
#include "orrery/ingest/activity_names.h"
#include "orrery/ingest/csv_rows.h"
#include "orrery/ingest/object_rows.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/tables.h"

namespace orrery::ingest::rocprofv3 {
namespace {

using trace::CopyKind;

// CPUs are no devices of a trace; memory that belongs to them is told by their numbers.
constexpr std::string_view kHostAgent = "host agent ";

std::int64_t Elapsed(const TimeSpan& time) {
  return std::max<std::int64_t>(time.end_ns - time.begin_ns, 0);
}

CopyKind KindOf(std::string_view direction) {
  const auto ends = [&](std::string_view words) { return direction.ends_with(words); };
  return ends("HOST_TO_DEVICE")     ? CopyKind::kHostToDevice
         : ends("DEVICE_TO_HOST")   ? CopyKind::kDeviceToHost
         : ends("DEVICE_TO_DEVICE") ? CopyKind::kDeviceToDevice
         : ends("HOST_TO_HOST")     ? CopyKind::kHostToHost
                                    : CopyKind::kUnknown;
}

// Grids are counted in work-items; a last workgroup may be partly empty.
std::int32_t NumBlocks(std::int64_t work_items, std::int64_t workgroup) {
  const bool is_known = work_items > 0 && workgroup > 0 &&
                        work_items <= std::numeric_limits<std::int64_t>::max() / 2 &&
                        workgroup <= std::numeric_limits<std::int64_t>::max() / 2;
  return is_known ? SmallOrUnknown(DivideUp(work_items, workgroup)) : -1;
}

}  // namespace

std::optional<TimeSpan> MakeTimeSpan(std::optional<std::int64_t> begin_ns,
                                     std::optional<std::int64_t> end_ns, std::int64_t correlation) {
  constexpr std::int64_t kLatestNs = std::int64_t{1} << 61;
  if (!begin_ns || !end_ns || *begin_ns < 0 || *end_ns < *begin_ns || *end_ns > kLatestNs) {
    return std::nullopt;
  }
  return TimeSpan{.begin_ns = *begin_ns, .end_ns = *end_ns, .correlation = correlation};
}

void ProcessRows::Add(const Agent& agent) {
  if (!agent.is_gpu) {
    trace_.metadata.Append(
        {.key = trace_.strings.Intern(fmt::format("{}{}", kHostAgent, agent.number)),
         .value = trace_.strings.Intern(agent.name)});
    return;
  }
  trace_.devices.Append({.id = agent.number,
                         .name = trace_.strings.Intern(agent.name),
                         .memory_bytes = agent.memory_bytes,
                         .multiprocessors = agent.compute_units});
}

void ProcessRows::Add(const Dispatch& dispatch) {
  trace_.activities.Append({.begin_ns = dispatch.time.begin_ns,
                            .duration_ns = Elapsed(dispatch.time),
                            .name = trace_.strings.Intern(dispatch.name),
                            .track = DeviceTrack(dispatch.agent, dispatch.stream),
                            .correlation = dispatch.time.correlation,
                            .shape = ShapeOf(dispatch)});
}

// A copy is drawn on the GPU that it reaches or leaves.
void ProcessRows::Add(const Copy& copy) {
  const CopyKind kind = KindOf(copy.direction);
  const std::int32_t device =
      kind == CopyKind::kDeviceToHost ? copy.source : std::max(copy.destination, -1);
  trace_.activities.Append({.begin_ns = copy.time.begin_ns,
                            .duration_ns = Elapsed(copy.time),
                            .name = trace_.strings.Intern(MemcpyName(kind)),
                            .track = DeviceTrack(device, copy.stream),
                            .kind = trace::ActivityKind::kMemcpy,
                            .copy_kind = kind,
                            .correlation = copy.time.correlation,
                            .bytes = copy.bytes});
}

// PASTA defect 34: memory exists from the return of the allocating call until the freeing
// call begins.
void ProcessRows::Add(const Allocation& allocation) {
  const bool is_free = allocation.operation.ends_with("FREE");
  if (!is_free && !allocation.operation.ends_with("ALLOCATE")) {
    trace_.problems.Loss("unknown memory operation", 1, allocation.operation);
    return;
  }
  if (allocation.address == 0) {
    trace_.problems.Note(is_free ? "free of address 0" : "allocation that failed");
    return;
  }
  steps_.push_back({.time_ns = is_free ? allocation.time.begin_ns : allocation.time.end_ns,
                    .is_allocation = !is_free,
                    .is_virtual = allocation.operation.find("VMEM") != std::string_view::npos,
                    .agent = allocation.agent,
                    .bytes = std::max<std::int64_t>(allocation.bytes, 0),
                    .address = static_cast<std::uint64_t>(allocation.address)});
}

void ProcessRows::Add(const Call& call) {
  const RowId track = FindOrAdd(host_tracks_, std::pair(call.process, call.thread), [&] {
    return trace_.tracks.Append(
        {.kind = trace::TrackKind::kHost, .process = call.process, .thread = call.thread});
  });
  trace_.runtime_calls.Append(
      {.begin_ns = call.time.begin_ns,
       .duration_ns = Elapsed(call.time),
       .name = trace_.strings.Intern(call.function),
       .track = track,
       .api = call.domain.starts_with("HIP") ? trace::ApiKind::kRuntime : trace::ApiKind::kDriver,
       .correlation = call.time.correlation});
}

void ProcessRows::Finish() {
  std::ranges::stable_sort(steps_, {}, [](const MemoryStep& step) {
    return std::pair(step.time_ns, step.is_allocation);
  });
  // Memory from its allocation to its free, which names only the address.
  std::vector<trace::MemoryObjects::Row> objects;
  std::map<std::pair<bool, std::uint64_t>, std::size_t> alive;
  std::int64_t order = 0;
  for (const MemoryStep& step : steps_) {
    const auto key = std::pair(step.is_virtual, step.address);
    if (const auto known = alive.find(key); known != alive.end()) {
      trace::MemoryObjects::Row& object = objects[known->second];
      object.duration_ns = step.time_ns - object.begin_ns;
      object.death_order = order;
      trace_.problems.Note("allocation over memory that was never freed",
                           step.is_allocation ? 1 : 0);
      alive.erase(known);
    } else if (!step.is_allocation) {
      trace_.problems.Note("free of memory that was allocated before the recording");
    }
    if (step.is_allocation) {
      alive[key] = objects.size();
      objects.push_back({.begin_ns = step.time_ns,
                         .id = std::ssize(objects) + 1,
                         .address = step.address,
                         .bytes = step.bytes,
                         .device = step.agent,
                         .birth_order = order});
    }
    ++order;
  }
  AppendObjects(objects, trace_.memory_objects);
}

RowId ProcessRows::DeviceTrack(std::int32_t device, std::int64_t stream) {
  return FindOrAdd(device_tracks_, std::pair<std::int64_t, std::int64_t>(device, stream), [&] {
    return trace_.tracks.Append({.kind = trace::TrackKind::kDevice,
                                 .process = device,
                                 .thread = stream,
                                 .device = device,
                                 .name = trace_.strings.Intern(fmt::format("stream {}", stream))});
  });
}

RowId ProcessRows::ShapeOf(const Dispatch& dispatch) {
  const auto& items = dispatch.work_items;
  const auto& block = dispatch.workgroup;
  const std::array<std::int64_t, 8> key{
      items[0], items[1], items[2],           block[0],
      block[1], block[2], dispatch.registers, dispatch.shared_bytes};
  return FindOrAdd(shapes_, key, [&] {
    return trace_.launch_shapes.Append({.grid_x = NumBlocks(items[0], block[0]),
                                        .grid_y = NumBlocks(items[1], block[1]),
                                        .grid_z = NumBlocks(items[2], block[2]),
                                        .block_x = SmallOrUnknown(block[0]),
                                        .block_y = SmallOrUnknown(block[1]),
                                        .block_z = SmallOrUnknown(block[2]),
                                        .registers_per_thread = SmallOrUnknown(dispatch.registers),
                                        .shared_memory_bytes = dispatch.shared_bytes});
  });
}

void CompleteProcess(trace::Trace& trace, std::string_view step_marker) {
  std::set<std::int32_t> gpus(trace.devices.id.begin(), trace.devices.id.end());
  std::set<std::int32_t> hosts;
  for (const StringId key : trace.metadata.key) {
    const std::string_view number = TextAfter(trace.Text(key), kHostAgent);
    hosts.insert(SmallOrUnknown(DecimalOrHex(number).value_or(-1)));
  }
  hosts.erase(-1);
  for (const RowId track : trace.activities.track) {
    gpus.insert(trace.tracks.device[track]);
  }
  for (RowId row = 0; row < trace.memory_objects.size(); ++row) {
    const std::int32_t agent = trace.memory_objects.device[row];
    trace.memory_objects.memory_class[row] = hosts.contains(agent)  ? trace::MemoryClass::kPinned
                                             : gpus.contains(agent) ? trace::MemoryClass::kDevice
                                                                    : trace::MemoryClass::kUnknown;
  }
  trace::FinishTrace(trace, {.step_marker = std::string(step_marker)});
}

}  // namespace orrery::ingest::rocprofv3
