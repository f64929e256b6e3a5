#include "capture/sanitizer/host/launch/launch_pool.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;

// Limit of nodes in one stream before a wait. In the middle of a graph there is no limit.
constexpr std::size_t kManyNodes = 4096;

}  // namespace

std::optional<std::uint64_t> Arena::Take(std::uint64_t bytes) {
  const std::uint64_t rounded = Rounded(bytes);
  const auto fits = [&](const auto& gap) { return gap.second >= rounded; };
  const auto start = free_.lower_bound(next_);
  auto found = std::find_if(start, free_.end(), fits);
  if (found == free_.end()) {
    found = std::find_if(free_.begin(), start, fits);
    if (found == start) {
      return std::nullopt;
    }
  }
  return TakeFrom(found, rounded);
}

std::uint64_t Arena::TakeFrom(Gaps::iterator gap, std::uint64_t bytes) {
  const auto [offset, available] = *gap;
  free_.erase(gap);
  if (available > bytes) {
    free_.emplace(offset + bytes, available - bytes);
  }
  next_ = offset + bytes;
  free_bytes_ -= bytes;
  return offset;
}

void Arena::GiveBack(std::uint64_t offset, std::uint64_t bytes) {
  auto begin = offset;
  auto end = offset + Rounded(bytes);
  free_bytes_ += Rounded(bytes);
  const auto after = free_.lower_bound(offset);
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == begin) {
      begin = before->first;
      free_.erase(before);
    }
  }
  if (after != free_.end() && after->first == end) {
    end += after->second;
    free_.erase(after);
  }
  free_.emplace(begin, end - begin);
}

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
  pending_.Begin(std::move(launch));
  return device_memory_ + *offset;
}

std::optional<LaunchPool::Joined> LaunchPool::Merge(const PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  return JoinedTo(is_broken_ ? nullptr : pending_.Merge(launch));
}

std::optional<LaunchPool::Joined> LaunchPool::JoinNodes(const PendingLaunch& node) {
  const std::lock_guard lock(mutex_);
  return JoinedTo(is_broken_ ? nullptr : pending_.JoinNodes(node));
}

std::optional<LaunchPool::Joined> LaunchPool::JoinedTo(const PendingLaunch* receiver) const {
  if (receiver == nullptr) {
    return std::nullopt;
  }
  return Joined{.record = device_memory_ + receiver->offset,
                .into = receiver->number,
                .inclusion_ppb = receiver->choice.inclusion_ppb,
                .function = receiver->function};
}

void LaunchPool::MixNodes(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  pending_.MixNodes(stream);
}

std::optional<std::uint64_t> LaunchPool::TakeBlock(PendingLaunch& launch) {
  const std::lock_guard lock(mutex_);
  const auto offset = arena_.Take(launch.layout.bytes);
  launch.offset = offset.value_or(0);
  return offset;
}

bool LaunchPool::WantsWait(StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  return pending_.NumNodesIn(stream) >= kManyNodes || arena_.free_bytes() < arena_bytes_ / 2;
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
  return pending_.End(handle);
}

void LaunchPool::EndGraph(std::uint64_t graph) {
  const std::lock_guard lock(mutex_);
  pending_.EndGraph(graph);
}

void LaunchPool::Cancel(std::uint64_t number) {
  const std::lock_guard lock(mutex_);
  pending_.Cancel(number);
}

std::vector<PendingLaunch> LaunchPool::TakeEnded(std::optional<StreamHandle> stream) {
  const std::lock_guard lock(mutex_);
  return pending_.TakeEnded(stream);
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

void LaunchPool::Release(std::vector<PendingLaunch> launches) {
  KeepMixed(launches);
  for (const Run& run : RunsOf(launches)) {
    if (is_broken_ || !Clear(run)) {
      is_broken_ = true;
      return;
    }
    const std::lock_guard lock(mutex_);
    arena_.GiveBack(run.offset, run.bytes);
  }
}

// Holds back launches whose records nodes of other streams still use. Without such nodes, adds the
// launches held back before; the stream of the others clears them, since their own may be gone.
void LaunchPool::KeepMixed(Launches& launches) {
  const std::lock_guard lock(mutex_);
  if (launches.empty()) {
    return;
  }
  if (pending_.HasNodes()) {
    const auto kept =
        std::stable_partition(launches.begin(), launches.end(),
                              [](const PendingLaunch& launch) { return !launch.is_mixed; });
    kept_.insert(kept_.end(), std::make_move_iterator(kept),
                 std::make_move_iterator(launches.end()));
    launches.erase(kept, launches.end());
    return;
  }
  const StreamHandle stream = launches.front().stream;
  for (PendingLaunch& launch : std::exchange(kept_, {})) {
    launch.stream = stream;
    launches.push_back(std::move(launch));
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
