#include "orrery/memory/heat.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/memory/access_lanes.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/lifetimes.h"
#include "orrery/memory/object_map.h"
#include "orrery/memory/recorded_work.h"

namespace orrery::memory {
namespace {

using trace::kNoRow;
using trace::RowId;

__extension__ using Product = unsigned __int128;  // of accesses and bytes

constexpr std::int64_t kMaxWindows = 1'000'000;
constexpr std::array<std::string_view, 3> kUnitNames{"accesses", "launches", "nanoseconds"};
constexpr std::array<std::string_view, kNumHeatSources> kSourceNames{
    "single accesses", "counts of pages, spread over the page",
    "counts of objects, spread over the object"};

// Accesses that lie somewhere in a range.
struct SpreadAccesses {
  ByteRange range;
  RowId object = kNoRow;
  std::int64_t accesses = 0;
};

// The first and the last begin.
std::pair<std::int64_t, std::int64_t> TimesOf(const trace::Trace& trace) {
  if (trace.activities.empty()) {
    return {0, 0};
  }
  const auto [first, last] = std::ranges::minmax(trace.activities.begin_ns);
  return {first, last};
}

class HeatCounter {
 public:
  HeatCounter(const trace::Trace& trace, const HeatOptions& options)
      : options_(options), first_ns_(TimesOf(trace).first) {}

  void BeginLaunch(std::int64_t begin_ns) {
    const std::int64_t launch = num_launches_++;
    launch_window_ = static_cast<std::uint32_t>(options_.unit == WindowUnit::kLaunches
                                                    ? launch / options_.window
                                                    : (begin_ns - first_ns_) / options_.window);
    objects_of_launch_.clear();
  }

  void Add(std::uint64_t address, RowId object, std::int64_t accesses) {
    const std::uint64_t block = address / static_cast<std::uint64_t>(options_.block_bytes);
    by_block_and_object_[{block, object}] += accesses;
    if (objects_of_launch_.empty() || objects_of_launch_.back() != object) {
      objects_of_launch_.push_back(object);
    }
    while (accesses > 0) {
      const std::int64_t now = std::min(accesses, RoomInWindow());
      by_block_and_window_[{block, Window()}] += now;
      total_ += now;
      accesses -= now;
    }
  }

  // In proportion to the bytes in each block; what rounding leaves goes where it falls due, so that
  // the parts always add up.
  void Add(const SpreadAccesses& spread) {
    const auto block_bytes = static_cast<std::uint64_t>(options_.block_bytes);
    const auto size = static_cast<Product>(std::max<std::int64_t>(spread.range.size(), 1));
    std::int64_t given = 0;
    for (std::uint64_t begin = spread.range.begin; given < spread.accesses;) {
      const std::uint64_t room = block_bytes - begin % block_bytes;
      const std::uint64_t left = spread.range.end - begin;
      const std::uint64_t end = begin + std::min(room, left);
      const auto due = left <= room
                           ? spread.accesses
                           : static_cast<std::int64_t>(static_cast<Product>(spread.accesses) *
                                                       (end - spread.range.begin) / size);
      if (due > given) {
        Add(begin, spread.object, due - given);
      }
      given = due;
      begin = end;
    }
  }

  void EndLaunch() {
    std::ranges::sort(objects_of_launch_);
    const auto rest = std::ranges::unique(objects_of_launch_);
    for (auto object = objects_of_launch_.begin(); object != rest.begin(); ++object) {
      ++launches_of_object_[*object];
    }
  }

  [[nodiscard]] std::int64_t total() const { return total_; }

  [[nodiscard]] AccessHeat Finish() const;

 private:
  [[nodiscard]] std::uint32_t Window() const {
    return options_.unit == WindowUnit::kAccesses
               ? static_cast<std::uint32_t>(total_ / options_.window)
               : launch_window_;
  }

  [[nodiscard]] std::int64_t RoomInWindow() const {
    return options_.unit == WindowUnit::kAccesses ? options_.window - total_ % options_.window
                                                  : std::numeric_limits<std::int64_t>::max();
  }

