#include "capture/cupti/activity_writer.h"

#include <algorithm>
#include <utility>

#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

// Calls that no work has asked for by then are forgotten, so that memory stays bounded.
constexpr std::uint64_t kCallsKept = 1 << 18;
constexpr std::size_t kMostWaiting = 1 << 20;

std::int64_t Duration(std::int64_t begin_ns, std::int64_t end_ns) {
  return std::max<std::int64_t>(end_ns - begin_ns, 0);
}

}  // namespace

template <typename Event>
Event ActivityWriter::EventOf(const DeviceWork& work) {
  Event event;
  event.time_ns = work.begin_ns;
  event.duration_ns = Duration(work.begin_ns, work.end_ns);
  event.device = work.device;
  event.context = work.context;
  event.stream = work.stream;
  event.correlation = work.correlation;
  return event;
}

void ActivityWriter::Take(const KernelActivity& kernel) {
  auto launch = EventOf<stream::Launch>(kernel.work);
  launch.function = recorder_.Function(kernel.name);
  launch.grid_x = kernel.grid.x;
  launch.grid_y = kernel.grid.y;
  launch.grid_z = kernel.grid.z;
  launch.block_x = kernel.block.x;
  launch.block_y = kernel.block.y;
  launch.block_z = kernel.block.z;
  launch.cluster_x = kernel.cluster.x;
  launch.cluster_y = kernel.cluster.y;
  launch.cluster_z = kernel.cluster.z;
  launch.shared_bytes = kernel.shared_bytes;
  launch.registers = kernel.registers;
  launch.graph = kernel.work.graph;
  launch.graph_node = kernel.work.graph_node;
  launch.reason = recorder_.Text("coarse capture");
  waiting_.emplace_back(launch);
}

void ActivityWriter::Take(const CopyActivity& copy) {
  auto event = EventOf<stream::Copy>(copy.work);
  event.width_bytes = copy.bytes;
  event.kind = copy.kind;
  event.is_async = copy.is_async ? 1 : 0;
  waiting_.emplace_back(event);
}

void ActivityWriter::Take(const SetActivity& set) {
  auto event = EventOf<stream::Set>(set.work);
  event.width_bytes = set.bytes;
  event.value = set.value;
  event.is_async = set.is_async ? 1 : 0;
  waiting_.emplace_back(event);
}

void ActivityWriter::Take(const GraphActivity& graph) {
  auto event = EventOf<stream::GraphLaunch>(graph.work);
  event.graph = graph.work.graph;
  waiting_.emplace_back(event);
}

void ActivityWriter::Take(const CallActivity& call) {
  begin_of_call_[call.correlation] = {.time_ns = call.begin_ns, .thread = call.thread};
  last_correlation_ = std::max(last_correlation_, call.correlation);
  if (writes_calls_) {
    recorder_.Write(
        stream::ApiCall{.sequence = recorder_.LateCallNumber(call.begin_ns, call.correlation),
                        .time_ns = call.begin_ns,
                        .thread = call.thread,
                        .name = recorder_.Text(call.name),
                        .api = call.api,
                        .correlation = call.correlation,
                        .duration_ns = Duration(call.begin_ns, call.end_ns),
                        .result = call.result});
  }
}

void ActivityWriter::Take(const MemoryActivity& memory) {
  memory_.push_back(memory);
}

void ActivityWriter::Take(const WaitActivity& wait) {
  recorder_.Write(
      stream::Synchronization{.sequence = recorder_.LateCallNumber(wait.begin_ns, wait.correlation),
                              .time_ns = wait.begin_ns,
                              .kind = wait.kind,
                              .context = wait.context,
                              .stream = wait.stream,
                              .event = wait.event,
                              .correlation = wait.correlation,
                              .duration_ns = Duration(wait.begin_ns, wait.end_ns)});
}

// Migrations belong to no call; a number of the present keeps them apart from everything else.
void ActivityWriter::Take(const ManagedActivity& managed) {
  stream::ManagedMemory event{.action = managed.action,
                              .address = managed.address,
                              .bytes = managed.bytes,
                              .device = managed.device,
                              .stream = managed.stream,
                              .count = managed.count,
                              .duration_ns = Duration(managed.begin_ns, managed.end_ns)};
  recorder_.Stamp(event);
  event.time_ns = managed.begin_ns;
  event.thread = 0;
  recorder_.Write(event);
}

