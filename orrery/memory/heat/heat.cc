#include "orrery/memory/heat/heat.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/memory/byte_ranges.h"
#include "orrery/memory/heat/heat_counts.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recorded_work.h"

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

// As std::stable_sort, which allocates each time; most lists are short.
template <typename Item, typename Projection>
void StableSort(std::vector<Item>& items, Projection key) {
  constexpr std::size_t kFew = 32;
  if (items.size() > kFew) {
    std::ranges::stable_sort(items, {}, key);
    return;
  }
  for (auto next = items.begin(); next != items.end(); ++next) {
    std::rotate(std::ranges::upper_bound(items.begin(), next, key(*next), {}, key), next, next + 1);
  }
}

}  // namespace

/// The access counters: by object, by block and by window.
struct HeatCounter::Counts {
  HeatOptions options;
  HeatBlocks blocks = {};
  HeatObjects objects;
  HeatWindows windows;
  std::int64_t num_launches = 0;
  std::optional<std::int64_t> first_ns = std::nullopt;
  std::array<std::int64_t, kNumHeatSources> source_accesses = {};
  std::int64_t num_without_counts = 0;

  explicit Counts(const HeatOptions& given)
      : options(given), objects(given.block_bytes, blocks), windows(given, blocks) {}
};

/// Counts the accesses of the kernels of one piece, in launch order.
class HeatCounter::LaunchHeat {
 public:
  LaunchHeat(const RecordedWork& work, Counts& counts)
      : work_(work),
        trace_(work.trace()),
        counts_(counts),
        block_bytes_(static_cast<std::uint64_t>(counts.options.block_bytes)),
        lifetimes_(trace_.memory_objects),
        owners_(lifetimes_) {}

  LaunchHeat(const LaunchHeat&) = delete;
  LaunchHeat& operator=(const LaunchHeat&) = delete;

  /// Adds a kernel that begins at a time since the first device work.
  void AddKernel(const WorkItem& item, std::int64_t since_first_ns) {
    const std::int64_t before = counts_.windows.total();
    const bool is_by_launch = counts_.options.unit == WindowUnit::kLaunches;
    counts_.windows.BeginLaunch(is_by_launch ? counts_.num_launches : since_first_ns);
    const std::optional<HeatSource> source = Add(item);
    ++counts_.num_launches;
    if (source) {
      counts_.source_accesses[static_cast<std::size_t>(*source)] +=
          counts_.windows.total() - before;
    } else {
      ++counts_.num_without_counts;
    }
  }

 private:
  // Accesses somewhere in a range.
  struct SpreadAccesses {
    ByteRange range;
    RowId object = kNoRow;
    std::int64_t accesses = 0;
  };