  void AddBlocks(AccessHeat& heat) const;
  void AddObjects(AccessHeat& heat) const;

  const HeatOptions& options_;
  std::int64_t first_ns_;
  std::int64_t num_launches_ = 0;
  std::uint32_t launch_window_ = 0;
  std::int64_t total_ = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::int64_t> by_block_and_window_;
  std::map<std::pair<std::uint64_t, RowId>, std::int64_t> by_block_and_object_;
  std::vector<RowId> objects_of_launch_;
  std::map<RowId, std::int64_t> launches_of_object_;
};

void HeatCounter::AddBlocks(AccessHeat& heat) const {
  std::optional<std::uint64_t> last;
  for (const auto& [key, accesses] : by_block_and_window_) {
    if (last != key.first) {
      last = key.first;
      heat.blocks.push_back(
          {.address = key.first * static_cast<std::uint64_t>(options_.block_bytes)});
    }
    heat.blocks.back().accesses += accesses;
    heat.num_windows = std::max(heat.num_windows, key.second + 1);
    heat.cells.push_back({.block = static_cast<std::uint32_t>(heat.blocks.size() - 1),
                          .window = key.second,
                          .accesses = accesses});
  }
}

void HeatCounter::AddObjects(AccessHeat& heat) const {
  std::map<RowId, std::int64_t> by_object;
  std::size_t block = 0;
  std::int64_t most = 0;
  for (const auto& [key, accesses] : by_block_and_object_) {
    const std::uint64_t address = key.first * static_cast<std::uint64_t>(options_.block_bytes);
    while (heat.blocks[block].address != address) {
      ++block;
      most = 0;
    }
    ++heat.blocks[block].num_objects;
    if (accesses > most) {
      most = accesses;
      heat.blocks[block].object = key.second;
    }
    by_object[key.second] += accesses;
  }
  for (const auto& [object, accesses] : by_object) {
    heat.objects.push_back(
        {.object = object, .accesses = accesses, .num_launches = launches_of_object_.at(object)});
  }
  std::ranges::stable_sort(heat.objects, std::ranges::greater(), &ObjectHeat::accesses);
}

AccessHeat HeatCounter::Finish() const {
  AccessHeat heat{.total_accesses = total_};
  AddBlocks(heat);
  AddObjects(heat);
  return heat;
}

class LaunchReader {
 public:
  LaunchReader(const RecordedWork& work, const ObjectMap& owners, HeatCounter& counter)
      : trace_(work.trace()), work_(work), owners_(owners), counter_(counter) {}

  /// Returns where the accesses of a kernel come from; nothing if none were counted.
  std::optional<HeatSource> Add(const WorkItem& item) {
    if (!item.accesses.empty()) {
      AddAccesses(item);
      return HeatSource::kAccesses;
    }
    std::vector<SpreadAccesses> pages = PagesOf(item);
    if (!pages.empty()) {
      AddInOrder(pages);
      return HeatSource::kPages;
    }
    std::vector<SpreadAccesses> objects = TouchesOf(item);
    if (!objects.empty()) {
      AddInOrder(objects);
      return HeatSource::kTouches;
    }
    return std::nullopt;
  }

 private:
  void AddAccesses(const WorkItem& item) {
    for (const RowId access : item.accesses) {
      ForEachLane(trace_, access,
                  [&](std::uint64_t address) { counter_.Add(address, owners_.Find(address), 1); });
    }
  }

  [[nodiscard]] std::vector<SpreadAccesses> PagesOf(const WorkItem& item) const {
    std::vector<SpreadAccesses> pages;
    for (const RowId row : item.page_runs) {
      const std::int64_t accesses = trace_.page_runs.accesses[row];
      const std::int64_t page_bytes = trace_.page_runs.page_bytes[row];
      for (std::int64_t page = 0; accesses > 0 && page < trace_.page_runs.num_pages[row]; ++page) {
        const auto offset =
            static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(page_bytes);
        pages.push_back({.range = RangeOf(trace_.page_runs.address[row] + offset, page_bytes),
                         .object = trace_.page_runs.object[row],
                         .accesses = accesses});
      }
    }
    return pages;
  }

