#include "orrery/ingest/orrs/replay.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "orrery/ingest/orrs/numbers.h"
#include "orrery/stream/codes.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;

bool Holds(const Life& life, std::uint64_t address) {
  return address >= life.address && address - life.address < life.bytes;
}

std::size_t LevelIndex(std::uint64_t level) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(level, codes::kTensor));
}

// An event in the order of the process. Objects without an event come when they are born.
struct Moment {
  enum class Kind : std::uint8_t {
    kObject,
    kOperatorEnd,
    kOperatorBegin,
    kAllocation,
    kFree,
    kCopy,
    kSet,
    kLaunch,
  };

  std::uint64_t sequence = 0;
  Kind kind = Kind::kObject;
  std::uint32_t index = 0;

  bool operator<(const Moment& other) const {
    return std::tie(sequence, kind, index) < std::tie(other.sequence, other.kind, other.index);
  }
};

using Kind = Moment::Kind;

template <typename Record>
void AddMoments(Recording& recording, Kind kind, std::vector<Moment>& moments) {
  std::uint32_t index = 0;
  for (const Record& record : recording.All<Record>()) {
    moments.push_back({record.sequence, kind, index++});
  }
}

std::vector<Moment> MomentsInOrder(Recording& recording) {
  std::vector<Moment> moments;
  std::uint32_t index = 0;
  for (const stream::Object& object : recording.All<stream::Object>()) {
    const auto birth = static_cast<std::uint64_t>(std::max<std::int64_t>(object.birth, 0));
    moments.push_back({birth, Kind::kObject, index++});
  }
  AddMoments<stream::OperatorBegin>(recording, Kind::kOperatorBegin, moments);
  AddMoments<stream::OperatorEnd>(recording, Kind::kOperatorEnd, moments);
  AddMoments<stream::Allocation>(recording, Kind::kAllocation, moments);
  AddMoments<stream::Free>(recording, Kind::kFree, moments);
  AddMoments<stream::Copy>(recording, Kind::kCopy, moments);
  AddMoments<stream::Set>(recording, Kind::kSet, moments);
  AddMoments<stream::Launch>(recording, Kind::kLaunch, moments);
  std::sort(moments.begin(), moments.end());
  return moments;
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

trace::MemoryClass ClassOfCode(std::uint64_t code) {
  static_assert(static_cast<std::uint64_t>(trace::MemoryClass::kStatic) == codes::kStaticClass);
  return code <= codes::kStaticClass ? static_cast<trace::MemoryClass>(code)
                                     : trace::MemoryClass::kUnknown;
}

std::uint64_t LevelOf(trace::MemoryClass memory_class) {
  return memory_class == trace::MemoryClass::kTensor    ? codes::kTensor
         : memory_class == trace::MemoryClass::kSegment ? codes::kSegment
                                                        : codes::kDriver;
}

class Player {
 public:
  Player(Recording& recording, Lives before) : recording_(recording) {
    replay_.lives = std::move(before);
    replay_.of_copy.resize(recording.All<stream::Copy>().size());
    replay_.of_set.resize(recording.All<stream::Set>().size());
  }

  void Replay(const Moment& moment) {
    switch (moment.kind) {
      case Kind::kObject:
        return Enter(recording_.All<stream::Object>()[moment.index]);
      case Kind::kOperatorBegin:
        return Open(recording_.All<stream::OperatorBegin>()[moment.index]);
      case Kind::kOperatorEnd:
        return Close(recording_.All<stream::OperatorEnd>()[moment.index]);
      case Kind::kAllocation:
        return Allocate(recording_.All<stream::Allocation>()[moment.index]);
      case Kind::kFree:
        return Release(recording_.All<stream::Free>()[moment.index]);
      case Kind::kCopy:
        return Copy(recording_.All<stream::Copy>()[moment.index], moment.index);
      case Kind::kSet:
        return Set(recording_.All<stream::Set>()[moment.index], moment.index);
      case Kind::kLaunch:
        return NoteOperator(recording_.All<stream::Launch>()[moment.index]);
    }
  }

  Replay Finish() {
    for (const auto& [thread, open] : open_operators_) {
      replay_.open_operators.insert(replay_.open_operators.end(), open.begin(), open.end());
    }
    std::ranges::sort(replay_.open_operators);
    recording_.trace->problems.Note("free of memory that was allocated before the recording",
                                    replay_.lives.num_unknown_frees());
    recording_.trace->problems.Note("allocation over memory that was never freed",
                                    replay_.lives.num_overwritten());
    return std::move(replay_);
  }

 private:
  void Enter(const stream::Object& object) {
    const trace::MemoryClass memory_class = ClassOfCode(object.memory_class);
    replay_.lives.Begin({.id = object.id,
                         .address = object.address,
                         .bytes = object.bytes,
                         .level = LevelOf(memory_class),
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

  void Open(const stream::OperatorBegin& begin) {
    Pass(begin);
    open_operators_[begin.thread].push_back(begin.sequence);
  }

  // Operators that were left open inside are closed with it.
  void Close(const stream::OperatorEnd& end) {
    Pass(end);
    auto& open = open_operators_[end.thread];
    const auto begin = std::find(open.begin(), open.end(), end.begin);
    open.erase(begin, open.end());
  }

  void Allocate(const stream::Allocation& allocation) {
    Pass(allocation);
    replay_.lives.Begin({.id = allocation.object,
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

  // The framework's counters go down when a free is asked for, so the first word counts.
  void Release(const stream::Free& free) {
    Pass(free);
    const std::size_t index = replay_.lives.End(free);
    if (index == kNoLife) {
      return;
    }
    const Life& life = replay_.lives.all()[index];
    const bool is_second = free.phase != codes::kFreeRequested && life.request_order >= 0;
    if (life.level == codes::kTensor && !is_second) {
      stream::Free known = free;
      known.address = life.address;
      known.device = life.device;
      AddMemoryEvent(known, -Signed(life.bytes));
    }
  }

  void Copy(const stream::Copy& copy, std::uint32_t index) {
    NoteOperator(copy);
    replay_.of_copy[index] = {.source = replay_.lives.Find(copy.source),
                              .destination = replay_.lives.Find(copy.destination)};
  }

  void Set(const stream::Set& set, std::uint32_t index) {
    NoteOperator(set);
    replay_.of_set[index].destination = replay_.lives.Find(set.address);
  }

  void NoteOperator(const auto& event) {
    Pass(event);
    if (const std::uint64_t begin = OperatorOn(event.thread); begin != 0) {
      replay_.operator_of_event[event.sequence] = begin;
    }
  }

  void Pass(const auto& event) { last_ns_ = event.time_ns; }

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

}  // namespace

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

std::size_t Lives::Begin(Life life) {
  auto& alive = alive_at_address_[LevelIndex(life.level)];
  const std::size_t index = all_.size();
  if (const auto before = alive.find(life.address); before != alive.end()) {
    Life& ended = all_[before->second];
    ended.death_order = std::max<std::int64_t>(life.birth_order, 0);
    ended.death_ns = life.birth_ns;
    num_overwritten_ += ended.request_order < 0 ? 1 : 0;
  }
  life.parent = FindParent(life);
  alive[life.address] = index;
  alive_by_id_[life.id] = index;
  all_.push_back(std::move(life));
  return index;
}

std::size_t Lives::End(const stream::Free& free) {
  const std::size_t index = FindFreed(free);
  if (index == kNoLife) {
    ++num_unknown_frees_;
    return kNoLife;
  }
  Life& life = all_[index];
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

std::size_t Lives::Find(std::uint64_t address) const {
  for (std::size_t level = kNumLevels; level > 0; --level) {
    const std::size_t found = FindOnLevel(level - 1, address);
    if (found != kNoLife) {
      return found;
    }
  }
  return kNoLife;
}

Lives Lives::Survivors(std::uint64_t begin, std::uint64_t end) const {
  Lives later;
  std::vector<std::size_t> place(all_.size(), kNoLife);
  for (std::size_t i = 0; i < all_.size(); ++i) {
    const Life& life = all_[i];
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
  for (Life& life : later.all_) {
    std::size_t parent = life.parent;
    while (parent != kNoLife && place[parent] == kNoLife) {
      parent = all_[parent].parent;
    }
    life.parent = parent == kNoLife ? kNoLife : place[parent];
  }
  return later;
}

void Lives::EndRequested() {
  for (Life& life : all_) {
    if (life.death_order < 0 && life.request_order >= 0) {
      life.death_order = life.request_order;
      life.death_ns = life.request_ns;
    }
  }
}

bool Lives::IsAliveAtAddress(std::size_t index) const {
  const auto& alive = alive_at_address_[LevelIndex(all_[index].level)];
  const auto found = alive.find(all_[index].address);
  return found != alive.end() && found->second == index;
}

std::size_t Lives::FindOnLevel(std::size_t level, std::uint64_t address) const {
  const auto& alive = alive_at_address_[level];
  const auto after = alive.upper_bound(address);
  if (after == alive.begin()) {
    return kNoLife;
  }
  const std::size_t index = std::prev(after)->second;
  return Holds(all_[index], address) ? index : kNoLife;
}

// The next level down that holds it.
std::size_t Lives::FindParent(const Life& life) const {
  for (std::size_t level = LevelIndex(life.level); level > 0; --level) {
    const std::size_t found = FindOnLevel(level - 1, life.address);
    if (found != kNoLife) {
      return found;
    }
  }
  return kNoLife;
}

std::size_t Lives::FindFreed(const stream::Free& free) const {
  if (free.object != 0) {
    const auto found = alive_by_id_.find(free.object);
    return found == alive_by_id_.end() ? kNoLife : found->second;
  }
  const auto& alive = alive_at_address_[LevelIndex(free.level)];
  const auto found = alive.find(free.address);
  return found == alive.end() ? kNoLife : found->second;
}

Replay ReplayEvents(Recording& recording, Lives before) {
  Player player(recording, std::move(before));
  for (const Moment& moment : MomentsInOrder(recording)) {
    player.Replay(moment);
  }
  return player.Finish();
}

}  // namespace orrery::ingest::orrs
