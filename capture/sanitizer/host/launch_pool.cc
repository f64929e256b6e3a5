#include "capture/sanitizer/host/launch_pool.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

// Counters of warps have 28 bits for each object, shard and block: a bound for what one may add up.
constexpr std::size_t kMaxMerged = 64;

/// Says whether a launch may count in the block of `other`: what is counted must be the same thing.
/// Records of single accesses carry the number of one launch.
bool CanCountWith(const PendingLaunch& other, const PendingLaunch& launch) {
  return other.function == launch.function && other.stream == launch.stream &&
         other.objects == launch.objects && other.modes == launch.modes &&
         (launch.modes & kStreamMode) == 0 &&
         other.choice.block_period == launch.choice.block_period &&
         other.choice.first_block == launch.choice.first_block && !other.is_lost &&
         !other.is_cancelled && other.merged.size() < kMaxMerged;
}

}  // namespace

LaunchPool::LaunchPool(VendorCalls& calls, ContextHandle context, std::uint64_t arena_bytes,
                       Overheads& overheads)
    : calls_(calls), context_(context), arena_bytes_(arena_bytes), overheads_(overheads) {}

CallResult LaunchPool::Open(StreamHandle stream) {
  CallResult result = calls_.Allocate(context_, arena_bytes_, &device_memory_);
  if (result != 0) {
    return result;
  }
  void* memory = nullptr;
  result = calls_.AllocateHost(context_, arena_bytes_, &memory);
  if (result != 0) {
    return result;
  }
  mirror_ = static_cast<std::byte*>(memory);
  result = calls_.Memset(device_memory_, 0, arena_bytes_, stream);
  if (result == 0) {
    result = calls_.Synchronize(stream);
  }
  if (result == 0) {
    arena_ = Arena(arena_bytes_);
    is_broken_ = false;
  }
  return result;
}

std::optional<std::uint64_t> LaunchPool::Begin(PendingLaunch launch, AccessRing* ring) {
  launch.layout = LayoutFor(launch);
  const auto offset = is_broken_ ? std::nullopt : TakeBlock(launch);
  if (!offset) {
    return std::nullopt;
  }
  if (!Send(launch, ring)) {
    is_broken_ = true;
    return std::nullopt;
  }
  const std::lock_guard lock(mutex_);
  // A handle that comes again belonged to a launch whose end was never told.
  if (const auto before = FindBegun(launch.handle); before != begun_.end()) {
    before->is_lost = true;
    MoveToEnded(before);
  }
  begun_.push_back(std::move(launch));
  return device_memory_ + *offset;
}

// Its block is read when its stream has passed. Until the new launch is in that stream, the other
// one counts as begun again, under the new launch's handle.
std::optional<LaunchPool::Joined> LaunchPool::Merge(const PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  PendingLaunch* const other = is_broken_ ? nullptr : FindToMergeInto(launch);
  if (other == nullptr) {
    return std::nullopt;
  }
  other->merged.push_back({.number = launch.number, .arguments = launch.arguments});
  other->handle = launch.handle;
  other->graph = launch.graph;
  return Joined{.record = device_memory_ + other->offset, .into = other->number};
}

// The latest that has ended, which is put back among those that have begun; or the latest node of
// the same graph, which is there while its graph is being launched.
PendingLaunch* LaunchPool::FindToMergeInto(const PendingLaunch& launch) {
  const auto node = std::find_if(begun_.rbegin(), begun_.rend(), [&](const PendingLaunch& other) {
    return launch.graph != 0 && other.graph == launch.graph && other.handle == LaunchHandle{} &&
           CanCountWith(other, launch);
  });
  if (node != begun_.rend()) {
    return &*node;
  }
  const auto ended = std::find_if(ended_.rbegin(), ended_.rend(), [&](const PendingLaunch& other) {
    return CanCountWith(other, launch);
  });
  if (ended == ended_.rend()) {
    return nullptr;
  }
  begun_.push_back(std::move(*ended));
  ended_.erase(std::prev(ended.base()));
  return &begun_.back();
}

// The latest are at the end.
LaunchPool::Launches::iterator LaunchPool::FindBegun(LaunchHandle handle) {
  const auto found = std::find_if(begun_.rbegin(), begun_.rend(), [&](const PendingLaunch& launch) {
    return launch.handle == handle;
  });
  return found == begun_.rend() ? begun_.end() : std::prev(found.base());
}

void LaunchPool::MoveToEnded(Launches::iterator launch) {
  ended_.push_back(std::move(*launch));
  begun_.erase(launch);
}

std::optional<std::uint64_t> LaunchPool::TakeBlock(PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  const auto offset = arena_.Take(launch.layout.bytes);
  launch.offset = offset.value_or(0);
  return offset;
}