void ActivityWriter::Take(const DeviceActivity& device) {
  recorder_.Write(stream::Device{.device = device.device,
                                 .name = device.name,
                                 .uuid = device.uuid,
                                 .memory_bytes = device.memory_bytes,
                                 .multiprocessors = device.multiprocessors,
                                 .compute_major = device.compute_major,
                                 .compute_minor = device.compute_minor});
}

void ActivityWriter::Take(const CostActivity& cost) {
  recorder_.AddOverhead(codes::kCollection, cost.duration_ns);
}

void ActivityWriter::EndBatch() {
  WriteMemory();
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Work& a, const Work& b) {
    const auto key = [](const auto& event) { return std::pair(event.correlation, event.time_ns); };
    return std::visit(key, a) < std::visit(key, b);
  });
  std::erase_if(waiting_, [this](const Work& work) { return WriteIfKnown(work); });
  if (waiting_.size() > kMostWaiting) {
    Finish();
  }
  ForgetOldCalls();
}

void ActivityWriter::Finish() {
  WriteMemory();
  std::vector<Work> left;
  std::swap(left, waiting_);
  for (Work& work : left) {
    if (!WriteIfKnown(work)) {
      WriteWithout(work);
    }
  }
}

bool ActivityWriter::WriteIfKnown(const Work& work) {
  return std::visit(
      [this](auto event) {
        const auto call = begin_of_call_.find(event.correlation);
        if (call == begin_of_call_.end()) {
          return false;
        }
        event.sequence = recorder_.LateNumber(call->second.time_ns, event.correlation,
                                              NextOf(event.correlation));
        event.thread = call->second.thread;
        recorder_.Write(event);
        return true;
      },
      work);
}

void ActivityWriter::WriteWithout(Work& work) {
  std::visit(
      [this](auto& event) {
        event.sequence =
            recorder_.LateNumber(event.time_ns, event.correlation, NextOf(event.correlation));
        recorder_.Write(event);
      },
      work);
  recorder_.Count(codes::kOtherCoverage,
                  "work whose call was not told of: numbered by when it ran");
}

// A call begins one piece of work, unless it launches a graph.
std::uint64_t ActivityWriter::NextOf(std::uint64_t correlation) {
  return works_of_call_[correlation]++;
}

void ActivityWriter::WriteMemory() {
  std::stable_sort(
      memory_.begin(), memory_.end(), [](const MemoryActivity& a, const MemoryActivity& b) {
        return std::pair(a.time_ns, a.correlation) < std::pair(b.time_ns, b.correlation);
      });
  for (const MemoryActivity& memory : memory_) {
    WriteMemory(memory);
  }
  memory_.clear();
}

void ActivityWriter::WriteMemory(const MemoryActivity& memory) {
  const std::uint64_t sequence = recorder_.LateNumber(memory.time_ns, memory.correlation);
  const auto call = begin_of_call_.find(memory.correlation);
  const std::uint64_t thread = call == begin_of_call_.end() ? 0 : call->second.thread;
  if (memory.is_free) {
    recorder_.FreedLate({.sequence = sequence,
                         .time_ns = memory.time_ns,
                         .thread = thread,
                         .address = memory.address,
                         .level = codes::kDriver,
                         .device = memory.device,
                         .stream = memory.stream});
    return;
  }
  recorder_.AllocatedLate({.sequence = sequence,
                           .time_ns = memory.time_ns,
                           .thread = thread,
                           .address = memory.address,
                           .bytes = memory.bytes,
                           .level = codes::kDriver,
                           .flags = memory.flags,
                           .device = memory.device,
                           .context = memory.context,
                           .stream = memory.stream,
                           .pool = memory.pool});
}

void ActivityWriter::ForgetOldCalls() {
  if (begin_of_call_.size() < 2 * kCallsKept && works_of_call_.size() < 2 * kCallsKept) {
    return;
  }
  const std::uint64_t oldest = last_correlation_ < kCallsKept ? 0 : last_correlation_ - kCallsKept;
  const auto is_old = [oldest](const auto& entry) { return entry.first < oldest; };
  std::erase_if(begin_of_call_, is_old);
  std::erase_if(works_of_call_, is_old);
}

}  // namespace orrery::capture
