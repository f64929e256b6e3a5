#include "orrery/ingest/orrs/replay.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/base/lookup.h"
#include "orrery/ingest/orrs/numbers.h"
#include "orrery/ingest/orrs/recording.h"
#include "orrery/stream/codes.h"  // IWYU pragma: keep (enumerators through an alias)
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;

std::size_t LevelIndex(std::uint64_t level) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(level, codes::kTensor));
}

// An event in the order of the process.
struct OrderedEvent {
  std::uint64_t sequence = 0;
  std::uint8_t kind = 0;
  std::uint32_t index = 0;

  auto operator<=>(const OrderedEvent&) const = default;
};

// Objects without an event come when they are born.
template <typename Record>
void AddEvents(Recording& recording, std::uint8_t kind, std::vector<OrderedEvent>& events) {
  std::uint32_t index = 0;
  for (const Record& record : recording.All<Record>()) {
    if constexpr (std::is_same_v<Record, stream::Object>) {
      const auto birth = static_cast<std::uint64_t>(std::max<std::int64_t>(record.birth, 0));
      events.push_back({birth, kind, index++});
    } else {
      events.push_back({record.sequence, kind, index++});
    }
  }
}

// The flags are bits: managed memory is often host-mapped too.
trace::MemoryClass ClassOfFlags(std::uint64_t flags) {
  if ((flags & codes::kManagedFlag) != 0) {
    return trace::MemoryClass::kManaged;
  }
  if ((flags & (codes::kHostMappedFlag | codes::kPinnedFlag)) != 0) {
    return trace::MemoryClass::kPinned;
  }
  return (flags & codes::kModuleFlag) != 0 ? trace::MemoryClass::kStatic
                                           : trace::MemoryClass::kDevice;
}

trace::MemoryClass ClassOf(const stream::Allocation& allocation) {
  switch (allocation.level) {
    case codes::kDriver:
      return ClassOfFlags(allocation.flags);
    case codes::kSegment:
      return trace::MemoryClass::kSegment;
    case codes::kTensor:
      return trace::MemoryClass::kTensor;
    default:
      return trace::MemoryClass::kUnknown;
  }
}

class Replayer {
 public:
  Replayer(Recording& recording, LiveMemory before) : recording_(recording) {
    replay_.memory = std::move(before);
    replay_.of_copy.resize(recording.All<stream::Copy>().size());
    replay_.of_set.resize(recording.All<stream::Set>().size());
  }

  Replay Finish() {
    for (const auto& [thread, open] : open_operators_) {
      replay_.open_operators.insert(replay_.open_operators.end(), open.begin(), open.end());
    }
    std::ranges::sort(replay_.open_operators);
    recording_.trace->problems.Note("free of memory that was allocated before the recording",
                                    replay_.memory.num_unknown_frees());
    recording_.trace->problems.Note("allocation over memory that was never freed",
                                    replay_.memory.num_overwritten());
    return std::move(replay_);
  }

  void Apply(const stream::Object& object, std::uint32_t /*index*/) {
    using enum trace::MemoryClass;
    static_assert(static_cast<std::uint64_t>(kStatic) == codes::kStaticClass);
    const auto memory_class = object.memory_class <= codes::kStaticClass
                                  ? static_cast<trace::MemoryClass>(object.memory_class)
                                  : kUnknown;
    const auto level = memory_class == kTensor    ? codes::kTensor
                       : memory_class == kSegment ? codes::kSegment
                                                  : codes::kDriver;
    replay_.memory.Begin({.id = object.id,
                          .address = object.address,
                          .bytes = object.bytes,
                          .level = level,
                          .memory_class = memory_class,
                          .birth_order = object.birth,
                          .birth_ns = last_ns_,
                          .death_order = object.death,
                          .death_ns = last_ns_,
                          .device = object.device,
                          .stream = object.stream,
                          .stack = object.stack,
                          .name = object.name});
  }

  void Apply(const stream::OperatorBegin& begin, std::uint32_t /*index*/) {
    last_ns_ = begin.time_ns;
    open_operators_[begin.thread].push_back(begin.sequence);
  }

