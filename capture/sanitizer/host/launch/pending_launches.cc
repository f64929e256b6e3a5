#include "capture/sanitizer/host/launch/pending_launches.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

namespace orrery::capture::sanitizer {
namespace {

constexpr std::uint64_t kPartAlignment = 128;
constexpr std::uint64_t kPagesPerWord = 32;

std::uint64_t Aligned(std::uint64_t bytes) {
  return (bytes + kPartAlignment - 1) / kPartAlignment * kPartAlignment;
}

std::uint64_t NumCounters(const PendingLaunch& launch) {
  return (launch.modes & kCountMode) == 0
             ? 0
             : std::uint64_t{launch.num_shards} * (launch.objects->num_ranges() + 1);
}

std::uint64_t NumPageWords(const PendingLaunch& launch) {
  return (launch.modes & kPageMode) == 0
             ? 0
             : (launch.objects->num_page_bits + kPagesPerWord - 1) / kPagesPerWord;
}

template <typename T>
T* DevicePointer(std::uint64_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr): the device's
}

// The first arguments are the likeliest; one hint for each range.
void FillHints(const PendingLaunch& launch, LaunchRecord& record) {
  for (const Argument& argument : launch.arguments) {
    if (record.num_hints == kMaxHints) {
      return;
    }
    const Range& range = launch.objects->ranges[argument.range];
    record.hints[record.num_hints++] = {range.begin, range.end, argument.range + 1, 0};
  }
}

template <typename T>
void CopyAll(const std::vector<T>& values, std::byte* destination) {
  if (!values.empty()) {
    std::memcpy(destination, values.data(), values.size() * sizeof(T));
  }
}

// Counters of warps have 28 bits for each object, shard and block: a bound for what one may add up.
constexpr std::size_t kMaxMerged = 64;

/// Says whether a launch may count in the block of `other`: what is counted must be the same thing.
/// Records of single accesses carry the number of one launch.
bool CanCountWith(const PendingLaunch& other, const PendingLaunch& launch) {
  return !other.is_of_nodes && !launch.is_of_nodes && other.function == launch.function &&
         other.stream == launch.stream && other.objects == launch.objects &&
         other.modes == launch.modes && (launch.modes & kStreamMode) == 0 &&
         other.choice.block_period == launch.choice.block_period &&
         other.choice.first_block == launch.choice.first_block && !other.is_lost &&
         !other.is_cancelled && other.merged.size() < kMaxMerged;
}

}  // namespace

BlockLayout LayoutFor(const PendingLaunch& launch) {
  BlockLayout layout;
  layout.ranges = Aligned(sizeof(LaunchRecord));
  layout.first_page_bit = layout.ranges + Aligned(launch.objects->num_ranges() * sizeof(Range));
  layout.upload_bytes =
      layout.first_page_bit + Aligned(launch.objects->num_ranges() * sizeof(std::uint32_t));
  layout.counters = layout.upload_bytes;
  layout.page_bits = layout.counters + Aligned(NumCounters(launch) * sizeof(SlotCounters));
  layout.bytes = layout.page_bits + Aligned(NumPageWords(launch) * sizeof(std::uint32_t));
  return layout;
}

void FillBlock(const PendingLaunch& launch, std::uint64_t address, AccessRing* ring,
               std::byte* staging) {
  const BlockLayout& layout = launch.layout;
  LaunchRecord record{};
  record.ranges = DevicePointer<Range>(address + layout.ranges);
  record.counters = DevicePointer<SlotCounters>(address + layout.counters);
  record.page_bits = DevicePointer<std::uint32_t>(address + layout.page_bits);
  record.first_page_bit = DevicePointer<std::uint32_t>(address + layout.first_page_bit);
  record.ring = ring;
  record.launch = launch.number;
  record.num_ranges = launch.objects->num_ranges();
  record.num_shards = launch.num_shards;
  record.page_shift = launch.objects->page_shift;
  record.modes = launch.modes;
  record.first_block = launch.choice.first_block;
  record.block_period = launch.choice.block_period;
  FillHints(launch, record);
  std::memcpy(staging, &record, sizeof(record));
  CopyAll(launch.objects->ranges, staging + layout.ranges);
  CopyAll(launch.objects->first_page_bit, staging + layout.first_page_bit);
}

BlockResults ResultsIn(const PendingLaunch& launch, const std::byte* block) {
  const BlockLayout& layout = launch.layout;
  const auto* const record = reinterpret_cast<const LaunchRecord*>(block);
  const std::size_t num_samples =
      std::min<std::size_t>(record->num_unknown_samples, kMaxUnknownSamples);
  return {.counters = {reinterpret_cast<const SlotCounters*>(block + layout.counters),
                       NumCounters(launch)},
          .page_bits = {reinterpret_cast<const std::uint32_t*>(block + layout.page_bits),
                        NumPageWords(launch)},
          .unknown_samples = {record->unknown_samples, num_samples}};
}

void PendingLaunches::Begin(PendingLaunch launch) {
  if (launch.is_of_nodes) {
    launch.is_mixed = MixNodes(launch.stream) || launch.is_mixed;
  } else if (const auto before = FindBegun(launch.handle); before != begun_.end()) {
    // A handle that comes again belonged to a launch whose end was never told.
    before->is_lost = true;
    MoveToEnded(before);
  }
  begun_.push_back(std::move(launch));
}

