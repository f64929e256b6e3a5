#include "orrery/ingest/orrs/lives.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "orrery/ingest/orrs/numbers.h"
#include "orrery/stream/codes.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;

bool Holds(const Life& life, std::uint64_t address) {
  return address >= life.address && address - life.address < life.bytes;
}

std::size_t LevelOf(std::uint64_t level) {
  return static_cast<std::size_t>(std::min<std::uint64_t>(level, codes::kTensor));
}

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
  auto& alive = alive_at_address_[LevelOf(life.level)];
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
  alive_at_address_[LevelOf(life.level)].erase(life.address);
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
      later.alive_at_address_[LevelOf(life.level)][life.address] = place[i];
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
  const auto& alive = alive_at_address_[LevelOf(all_[index].level)];
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
  for (std::size_t level = LevelOf(life.level); level > 0; --level) {
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
  const auto& alive = alive_at_address_[LevelOf(free.level)];
  const auto found = alive.find(free.address);
  return found == alive.end() ? kNoLife : found->second;
}

}  // namespace orrery::ingest::orrs