  // Operators that were left open inside are closed with it.
  void Apply(const stream::OperatorEnd& end, std::uint32_t /*index*/) {
    last_ns_ = end.time_ns;
    auto& open = open_operators_[end.thread];
    const auto begin = std::ranges::find(open, end.begin);
    open.erase(begin, open.end());
  }

  void Apply(const stream::Allocation& allocation, std::uint32_t /*index*/) {
    last_ns_ = allocation.time_ns;
    replay_.memory.Begin({.id = allocation.object,
                          .address = allocation.address,
                          .bytes = allocation.bytes,
                          .level = allocation.level,
                          .memory_class = ClassOf(allocation),
                          .birth_order = Signed(allocation.sequence),
                          .birth_ns = allocation.time_ns,
                          .device = allocation.device,
                          .stream = allocation.stream,
                          .stack = allocation.stack,
                          .requested_bytes = allocation.requested_bytes,
                          .operator_begin = OperatorOn(allocation.thread)});
    if (allocation.level == codes::kTensor) {
      AddMemoryEvent(allocation, Signed(allocation.bytes));
    }
  }

  // The framework's counters go down when a free is requested, so the first record counts.
  void Apply(const stream::Free& free, std::uint32_t /*index*/) {
    last_ns_ = free.time_ns;
    const std::size_t index = replay_.memory.End(free);
    if (index == kNoLifetime) {
      return;
    }
    const MemoryLifetime& life = replay_.memory.all()[index];
    const bool is_second = free.phase != codes::kFreeRequested && life.request_order >= 0;
    if (life.level == codes::kTensor && !is_second) {
      stream::Free known = free;
      known.address = life.address;
      known.device = life.device;
      AddMemoryEvent(known, -Signed(life.bytes));
    }
  }

  void Apply(const stream::Copy& copy, std::uint32_t index) {
    NoteOperator(copy);
    replay_.of_copy[index] = {.source = replay_.memory.Find(copy.source),
                              .destination = replay_.memory.Find(copy.destination)};
  }

  void Apply(const stream::Set& set, std::uint32_t index) {
    NoteOperator(set);
    replay_.of_set[index].destination = replay_.memory.Find(set.address);
  }

  void Apply(const stream::Launch& launch, std::uint32_t /*index*/) { NoteOperator(launch); }

 private:
  void NoteOperator(const auto& event) {
    last_ns_ = event.time_ns;
    if (const std::uint64_t begin = OperatorOn(event.thread); begin != 0) {
      replay_.operator_of_event[event.sequence] = begin;
    }
  }

  [[nodiscard]] std::uint64_t OperatorOn(std::uint64_t thread) const {
    const auto open = open_operators_.find(thread);
    return open == open_operators_.end() || open->second.empty() ? 0 : open->second.back();
  }

  void AddMemoryEvent(const auto& event, std::int64_t bytes) {
    recording_.trace->memory_events.Append({.begin_ns = event.time_ns,
                                            .bytes = bytes,
                                            .address = event.address,
                                            .device_kind = trace::DeviceKind::kGpu,
                                            .device = Small(event.device),
                                            .total_allocated_bytes = event.total_allocated_bytes,
                                            .total_reserved_bytes = event.total_reserved_bytes,
                                            .track = recording_.HostTrack(event.thread)});
  }

  Recording& recording_;
  Replay replay_;
  tsl::robin_map<std::uint64_t, std::vector<std::uint64_t>> open_operators_;
  std::int64_t last_ns_ = 0;
};

// Records of equal number are applied in the order of the types.
template <typename... Records>
void ApplyInOrder(Recording& recording, Replayer& player) {
  std::vector<OrderedEvent> events;
  std::uint8_t kind = 0;
  (AddEvents<Records>(recording, kind++, events), ...);
  std::ranges::sort(events);
  using Apply = void (*)(Recording&, Replayer&, std::uint32_t);
  constexpr std::array<Apply, sizeof...(Records)> kApply{
      [](Recording& records, Replayer& replayer, std::uint32_t index) {
        replayer.Apply(records.All<Records>()[index], index);
      }...};
  for (const OrderedEvent& event : events) {
    kApply[event.kind](recording, player, event.index);
  }
}

}  // namespace

