#include <algorithm>

#include "orrery/memory/access_lanes.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/lifetimes.h"
#include "orrery/memory/object_map.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/working_set.h"

namespace orrery::memory {
namespace {

using trace::kNoRow;
using trace::RowId;

constexpr std::int64_t kNotRecorded = -1;
constexpr std::int64_t kLargestSector = 512;

// Pages of at least `page_bytes` around a range.
ByteRange RoundedOut(const ByteRange& range, std::int64_t page_bytes) {
  const auto page = static_cast<std::uint64_t>(page_bytes);
  const std::uint64_t begin = range.begin / page * page;
  return RangeOf(begin, static_cast<std::int64_t>((range.end - begin + page - 1) / page * page));
}

// Ranges of one item at one level, and whether anything of the kind was recorded.
struct LevelRanges {
  std::vector<ByteRange> ranges = {};
  bool is_recorded = false;

  void Add(const ByteRange& range) {
    ranges.push_back(range);
    is_recorded = true;
  }

  std::int64_t Size() { return is_recorded ? UnionBytes(ranges) : kNotRecorded; }
};

class UseOfItem {
 public:
  UseOfItem(const RecordedWork& work, const Lifetimes& lifetimes, const ObjectMap& owners,
            std::int64_t page_bytes)
      : work_(work),
        trace_(work.trace()),
        lifetimes_(lifetimes),
        owners_(owners),
        page_bytes_(page_bytes) {}

  UsedMemory Of(const WorkItem& item) {
    UsedMemory used{
        .activity = item.activity, .coverage = item.coverage, .is_kernel = work_.IsKernel(item)};
    AddTouches(item, used);
    AddPages(item);
    AddAccesses(item);
    AddMoves(item, used);
    AddReach(item);
    SetLevels(item, used);
    return used;
  }

 private:
  [[nodiscard]] ByteRange RangeOfObject(RowId object) const {
    return RangeOf(trace_.memory_objects.address[object], trace_.memory_objects.bytes[object]);
  }

  [[nodiscard]] bool IsAlive(RowId object, const WorkItem& item) const {
    return object != kNoRow && lifetimes_.IsAlive(object, item.order);
  }

  void AddTouches(const WorkItem& item, UsedMemory& used) {
    for (const RowId touch : item.touches) {
      if (!work_.IsCounted(touch)) {
        continue;
      }
      const std::int64_t read = std::max<std::int64_t>(0, trace_.touches.read_bytes[touch]);
      const std::int64_t write = std::max<std::int64_t>(0, trace_.touches.write_bytes[touch]);
      used.read_bytes += read;
      used.write_bytes += write;
      if (IsAlive(trace_.touches.object[touch], item)) {
        objects_.push_back(trace_.touches.object[touch]);
      } else {
        used.unowned_bytes += read + write;
      }
    }
  }

  void AddPages(const WorkItem& item) {
    for (const RowId row : item.page_runs) {
      const std::int64_t page_bytes = trace_.page_runs.page_bytes[row];
      const ByteRange range =
          RangeOfPages(trace_.page_runs.address[row], trace_.page_runs.num_pages[row], page_bytes);
      const RowId object = trace_.page_runs.object[row];
      const bool is_alive = IsAlive(object, item);
      const ByteRange bounds = is_alive ? RangeOfObject(object) : ByteRange();
      if (is_alive) {
        objects_.push_back(object);
      }
      pages_.Add(Intersection(RoundedOut(range, std::max(page_bytes, page_bytes_)), bounds));
      if (page_bytes <= kLargestSector) {
        sectors_.Add(Intersection(range, bounds));
      }
    }
  }

  void AddAccesses(const WorkItem& item) {
    for (const RowId access : item.accesses) {
      bytes_.is_recorded = true;
      ForEachLane(trace_, access, [&](std::uint64_t address) {
        const RowId object = owners_.Find(address);
        if (object != kNoRow) {
          objects_.push_back(object);
          bytes_.Add(Intersection(RangeOf(address, trace_.accesses.access_bytes[access]),
                                  RangeOfObject(object)));
        }
      });
    }
  }

  // A copy or set says itself which bytes it moves; rows with gaps only how many.
  void AddMoves(const WorkItem& item, const UsedMemory& used) {
    if (used.is_kernel) {
      return;
    }
    bytes_.is_recorded = !item.touches.empty();
    for (const RowId touch : item.touches) {
      const RowId object = trace_.touches.object[touch];
      if (IsAlive(object, item)) {
        const std::int64_t moved =
            trace_.touches.read_bytes[touch] + trace_.touches.write_bytes[touch];
        bytes_.Add(
            Intersection(RangeOf(trace_.touches.address[touch], moved), RangeOfObject(object)));
      }
    }
  }

  void AddReach(const WorkItem& item) {
    for (const RowId object : work_.ReachableObjects(item)) {
      if (IsAlive(object, item)) {
        reach_.Add(RangeOfObject(object));
      }
    }
  }

  void SetLevels(const WorkItem& item, UsedMemory& used) {
    std::ranges::sort(objects_);
    objects_.erase(std::unique(objects_.begin(), objects_.end()), objects_.end());
    LevelRanges whole;
    LevelRanges around;
    whole.is_recorded = around.is_recorded = HasCounts(item);
    for (const RowId object : objects_) {
      whole.Add(RangeOfObject(object));
      around.Add(RangeOfObject(Outermost(object, item)));
      if (reach_.is_recorded) {
        reach_.Add(RangeOfObject(object));
      }
    }
    const auto set = [&](WorkingSetLevel level, LevelRanges& ranges) {
      used.level_bytes[static_cast<std::size_t>(level)] = ranges.Size();
    };
    set(WorkingSetLevel::kAllocation, around);
    set(WorkingSetLevel::kObject, whole);
    set(WorkingSetLevel::kPage, pages_);
    set(WorkingSetLevel::kSector, sectors_);
    set(WorkingSetLevel::kByte, bytes_);
    set(WorkingSetLevel::kReach, reach_);
  }

  // A launch that was seen and touched nothing has a working set of nothing.
  [[nodiscard]] bool HasCounts(const WorkItem& item) const {
    return item.coverage == trace::Coverage::kExact || item.coverage == trace::Coverage::kPartial;
  }

  [[nodiscard]] RowId Outermost(RowId object, const WorkItem& item) const {
    RowId outermost = object;
    for (const RowId around : lifetimes_.Around(object)) {
      outermost = IsAlive(around, item) ? around : outermost;
    }
    return outermost;
  }

  const RecordedWork& work_;
  const trace::Trace& trace_;
  const Lifetimes& lifetimes_;
  const ObjectMap& owners_;
  std::int64_t page_bytes_;
  std::vector<RowId> objects_;
  LevelRanges pages_;
  LevelRanges sectors_;
  LevelRanges bytes_;
  LevelRanges reach_;
};

}  // namespace

std::vector<UsedMemory> UsedMemoryOf(const trace::Trace& trace, std::int64_t page_bytes) {
  const RecordedWork work(trace);
  const Lifetimes lifetimes(trace.memory_objects);
  FootprintWalk footprint(lifetimes);
  ObjectMap owners(lifetimes);
  std::vector<UsedMemory> all;
  all.reserve(work.size());
  for (std::size_t index = 0; index < work.size(); ++index) {
    const WorkItem item = work.At(index);
    owners.AdvanceTo(item.order);
    all.push_back(UseOfItem(work, lifetimes, owners, page_bytes).Of(item));
    all.back().item = index;
    all.back().footprint = footprint.At(item.order);
  }
  return all;
}

}  // namespace orrery::memory
