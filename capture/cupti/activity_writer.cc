#include "capture/cupti/activity_writer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

// Older calls are forgotten, so that memory stays bounded.
constexpr std::uint64_t kCallsKept = 1 << 18;
constexpr std::size_t kMostWaiting = 1 << 20;

}  // namespace

bool IsWantedCall(std::string_view name) {
  constexpr std::array<std::string_view, 16> kPrefixes = {
      "cudaLaunch",    "cudaGraphLaunch", "cudaMemcpy",    "cudaMemset",
      "cudaMalloc",    "cudaFree",        "cudaHostAlloc", "cuLaunch",
      "cuGraphLaunch", "cuMemcpy",        "cuMemset",      "cuMemAlloc",
      "cuMemFree",     "cuMemHostAlloc",  "cuMemPrefetch", "cudaMemPrefetch"};
  return std::any_of(kPrefixes.begin(), kPrefixes.end(),
                     [name](std::string_view prefix) { return name.starts_with(prefix); });
}

void ActivityWriter::Take(stream::Launch launch, std::string_view kernel) {
  launch.function = recorder_.Function(kernel);
  launch.reason = recorder_.Text("coarse capture");
  waiting_.emplace_back(launch);
}

void ActivityWriter::Take(stream::ApiCall call, std::string_view name) {
  begin_of_call_[call.correlation] = {.time_ns = call.time_ns, .thread = call.thread};
  last_correlation_ = std::max(last_correlation_, call.correlation);
  if (writes_calls_) {
    call.sequence = recorder_.LateCallNumber(call.time_ns, call.correlation);
    call.name = recorder_.Text(name);
    recorder_.Write(call);
  }
}

void ActivityWriter::Take(stream::Synchronization wait) {
  wait.sequence = recorder_.LateCallNumber(wait.time_ns, wait.correlation);
  recorder_.Write(wait);
}

// Migrations belong to no call; a number of the present keeps them apart from everything else.
void ActivityWriter::Take(stream::ManagedMemory managed) {
  const std::int64_t time_ns = managed.time_ns;
  recorder_.Stamp(managed);
  managed.time_ns = time_ns;
  managed.thread = 0;
  recorder_.Write(managed);
}

void ActivityWriter::TakeOverhead(std::int64_t duration_ns) {
  recorder_.AddOverhead(codes::kCollection, duration_ns);
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
