#include "orrery/memory/heat_launch.h"

#include <algorithm>
#include <limits>

#include "orrery/memory/access_lanes.h"

namespace orrery::memory {
namespace {


__extension__ using Product = unsigned __int128;  // of accesses and bytes

// accesses * part / whole, rounded down.
std::int64_t PartOf(std::int64_t accesses, std::uint64_t part, std::uint64_t whole) {
  const auto product = static_cast<Product>(accesses) * part;
  // A division of 64 bits is one instruction, one of 128 a function.
  return product <= std::numeric_limits<std::uint64_t>::max()
             ? static_cast<std::int64_t>(static_cast<std::uint64_t>(product) / whole)
             : static_cast<std::int64_t>(product / whole);
}

// As std::stable_sort, which asks for memory each time; lists of touches are short.
template <typename Item, typename Projection>
void StableSort(std::vector<Item>& items, Projection key) {
  constexpr std::size_t kFew = 32;
  if (items.size() > kFew) {
    std::ranges::stable_sort(items, {}, key);
    return;
  }
  for (std::size_t i = 1; i < items.size(); ++i) {
    const Item item = items[i];
    std::size_t to = i;
    for (; to > 0 && key(items[to - 1]) > key(item); --to) {
      items[to] = items[to - 1];
    }
    items[to] = item;
  }
}

}  // namespace

LaunchHeat::LaunchHeat(const RecordedWork& work, HeatCounts& counts)
    : work_(work),
      trace_(work.trace()),
      counts_(counts),
      lifetimes_(trace_.memory_objects),
      owners_(lifetimes_) {}

std::optional<HeatSource> LaunchHeat::Add(const WorkItem& item) {
  if (!item.accesses.empty()) {
    AddLanes(item);
    return HeatSource::kAccesses;
  }
  if (!item.page_runs.empty() && AddPages(item)) {
    return HeatSource::kPages;
  }
  ListTouches(item);
  AddListed();
  return listed_.empty() ? std::nullopt : std::optional(HeatSource::kTouches);
}

void LaunchHeat::AddLanes(const WorkItem& item) {
  owners_.AdvanceTo(item.order);
  for (const RowId access : item.accesses) {
    ForEachLane(trace_, access, [&](std::uint64_t address) {
      Add(address / static_cast<std::uint64_t>(counts_.block_bytes),
          counts_.objects.Of(owners_.Find(address)), 1);
    });
  }
}

// Returns whether any page has counts.
bool LaunchHeat::AddPages(const WorkItem& item) {
  runs_.clear();
  for (const RowId row : item.page_runs) {
    if (trace_.page_runs.accesses[row] > 0 && trace_.page_runs.num_pages[row] > 0) {
      runs_.push_back(row);
    }
  }
  StableSort(runs_, [&](RowId row) { return trace_.page_runs.address[row]; });
  if (AreRunsInOrder()) {
    for (const RowId row : runs_) {
      AddRun(row, item);
    }
  } else {
    ListPages(item);
    AddListed();
  }
  return !runs_.empty();
}

// Whether run after run is page after page, and no page lies in two blocks. Runs of two objects may
// share the page at their border.
bool LaunchHeat::AreRunsInOrder() {
  const trace::PageRuns& runs = trace_.page_runs;
  std::uint64_t last_page = 0;
  for (const RowId row : runs_) {
    const std::int64_t page_bytes = runs.page_bytes[row];
    if (page_bytes <= 0 || page_bytes != runs.page_bytes[runs_.front()] ||
        counts_.block_bytes % page_bytes != 0 ||
        runs.address[row] % static_cast<std::uint64_t>(page_bytes) != 0) {
      return false;
    }
    const ByteRange range = RangeOfPages(runs.address[row], runs.num_pages[row], page_bytes);
    if (runs.address[row] < last_page || range.size() / page_bytes != runs.num_pages[row]) {
      return false;
    }
    last_page = range.end - static_cast<std::uint64_t>(page_bytes);
  }
  return true;
}

// All pages of a run that lie in one block at once.
void LaunchHeat::AddRun(RowId row, const WorkItem& item) {
  const auto page_bytes = static_cast<std::uint64_t>(trace_.page_runs.page_bytes[row]);
  const auto block_bytes = static_cast<std::uint64_t>(counts_.block_bytes);
  LivingHeat& object = counts_.objects.Of(IfAlive(trace_.page_runs.object[row], item));
  std::uint64_t address = trace_.page_runs.address[row];
  for (std::int64_t left = trace_.page_runs.num_pages[row]; left > 0;) {
    const std::uint64_t block = address / block_bytes;
    const std::uint64_t pages_to_end = (block_bytes - address % block_bytes) / page_bytes;
    const std::int64_t now = std::min(left, static_cast<std::int64_t>(pages_to_end));
    Add(block, object, now * trace_.page_runs.accesses[row]);
    address += static_cast<std::uint64_t>(now) * page_bytes;
    left -= now;
  }
}

void LaunchHeat::ListPages(const WorkItem& item) {
  listed_.clear();
  for (const RowId row : item.page_runs) {
    const std::int64_t accesses = trace_.page_runs.accesses[row];
    const std::int64_t page_bytes = trace_.page_runs.page_bytes[row];
    const RowId object = IfAlive(trace_.page_runs.object[row], item);
    for (std::int64_t page = 0; accesses > 0 && page < trace_.page_runs.num_pages[row]; ++page) {
      const auto offset = static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(page_bytes);
      listed_.push_back({.range = RangeOf(trace_.page_runs.address[row] + offset, page_bytes),
                         .object = object,
                         .accesses = accesses});
    }
  }
}

void LaunchHeat::ListTouches(const WorkItem& item) {
  listed_.clear();
  for (const RowId touch : item.touches) {
    const std::int64_t lanes = trace_.touches.lanes[touch];
    if (lanes > 0 && work_.IsCounted(touch)) {
      const RowId object = IfAlive(trace_.touches.object[touch], item);
      listed_.push_back({.range = object == kNoRow ? RangeOf(trace_.touches.address[touch], 1)
                                                   : RangeOf(trace_.memory_objects.address[object],
                                                             trace_.memory_objects.bytes[object]),
                         .object = object,
                         .accesses = lanes});
    }
  }
}

void LaunchHeat::AddListed() {
  StableSort(listed_, [](const SpreadAccesses& one) { return one.range.begin; });
  for (const SpreadAccesses& one : listed_) {
    Add(one);
  }
}

// In proportion to the bytes in each block; what rounding leaves goes where it falls due, so that
// the parts always add up.
void LaunchHeat::Add(const SpreadAccesses& spread) {
  const auto block_bytes = static_cast<std::uint64_t>(counts_.block_bytes);
  const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(spread.range.size(), 1));
  LivingHeat& object = counts_.objects.Of(spread.object);
  std::uint64_t begin = spread.range.begin;
  std::uint64_t block = begin / block_bytes;
  std::uint64_t room = block_bytes - begin % block_bytes;
  for (std::int64_t given = 0; given < spread.accesses;) {
    const std::uint64_t left = spread.range.end - begin;
    const std::uint64_t end = begin + std::min(room, left);
    const std::int64_t due =
        left <= room ? spread.accesses : PartOf(spread.accesses, end - spread.range.begin, size);
    if (due > given) {
      Add(block, object, due - given);
    }
    given = due;
    begin = end;
    ++block;
    room = block_bytes;
  }
}

void LaunchHeat::Add(std::uint64_t block, LivingHeat& object, std::int64_t accesses) {
  object.Add(block, accesses, counts_.num_launches);
  counts_.windows.Add(counts_.blocks.At(block), accesses);
}

// An object that does not live when the launch begins owns none of its accesses.
RowId LaunchHeat::IfAlive(RowId object, const WorkItem& item) const {
  return object != kNoRow && lifetimes_.IsAlive(object, item.order) ? object : kNoRow;
}

}  // namespace orrery::memory