  [[nodiscard]] std::vector<SpreadAccesses> TouchesOf(const WorkItem& item) const {
    std::vector<SpreadAccesses> objects;
    for (const RowId touch : item.touches) {
      const std::int64_t lanes = trace_.touches.lanes[touch];
      if (lanes > 0 && work_.IsCounted(touch)) {
        const RowId object = trace_.touches.object[touch];
        objects.push_back({.range = object == kNoRow
                                        ? RangeOf(trace_.touches.address[touch], 1)
                                        : RangeOf(trace_.memory_objects.address[object],
                                                  trace_.memory_objects.bytes[object]),
                           .object = object,
                           .accesses = lanes});
      }
    }
    return objects;
  }

  void AddInOrder(std::vector<SpreadAccesses>& all) {
    std::ranges::stable_sort(all, {}, [](const SpreadAccesses& one) { return one.range.begin; });
    for (const SpreadAccesses& one : all) {
      counter_.Add(one);
    }
  }

  const trace::Trace& trace_;
  const RecordedWork& work_;
  const ObjectMap& owners_;
  HeatCounter& counter_;
};

std::int64_t AccessesOf(const WorkItem& item, const trace::Trace& trace) {
  constexpr std::int64_t kWarp = 64;
  std::int64_t total = kWarp * static_cast<std::int64_t>(item.accesses.size());
  for (const RowId touch : item.touches) {
    total = std::max(total, trace.touches.lanes[touch]);
  }
  for (const RowId row : item.page_runs) {
    total = std::max(total, trace.page_runs.accesses[row]);
  }
  return total;
}

// No exact count is needed to see that there would be too many: the largest of each launch will do.
double LeastWindows(const RecordedWork& work, const HeatOptions& options) {
  if (options.unit == WindowUnit::kNanoseconds) {
    const auto [first, last] = TimesOf(work.trace());
    return (static_cast<double>(last) - static_cast<double>(first)) /
           static_cast<double>(options.window);
  }
  double total = options.unit == WindowUnit::kLaunches ? static_cast<double>(work.size()) : 0;
  if (options.unit == WindowUnit::kAccesses) {
    work.ForEach([&](const WorkItem& item) {
      total += static_cast<double>(AccessesOf(item, work.trace()));
    });
  }
  return total / static_cast<double>(options.window);
}

}  // namespace

std::string_view WindowUnitName(WindowUnit unit) {
  return kUnitNames[static_cast<std::size_t>(unit)];
}

std::string_view HeatSourceName(HeatSource source) {
  return kSourceNames[static_cast<std::size_t>(source)];
}

Result<AccessHeat> HeatOf(const trace::Trace& trace, const HeatOptions& options) {
  ORRERY_CHECK(options.block_bytes > 0 && options.window > 0, "blocks and windows have a size");
  const RecordedWork work(trace);
  if (LeastWindows(work, options) > static_cast<double>(kMaxWindows)) {
    return Fail(Error::Kind::kLimit,
                fmt::format("windows of {} {} are more than {} in all; choose larger ones",
                            options.window, WindowUnitName(options.unit), kMaxWindows));
  }
  const Lifetimes lifetimes(trace.memory_objects);
  ObjectMap owners(lifetimes);
  HeatCounter counter(trace, options);
  LaunchReader reader(work, owners, counter);
  std::array<std::int64_t, kNumHeatSources> by_source{};
  std::int64_t num_without = 0;
  work.ForEach([&](const WorkItem& item) {
    if (!work.IsKernel(item)) {
      return;
    }
    owners.AdvanceTo(item.order);
    const std::int64_t before = counter.total();
    counter.BeginLaunch(trace.activities.begin_ns[item.activity]);
    const std::optional<HeatSource> source = reader.Add(item);
    counter.EndLaunch();
    num_without += source ? 0 : 1;
    by_source[static_cast<std::size_t>(source.value_or(HeatSource::kAccesses))] +=
        counter.total() - before;
  });
  AccessHeat heat = counter.Finish();
  heat.source_accesses = by_source;
  heat.num_without_counts = num_without;
  return heat;
}

}  // namespace orrery::memory