bool LaunchPool::IsCrowded() {
  const std::lock_guard lock(mutex_);
  return arena_.free_bytes() < arena_bytes_ / 2;
}

bool LaunchPool::Send(const PendingLaunch& launch, AccessRing* ring) {
  std::byte* const staging = mirror_ + launch.offset;
  FillBlock(launch, device_memory_ + launch.offset, ring, staging);
  const Overheads::Scope scope(overheads_, codes::kTransfer, launch.layout.upload_bytes);
  return calls_.CopyToDevice(device_memory_ + launch.offset, staging, launch.layout.upload_bytes,
                             launch.stream) == 0;
}

bool LaunchPool::End(LaunchHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = FindBegun(handle);
  if (found == begun_.end()) {
    return false;
  }
  if (found->graph != 0) {
    // A node is in its stream when its graph is; its handle may come again before that.
    found->handle = {};
    return true;
  }
  MoveToEnded(found);
  return true;
}

void LaunchPool::EndGraph(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  std::erase_if(begun_, [&](PendingLaunch& launch) {
    if (launch.graph != graph) {
      return false;
    }
    ended_.push_back(std::move(launch));
    return true;
  });
}

void LaunchPool::Cancel(LaunchHandle handle) {
  const std::lock_guard lock(mutex_);
  const auto found = FindBegun(handle);
  if (found == begun_.end()) {
    return;
  }
  if (found->merged.empty()) {
    // Its block was written to, so it has to be cleared with the others.
    found->is_cancelled = true;
  } else {
    found->merged.pop_back();
  }
  if (found->graph == 0 || found->is_cancelled) {
    MoveToEnded(found);
  } else {
    found->handle = {};
  }
}

std::vector<PendingLaunch> LaunchPool::TakeEnded(std::optional<StreamHandle> stream) {
  Launches taken;
  const std::lock_guard lock(mutex_);
  if (!stream) {
    taken.swap(ended_);
    return taken;
  }
  std::erase_if(ended_, [&](PendingLaunch& launch) {
    if (launch.stream != *stream) {
      return false;
    }
    taken.push_back(std::move(launch));
    return true;
  });
  return taken;
}

std::vector<LaunchPool::Run> LaunchPool::RunsOf(const std::vector<PendingLaunch>& sorted) {
  std::vector<Run> runs;
  for (const PendingLaunch& launch : sorted) {
    const std::uint64_t bytes = Arena::Rounded(launch.layout.bytes);
    if (runs.empty() || runs.back().stream != launch.stream ||
        runs.back().offset + runs.back().bytes != launch.offset) {
      runs.push_back({.stream = launch.stream, .offset = launch.offset});
    }
    runs.back().bytes += bytes;
    ++runs.back().num_launches;
  }
  return runs;
}

void LaunchPool::ReadBack(std::vector<PendingLaunch>& launches) {
  std::sort(launches.begin(), launches.end(), [](const auto& a, const auto& b) {
    return std::tie(a.stream, a.offset) < std::tie(b.stream, b.offset);
  });
  auto next = launches.begin();
  for (const Run& run : RunsOf(launches)) {
    const auto end = next + static_cast<std::ptrdiff_t>(run.num_launches);
    if (!Fetch(run)) {
      is_broken_ = true;
      std::for_each(next, end, [](PendingLaunch& launch) { launch.is_lost = true; });
    }
    next = end;
  }
}

bool LaunchPool::Fetch(const Run& run) {
  const Overheads::Scope scope(overheads_, codes::kTransfer, run.bytes);
  return calls_.CopyToHost(mirror_ + run.offset, device_memory_ + run.offset, run.bytes,
                           run.stream) == 0;
}

void LaunchPool::Release(const std::vector<PendingLaunch>& launches) {
  for (const Run& run : RunsOf(launches)) {
    if (is_broken_ || !Clear(run)) {
      is_broken_ = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    arena_.GiveBack(run.offset, run.bytes);
  }
}

bool LaunchPool::Clear(const Run& run) {
  // The next launch in the block may be on another stream: it must find it clear.
  const Overheads::Scope scope(overheads_, codes::kWaiting);
  return calls_.Memset(device_memory_ + run.offset, 0, run.bytes, run.stream) == 0 &&
         calls_.Synchronize(run.stream) == 0;
}

void LaunchPool::Close() {
  is_broken_ = true;
  if (mirror_ != nullptr) {
    static_cast<void>(calls_.FreeHost(context_, std::exchange(mirror_, nullptr)));
  }
  if (device_memory_ != 0) {
    static_cast<void>(calls_.Free(context_, std::exchange(device_memory_, 0)));
  }
}

}  // namespace orrery::capture::sanitizer