std::size_t LiveMemory::Begin(MemoryLifetime life) {
  auto& alive = alive_at_address_[LevelIndex(life.level)];
  const std::size_t index = all_.size();
  if (const auto before = alive.find(life.address); before != alive.end()) {
    MemoryLifetime& ended = all_[before->second];
    ended.death_order = std::max<std::int64_t>(life.birth_order, 0);
    ended.death_ns = life.birth_ns;
    num_overwritten_ += ended.request_order < 0 ? 1 : 0;
  }
  life.parent = FindBelow(LevelIndex(life.level), life.address);
  alive[life.address] = index;
  alive_by_id_[life.id] = index;
  all_.push_back(life);
  return index;
}

std::size_t LiveMemory::End(const stream::Free& free) {
  const std::size_t index = FindFreed(free);
  if (index == kNoLifetime) {
    ++num_unknown_frees_;
    return kNoLifetime;
  }
  MemoryLifetime& life = all_[index];
  if (free.phase == codes::kFreeRequested) {
    life.request_order = Signed(free.sequence);
    life.request_ns = free.time_ns;
    return index;
  }
  life.death_order = Signed(free.sequence);
  life.death_ns = free.time_ns;
  alive_at_address_[LevelIndex(life.level)].erase(life.address);
  alive_by_id_.erase(life.id);
  return index;
}

LiveMemory LiveMemory::Survivors(std::uint64_t begin, std::uint64_t end) const {
  LiveMemory later;
  std::vector<std::size_t> place(all_.size(), kNoLifetime);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const MemoryLifetime& life = all_[i];
    const auto death = static_cast<std::uint64_t>(life.death_order);
    const bool is_alive = IsAliveAtAddress(i) && (life.death_order < 0 || death >= end);
    if (!is_alive && (life.death_order < 0 || death < begin)) {
      continue;
    }
    place[i] = later.all_.size();
    later.all_.push_back(life);
    if (is_alive) {
      later.alive_at_address_[LevelIndex(life.level)][life.address] = place[i];
      later.alive_by_id_[life.id] = place[i];
    }
  }
  for (MemoryLifetime& life : later.all_) {
    std::size_t parent = life.parent;
    while (parent != kNoLifetime && place[parent] == kNoLifetime) {
      parent = all_[parent].parent;
    }
    life.parent = parent == kNoLifetime ? kNoLifetime : place[parent];
  }
  return later;
}

void LiveMemory::EndRequested() {
  for (MemoryLifetime& life : all_) {
    if (life.death_order < 0 && life.request_order >= 0) {
      life.death_order = life.request_order;
      life.death_ns = life.request_ns;
    }
  }
}

bool LiveMemory::IsAliveAtAddress(std::size_t index) const {
  const auto& alive = alive_at_address_[LevelIndex(all_[index].level)];
  const auto found = alive.find(all_[index].address);
  return found != alive.end() && found->second == index;
}

// The innermost lifetime of a level below `level` that holds the address.
std::size_t LiveMemory::FindBelow(std::size_t level, std::uint64_t address) const {
  while (level-- > 0) {
    const auto& alive = alive_at_address_[level];
    const auto after = alive.upper_bound(address);
    if (after != alive.begin()) {
      const std::size_t index = std::prev(after)->second;
      if (address - all_[index].address < all_[index].bytes) {
        return index;
      }
    }
  }
  return kNoLifetime;
}

std::size_t LiveMemory::FindFreed(const stream::Free& free) const {
  return free.object != 0
             ? FindOr(alive_by_id_, free.object, kNoLifetime)
             : FindOr(alive_at_address_[LevelIndex(free.level)], free.address, kNoLifetime);
}

Replay ReplayEvents(Recording& recording, LiveMemory before) {
  Replayer player(recording, std::move(before));
  ApplyInOrder<stream::Object, stream::OperatorEnd, stream::OperatorBegin, stream::Allocation,
               stream::Free, stream::Copy, stream::Set, stream::Launch>(recording, player);
  return player.Finish();
}

}  // namespace orrery::ingest::orrs
