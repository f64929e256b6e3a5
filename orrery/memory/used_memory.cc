#include "orrery/memory/used_memory.h"

#include <algorithm>

#include "orrery/memory/access_lanes.h"
#include "orrery/memory/byte_ranges.h"

namespace orrery::memory {
namespace {


constexpr std::int64_t kNotRecorded = -1;
constexpr std::int64_t kLargestSector = 512;
constexpr ObjectsByAddress::Place kNowhere = ObjectsByAddress::kNowhere;

constexpr std::array<std::string_view, kNumWorkingSetLevels> kLevelNames{
    "allocation", "object", "page", "sector", "byte", "reach (upper bound)"};

// Pages of at least `page_bytes` around a range.
ByteRange RoundedOut(const ByteRange& range, std::int64_t page_bytes) {
  const auto page = static_cast<std::uint64_t>(page_bytes);
  const std::uint64_t begin = range.begin / page * page;
  return RangeOf(begin, static_cast<std::int64_t>((range.end - begin + page - 1) / page * page));
}

// A launch that was seen and touched nothing has a working set of nothing.
bool HasCounts(const WorkItem& item) {
  return item.coverage == trace::Coverage::kExact || item.coverage == trace::Coverage::kPartial;
}

}  // namespace

std::string_view WorkingSetLevelName(WorkingSetLevel level) {
  return kLevelNames[static_cast<std::size_t>(level)];
}

// Lanes and pages often follow each other: what goes on where the last one ends makes it longer.
void UseWalk::LevelRanges::Add(const ByteRange& range) {
  is_recorded = true;
  if (!ranges.empty() && range.begin >= ranges.back().begin && range.begin <= ranges.back().end) {
    ranges.back().end = std::max(ranges.back().end, range.end);
  } else {
    ranges.push_back(range);
  }
}

std::int64_t UseWalk::LevelRanges::Size() {
  return is_recorded ? UnionBytes(ranges) : kNotRecorded;
}

void UseWalk::LevelRanges::Clear() {
  ranges.clear();
  is_recorded = false;
}

UseWalk::UseWalk(const RecordedWork& work, std::int64_t page_bytes)
    : work_(work),
      trace_(work.trace()),
      page_bytes_(page_bytes),
      lifetimes_(trace_.memory_objects),
      objects_(lifetimes_),
      footprint_(lifetimes_),
      owners_(lifetimes_) {}

UsedMemory UseWalk::Of(const WorkItem& item) {
  touched_.clear();
  reachable_.clear();
  pages_.Clear();
  sectors_.Clear();
  bytes_.Clear();
  UsedMemory used{.coverage = item.coverage,
                  .is_kernel = work_.IsKernel(item),
                  .footprint = footprint_.At(item.order)};
  AddTouches(item, used);
  AddPages(item);
  AddAccesses(item);
  if (!used.is_kernel) {
    AddMoves(item);
  }
  SetLevels(item, used);
  return used;
}

void UseWalk::AddTouches(const WorkItem& item, UsedMemory& used) {
  for (const RowId touch : item.touches) {
    const Place place = objects_.AliveAt(trace_.touches.object[touch], item.order);
    if (!work_.IsCounted(touch)) {
      if (place != kNowhere) {
        reachable_.push_back(place);
      }
      continue;
    }
    const std::int64_t read = std::max<std::int64_t>(0, trace_.touches.read_bytes[touch]);
    const std::int64_t write = std::max<std::int64_t>(0, trace_.touches.write_bytes[touch]);
    used.read_bytes += read;
    used.write_bytes += write;
    if (place != kNowhere) {
      touched_.push_back(place);
    } else {
      used.unowned_bytes += read + write;
    }
  }
}

void UseWalk::AddPages(const WorkItem& item) {
  for (const RowId row : item.page_runs) {
    const std::int64_t page_bytes = trace_.page_runs.page_bytes[row];
    const ByteRange range =
        RangeOfPages(trace_.page_runs.address[row], trace_.page_runs.num_pages[row], page_bytes);
    const Place place = objects_.AliveAt(trace_.page_runs.object[row], item.order);
    if (place != kNowhere) {
      touched_.push_back(place);
    }
    const ByteRange bounds = place != kNowhere ? objects_.RangeAt(place) : ByteRange();
    pages_.Add(Intersection(RoundedOut(range, std::max(page_bytes, page_bytes_)), bounds));
    if (page_bytes <= kLargestSector) {
      sectors_.Add(Intersection(range, bounds));
    }
  }
}

void UseWalk::AddAccesses(const WorkItem& item) {
  if (item.accesses.empty()) {
    return;
  }
  owners_.AdvanceTo(item.order);
  bytes_.is_recorded = true;
  for (const RowId access : item.accesses) {
    ForEachLane(trace_, access, [&](std::uint64_t address) {
      const Place place = objects_.AliveAt(owners_.Find(address), item.order);
      if (place == kNowhere) {
        return;
      }
      if (touched_.empty() || touched_.back() != place) {
        touched_.push_back(place);
      }
      bytes_.Add(Intersection(RangeOf(address, trace_.accesses.access_bytes[access]),
                              objects_.RangeAt(place)));
    });
  }
}

// A copy or set says itself which bytes it moves; rows with gaps only how many.
void UseWalk::AddMoves(const WorkItem& item) {
  bytes_.is_recorded = !item.touches.empty();
  for (const RowId touch : item.touches) {
    const Place place = objects_.AliveAt(trace_.touches.object[touch], item.order);
    if (place != kNowhere) {
      const std::int64_t moved =
          trace_.touches.read_bytes[touch] + trace_.touches.write_bytes[touch];
      bytes_.Add(
          Intersection(RangeOf(trace_.touches.address[touch], moved), objects_.RangeAt(place)));
    }
  }
}

void UseWalk::SetLevels(const WorkItem& item, UsedMemory& used) {
  const auto set = [&](WorkingSetLevel level, std::int64_t bytes) {
    used.level_bytes[static_cast<std::size_t>(level)] = bytes;
  };
  const bool is_known = HasCounts(item) || !touched_.empty();
  set(WorkingSetLevel::kObject, is_known ? objects_.UnionBytes(touched_) : kNotRecorded);
  set(WorkingSetLevel::kAllocation, is_known ? AllocationBytes(item.order) : kNotRecorded);
  set(WorkingSetLevel::kPage, pages_.Size());
  set(WorkingSetLevel::kSector, sectors_.Size());
  set(WorkingSetLevel::kByte, bytes_.Size());
  set(WorkingSetLevel::kReach, ReachBytes());
}

// What is touched is in order by now, so neighbours lie in one allocation.
std::int64_t UseWalk::AllocationBytes(std::int64_t order) {
  around_.clear();
  for (const Place place : touched_) {
    const Place outermost = objects_.OutermostAt(place, order);
    if (around_.empty() || around_.back() != outermost) {
      around_.push_back(outermost);
    }
  }
  return objects_.UnionBytes(around_);
}

std::int64_t UseWalk::ReachBytes() {
  if (reachable_.empty()) {
    return kNotRecorded;
  }
  reachable_.insert(reachable_.end(), touched_.begin(), touched_.end());
  return objects_.UnionBytes(reachable_);
}

std::vector<UsedMemory> UsedMemoryOf(const trace::Trace& trace, std::int64_t page_bytes) {
  const RecordedWork work(trace);
  UseWalk walk(work, page_bytes);
  std::vector<UsedMemory> all;
  all.reserve(work.size());
  work.ForEach([&](const WorkItem& item) { all.push_back(walk.Of(item)); });
  return all;
}

}  // namespace orrery::memory