  // Returns the source of the accesses; nothing if none were counted.
  std::optional<HeatSource> Add(const WorkItem& item) {
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

  void AddLanes(const WorkItem& item) {
    owners_.AdvanceTo(item.order);
    for (const RowId access : item.accesses) {
      ForEachLane(trace_, access, [&](std::uint64_t address) {
        Add(address / block_bytes_, counts_.objects.Of(owners_.Find(address)), 1);
      });
    }
  }

  // Returns whether any page has counts.
  bool AddPages(const WorkItem& item) {
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

  // Returns true if the runs are in order of page, and no page lies in two blocks. Runs of two
  // objects may share the page at their border.
  [[nodiscard]] bool AreRunsInOrder() const {
    const trace::PageRuns& runs = trace_.page_runs;
    std::uint64_t last_page = 0;
    for (const RowId row : runs_) {
      const std::int64_t page_bytes = runs.page_bytes[row];
      if (page_bytes <= 0 || page_bytes != runs.page_bytes[runs_.front()] ||
          block_bytes_ % static_cast<std::uint64_t>(page_bytes) != 0 ||
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
  void AddRun(RowId row, const WorkItem& item) {
    const auto page_bytes = static_cast<std::uint64_t>(trace_.page_runs.page_bytes[row]);
    ObjectCounts& object = counts_.objects.Of(IfAlive(trace_.page_runs.object[row], item));
    std::uint64_t address = trace_.page_runs.address[row];
    for (std::int64_t left = trace_.page_runs.num_pages[row]; left > 0;) {
      const std::uint64_t pages_to_end = (block_bytes_ - address % block_bytes_) / page_bytes;
      const std::int64_t now = std::min(left, static_cast<std::int64_t>(pages_to_end));
      Add(address / block_bytes_, object, now * trace_.page_runs.accesses[row]);
      address += static_cast<std::uint64_t>(now) * page_bytes;
      left -= now;
    }
  }

  void ListPages(const WorkItem& item) {
    listed_.clear();
    for (const RowId row : item.page_runs) {
      const std::int64_t accesses = trace_.page_runs.accesses[row];
      const std::int64_t page_bytes = trace_.page_runs.page_bytes[row];
      const RowId object = IfAlive(trace_.page_runs.object[row], item);
      for (std::int64_t page = 0; accesses > 0 && page < trace_.page_runs.num_pages[row]; ++page) {
        const auto offset =
            static_cast<std::uint64_t>(page) * static_cast<std::uint64_t>(page_bytes);
        listed_.push_back(
            {RangeOf(trace_.page_runs.address[row] + offset, page_bytes), object, accesses});
      }
    }
  }

  void ListTouches(const WorkItem& item) {
    listed_.clear();
    for (const RowId touch : item.touches) {
      const std::int64_t lanes = trace_.touches.lanes[touch];
      if (lanes > 0 && work_.IsCounted(touch)) {
        const RowId object = IfAlive(trace_.touches.object[touch], item);
        listed_.push_back({object == kNoRow ? RangeOf(trace_.touches.address[touch], 1)
                                            : lifetimes_.RangeOfObject(object),
                           object, lanes});
      }
    }
  }

  void AddListed() {
    StableSort(listed_, [](const SpreadAccesses& one) { return one.range.begin; });
    for (const SpreadAccesses& one : listed_) {
      Add(one);
    }
  }

  // In proportion to the bytes in each block; rounding is carried forward, so that the parts always
  // add up.
  void Add(const SpreadAccesses& spread) {
    const auto size = static_cast<std::uint64_t>(std::max<std::int64_t>(spread.range.size(), 1));
    ObjectCounts& object = counts_.objects.Of(spread.object);
    std::uint64_t begin = spread.range.begin;
    std::uint64_t block = begin / block_bytes_;
    std::uint64_t room = block_bytes_ - begin % block_bytes_;
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
      room = block_bytes_;
    }
  }

  void Add(std::uint64_t block, ObjectCounts& object, std::int64_t accesses) {
    object.Add(block, accesses, counts_.num_launches);
    counts_.windows.Add(counts_.blocks.At(block), accesses);
  }

  // An object that is not alive when the launch begins owns none of its accesses.
  [[nodiscard]] RowId IfAlive(RowId object, const WorkItem& item) const {
    return object != kNoRow && lifetimes_.IsAlive(object, item.order) ? object : kNoRow;
  }

  const RecordedWork& work_;
  const trace::Trace& trace_;
  Counts& counts_;
  std::uint64_t block_bytes_;
  Lifetimes lifetimes_;
  ObjectMap owners_;
  std::vector<SpreadAccesses> listed_;  // of the current launch
  std::vector<RowId> runs_;
};

std::string_view WindowUnitName(WindowUnit unit) {
  constexpr std::array<std::string_view, 3> kNames{"accesses", "launches", "nanoseconds"};
  return kNames[static_cast<std::size_t>(unit)];
}

std::string_view HeatSourceName(HeatSource source) {
  constexpr std::array<std::string_view, kNumHeatSources> kNames{
      "single accesses", "counts of pages, spread over the page",
      "counts of objects, spread over the object"};
  return kNames[static_cast<std::size_t>(source)];
}

const DescribedObject* AccessHeat::Find(ObjectNumber object) const {
  const auto found = std::ranges::lower_bound(described, object, {}, &DescribedObject::object);
  return found == described.end() || found->object != object ? nullptr : &*found;
}

HeatCounter::HeatCounter(const HeatOptions& options) {
  ORRERY_CHECK(options.block_bytes > 0 && options.window.value_or(1) > 0,
               "blocks and windows have a size");
  counts_ = std::make_unique<Counts>(options);
}

HeatCounter::~HeatCounter() = default;

Status HeatCounter::Add(const trace::Trace& piece) {
  const RecordedWork work(piece);
  LaunchHeat launches(work, *counts_);
  counts_->objects.BeginPiece(piece);
  work.ForEach([&](const WorkItem& item) {
    if (item.activity == kNoRow || counts_->windows.AreTooMany()) {
      return;
    }
    const std::int64_t begin_ns = piece.activities.begin_ns[item.activity];
    counts_->first_ns = counts_->first_ns.value_or(begin_ns);
    if (work.IsKernel(item)) {
      launches.AddKernel(item, std::max<std::int64_t>(0, begin_ns - *counts_->first_ns));
    }
  });
  counts_->objects.EndPiece();
  if (counts_->windows.AreTooMany()) {
    return Fail(Error::Kind::kLimit,
                fmt::format("windows of {} {} are more than 1000000 in all; choose larger ones",
                            *counts_->options.window, WindowUnitName(counts_->options.unit)));
  }
  return {};
}

AccessHeat HeatCounter::Finish() {
  AccessHeat heat{.total_accesses = counts_->windows.total(),
                  .window = counts_->windows.window(),
                  .source_accesses = counts_->source_accesses,
                  .num_without_counts = counts_->num_without_counts};
  counts_->objects.Finish(heat);
  counts_->blocks.Finish(counts_->options.block_bytes, heat);
  return heat;
}

}  // namespace orrery::memory
