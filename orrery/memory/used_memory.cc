#include "orrery/memory/used_memory.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/base/columns.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/enums.h"

namespace orrery::memory {
namespace {

constexpr std::int64_t kNotRecorded = -1;
constexpr std::int64_t kLargestSector = 512;
constexpr ObjectsByAddress::Place kNowhere = ObjectsByAddress::kNowhere;

// Pages of at least `page_bytes` around a range.
ByteRange RoundedOut(const ByteRange& range, std::int64_t page_bytes) {
  const auto page = static_cast<std::uint64_t>(page_bytes);
  const std::uint64_t begin = range.begin / page * page;
  return RangeOf(begin, static_cast<std::int64_t>((range.end - begin + page - 1) / page * page));
}

}  // namespace

std::string_view WorkingSetLevelName(WorkingSetLevel level) {
  constexpr std::array<std::string_view, kNumWorkingSetLevels> kNames{
      "allocation", "object", "page", "sector", "byte", "reach (upper bound)"};
  return kNames[static_cast<std::size_t>(level)];
}

// Lanes and pages are often consecutive: a range that continues the last one extends it.
void UseWalk::LevelRanges::Add(const ByteRange& range) {
  is_recorded = true;
  if (!ranges.empty() && range.begin >= ranges.back().begin && range.begin <= ranges.back().end) {
    ranges.back().end = std::max(ranges.back().end, range.end);
  } else {
    ranges.push_back(range);
  }
}

std::int64_t UseWalk::LevelRanges::TakeSize() {
  const std::int64_t size = is_recorded ? UnionBytes(ranges) : kNotRecorded;
  ranges.clear();
  is_recorded = false;
  return size;
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
  UsedMemory used{.coverage = item.coverage,
                  .is_kernel = work_.IsKernel(item),
                  .footprint = footprint_.At(item.order)};
  AddTouches(item, used);
  AddPages(item);
  AddAccesses(item);
  SetLevels(item, used);
  return used;
}

void UseWalk::AddTouches(const WorkItem& item, UsedMemory& used) {
  // The ranges of memcpys and memsets are known; of rows with gaps only the number of bytes.
  bytes_.is_recorded = !used.is_kernel && !item.touches.empty();
  for (const RowId touch : item.touches) {
    const Place place = objects_.AliveAt(trace_.touches.object[touch], item.order);
    const std::int64_t read = std::max<std::int64_t>(0, trace_.touches.read_bytes[touch]);
    const std::int64_t write = std::max<std::int64_t>(0, trace_.touches.write_bytes[touch]);
    if (place != kNowhere) {
      (work_.IsCounted(touch) ? touched_ : reachable_).push_back(place);
      if (!used.is_kernel) {
        bytes_.Add(Intersection(RangeOf(trace_.touches.address[touch], read + write),
                                objects_.RangeAt(place)));
      }
    }
    if (work_.IsCounted(touch)) {
      used.read_bytes += read;
      used.write_bytes += write;
      used.unowned_bytes += place == kNowhere ? read + write : 0;
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

void UseWalk::SetLevels(const WorkItem& item, UsedMemory& used) {
  // A launch that was observed and touched nothing has an empty working set.
  const bool is_known = item.coverage == trace::Coverage::kExact ||
                        item.coverage == trace::Coverage::kPartial || !touched_.empty();
  const std::int64_t object_bytes = is_known ? objects_.UnionBytes(touched_) : kNotRecorded;
  const std::int64_t allocation_bytes = is_known ? AllocationBytes(item.order) : kNotRecorded;
  std::int64_t reach_bytes = kNotRecorded;
  if (!reachable_.empty()) {
    reachable_.insert(reachable_.end(), touched_.begin(), touched_.end());
    reach_bytes = objects_.UnionBytes(reachable_);
  }
  // In the order of WorkingSetLevel.
  used.level_bytes = {allocation_bytes,    object_bytes,      pages_.TakeSize(),
                      sectors_.TakeSize(), bytes_.TakeSize(), reach_bytes};
}

// The touched objects are sorted by now, so neighbours lie in one allocation.
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

}  // namespace orrery::memory