// Its block is read when its stream has passed. Until the new launch is in that stream, the other
// one counts as begun again, under the new launch's handle.
PendingLaunch* PendingLaunches::Merge(const PendingLaunch& launch) {
  const auto other = std::find_if(ended_.rbegin(), ended_.rend(), [&](const PendingLaunch& one) {
    return CanCountWith(one, launch);
  });
  if (other == ended_.rend()) {
    return nullptr;
  }
  PendingLaunch& receiver = BeginAgain(std::prev(other.base()));
  receiver.merged.push_back({.number = launch.number, .arguments = launch.arguments});
  receiver.handle = launch.handle;
  return &receiver;
}

PendingLaunch& PendingLaunches::BeginAgain(Launches::iterator ended) {
  begun_.push_back(std::move(*ended));
  ended_.erase(ended);
  return begun_.back();
}

PendingLaunch* PendingLaunches::JoinNodes(const PendingLaunch& node) {
  PendingLaunch* const first = FindNodes(node.stream);
  if (first == nullptr) {
    return nullptr;
  }
  first->merged.push_back({.number = node.number, .arguments = {}});
  first->num_with_other_objects += first->objects == node.objects ? 0 : 1;
  for (const std::uint64_t graph : node.open_graphs) {
    if (std::find(first->open_graphs.begin(), first->open_graphs.end(), graph) ==
        first->open_graphs.end()) {
      first->open_graphs.push_back(graph);
    }
  }
  return first;
}

// While graphs are being launched it is among those that have begun.
PendingLaunch* PendingLaunches::FindNodes(StreamHandle stream) {
  const auto are_there = [&](const PendingLaunch& launch) {
    return launch.is_of_nodes && launch.stream == stream && !launch.is_lost && !launch.is_cancelled;
  };
  if (const auto found = std::find_if(begun_.begin(), begun_.end(), are_there);
      found != begun_.end()) {
    return &*found;
  }
  const auto ended = std::find_if(ended_.begin(), ended_.end(), are_there);
  return ended == ended_.end() ? nullptr : &BeginAgain(ended);
}

bool PendingLaunches::MixNodes(StreamHandle stream) {
  bool has_any = false;
  for (Launches* const launches : {&begun_, &ended_}) {
    for (PendingLaunch& launch : *launches) {
      if (launch.is_of_nodes && launch.stream != stream) {
        launch.is_mixed = true;
        has_any = true;
      }
    }
  }
  return has_any;
}

bool PendingLaunches::HasNodes() const {
  const auto is_of_nodes = [](const PendingLaunch& launch) { return launch.is_of_nodes; };
  return std::any_of(begun_.begin(), begun_.end(), is_of_nodes) ||
         std::any_of(ended_.begin(), ended_.end(), is_of_nodes);
}

std::size_t PendingLaunches::NumNodesIn(StreamHandle stream) const {
  std::size_t num_nodes = 0;
  for (const PendingLaunch& launch : ended_) {
    num_nodes += launch.is_of_nodes && launch.stream == stream ? 1 + launch.merged.size() : 0;
  }
  return num_nodes;
}

// The latest are at the end. Nodes have no handle here: it may come again before their graph is in
// its stream.
PendingLaunches::Launches::iterator PendingLaunches::FindBegun(LaunchHandle handle) {
  const auto found = std::find_if(begun_.rbegin(), begun_.rend(), [&](const PendingLaunch& launch) {
    return !launch.is_of_nodes && launch.handle == handle;
  });
  return found == begun_.rend() ? begun_.end() : std::prev(found.base());
}

void PendingLaunches::MoveToEnded(Launches::iterator begun) {
  ended_.push_back(std::move(*begun));
  begun_.erase(begun);
}

bool PendingLaunches::End(LaunchHandle handle) {
  const auto found = FindBegun(handle);
  if (found == begun_.end()) {
    return false;
  }
  MoveToEnded(found);
  return true;
}

void PendingLaunches::EndGraph(std::uint64_t graph) {
  std::erase_if(begun_, [&](PendingLaunch& launch) {
    if (std::erase(launch.open_graphs, graph) == 0 || !launch.open_graphs.empty()) {
      return false;
    }
    ended_.push_back(std::move(launch));
    return true;
  });
}

void PendingLaunches::Cancel(std::uint64_t number) {
  const auto found = std::find_if(begun_.begin(), begun_.end(), [&](const PendingLaunch& launch) {
    return launch.number == number ||
           (!launch.merged.empty() && launch.merged.back().number == number);
  });
  if (found == begun_.end()) {
    return;
  }
  if (found->number == number) {
    // Its block was written to, so it has to be cleared with the others.
    found->is_cancelled = true;
  } else {
    found->merged.pop_back();
  }
  MoveToEnded(found);
}

std::vector<PendingLaunch> PendingLaunches::TakeEnded(std::optional<StreamHandle> stream) {
  Launches taken;
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

}  // namespace orrery::capture::sanitizer
