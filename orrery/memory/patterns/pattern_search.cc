#include "orrery/memory/patterns/pattern_search.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/columns.h"
#include "orrery/memory/patterns/patterns.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::patterns {
namespace {

using trace::Coverage;
using trace::MemoryClass;

AddressRange RangeOf(const ObjectUses& uses, const Use& use) {
  const std::uint64_t begin = uses.trace().memory_objects.address[use.object];
  return {.begin = begin, .end = begin + static_cast<std::uint64_t>(uses.BytesOf(use))};
}

void AddClipped(const AddressRange& object, AddressRange range, std::vector<AddressRange>& out) {
  range.begin = std::max(range.begin, object.begin);
  range.end = std::min(range.end, object.end);
  if (range.begin < range.end) {
    out.push_back(range);
  }
}

struct Words {
  std::string_view name;
  std::string_view suggestion;
};

constexpr std::array<Words, kNumPatterns> kWords = {{
    {"unused allocation", "remove it"},
    {"early allocation", "allocate it before its first access"},
    {"late deallocation", "free it after its last access"},
    {"leak", "free it"},
    {"redundant allocation", "reuse the object that is idle"},
    {"temporary idleness", "offload or recompute it between the accesses"},
    {"dead write", "drop the first write"},
    {"overallocation", "shrink it"},
    {"uneven access", "split hot and cold parts"},
    {"structured access", "allocate the slices one by one"},
    {"redundant copy", "drop the second copy"},
}};

}  // namespace

ObjectUses::ObjectUses(const RecordedWork& work)
    : work_(&work), end_ns_(trace::RecordedSpan(work.trace()).end_ns) {
  ChooseObjects();
  AddAccesses();
}

void ObjectUses::ChooseObjects() {
  const trace::MemoryObjects& objects = trace().memory_objects;
  std::vector<bool> holds(objects.size(), false);
  for (const RowId parent : objects.parent) {
    if (parent != kNoRow) {
      holds[parent] = true;
    }
  }
  use_of_object_.assign(objects.size(), kNoUse);
  for (RowId row = 0; row < objects.size(); ++row) {
    const MemoryClass memory_class = objects.memory_class[row];
    if (holds[row] || objects.bytes[row] <= 0 || memory_class == MemoryClass::kSegment ||
        memory_class == MemoryClass::kStatic || memory_class == MemoryClass::kPinned) {
      continue;
    }
    use_of_object_[row] = static_cast<std::uint32_t>(uses_.size());
    uses_.push_back({.object = row,
                     .birth = objects.birth_order[row],
                     .death = objects.death_order[row] < 0 ? kAfterAll : objects.death_order[row]});
  }
}

void ObjectUses::AddAccesses() {
  const trace::Touches& touches = trace().touches;
  for (std::size_t position = 0; position < work_->size(); ++position) {
    const WorkItem item = work_->At(position);
    if (item.coverage == Coverage::kPartial || item.coverage == Coverage::kUnseen) {
      partly_observed_.push_back(item.order);
    }
    for (const RowId touch : item.touches) {
      const RowId object = touches.object[touch];
      if (object == kNoRow || use_of_object_[object] == kNoUse ||
          (item.coverage == Coverage::kExact && touches.coverage[touch] == Coverage::kByArgument)) {
        // An argument adds nothing if every access was counted; a tensor map does, as its loads are
        // not counted.
        continue;
      }
      const bool is_counted = work_->IsCounted(touch);
      const bool changes = touches.write_bytes[touch] > 0 || touches.atomic_bytes[touch] > 0;
      const bool reads = touches.read_bytes[touch] > 0 || touches.atomic_bytes[touch] > 0;
      if (!is_counted || reads || changes) {
        uses_[use_of_object_[object]].accesses.push_back({.position = position,
                                                          .order = item.order,
                                                          .touch = touch,
                                                          .may_read = reads || !is_counted,
                                                          .may_write = changes || !is_counted,
                                                          .is_counted = is_counted});
      }
    }
  }
  std::sort(partly_observed_.begin(), partly_observed_.end());
}

std::int64_t ObjectUses::NumPartlyObserved(std::int64_t begin, std::int64_t end) const {
  const auto first = std::lower_bound(partly_observed_.begin(), partly_observed_.end(), begin);
  return std::lower_bound(first, partly_observed_.end(), end) - first;
}

Footprint::Footprint(const ObjectUses& uses, std::int32_t device) {
  std::vector<std::pair<std::int64_t, std::int64_t>> changes;  // order, bytes
  for (const Use& use : uses.all()) {
    if (uses.DeviceOf(use) != device) {
      continue;
    }
    changes.emplace_back(use.birth, uses.BytesOf(use));
    births_.push_back(use.birth);
    if (use.is_freed()) {
      changes.emplace_back(use.death, -uses.BytesOf(use));
      deaths_.push_back(use.death);
    }
  }
  std::sort(changes.begin(), changes.end());
  std::sort(births_.begin(), births_.end());
  std::sort(deaths_.begin(), deaths_.end());
  std::vector<std::int64_t> bytes;
  std::int64_t total = 0;
  for (const auto& [order, change] : changes) {
    total += change;
    if (orders_.empty() || orders_.back() != order) {
      orders_.push_back(order);
      bytes.push_back(0);
    }
    bytes.back() = total;
  }
  BuildMaxima(std::move(bytes));
  peak_bytes_ = HighestIn(0, orders_.size());
}

std::int64_t Footprint::Saved(std::int64_t bytes, std::int64_t begin, std::int64_t end) const {
  if (begin >= end || orders_.empty()) {
    return 0;
  }
  // The interval in which `begin` falls counts on both sides.
  const auto at_begin = std::upper_bound(orders_.begin(), orders_.end(), begin);
  const auto at_end = std::lower_bound(orders_.begin(), orders_.end(), end);
  const auto first =
      static_cast<std::size_t>(std::max<std::ptrdiff_t>(at_begin - orders_.begin() - 1, 0));
  const auto last = static_cast<std::size_t>(at_end - orders_.begin());
  const bool begins_inside = first < orders_.size() && orders_[first] < begin;
  const std::size_t first_inside = first;
  const std::size_t end_before = begins_inside ? first + 1 : first;
  std::int64_t rest = std::max(HighestIn(0, end_before), HighestIn(last, orders_.size()));
  if (last > 0 && end != kAfterAll && (last == orders_.size() || orders_[last] > end)) {
    rest = std::max(rest, HighestIn(last - 1, last));
  }
  rest = std::max(rest, HighestIn(first_inside, last) - bytes);
  return std::max<std::int64_t>(peak_bytes_ - rest, 0);
}

void Footprint::BuildMaxima(std::vector<std::int64_t> bytes) {
  maxima_.push_back(std::move(bytes));
  for (std::size_t length = 2; length <= orders_.size(); length *= 2) {
    const std::vector<std::int64_t>& shorter = maxima_.back();
    std::vector<std::int64_t> longer(orders_.size() - length + 1);
    for (std::size_t i = 0; i < longer.size(); ++i) {
      longer[i] = std::max(shorter[i], shorter[i + length / 2]);
    }
    maxima_.push_back(std::move(longer));
  }
}

std::int64_t Footprint::HighestIn(std::size_t first, std::size_t last) const {
  if (first >= last) {
    return 0;
  }
  const std::size_t length = std::bit_floor(last - first);
  const auto level = static_cast<std::size_t>(std::countr_zero(length));
  return std::max(maxima_[level][first], maxima_[level][last - length]);
}

std::vector<AddressRange> PagesOf(const ObjectUses& uses, const Use& use, const Access& access) {
  const trace::PageRuns& runs = uses.trace().page_runs;
  const AddressRange object = RangeOf(uses, use);
  std::vector<AddressRange> pages;
  for (const RowId row : uses.work().At(access.position).page_runs) {
    if (runs.object[row] == use.object) {
      const auto bytes = static_cast<std::uint64_t>(runs.num_pages[row] * runs.page_bytes[row]);
      AddClipped(object,
                 {.begin = runs.address[row],
                  .end = runs.address[row] + bytes,
                  .accesses = runs.accesses[row]},
                 pages);
    }
  }
  return pages;
}

std::vector<AddressRange> ReachOf(const ObjectUses& uses, const Use& use, const Access& access) {
  const trace::Touches& touches = uses.trace().touches;
  const AddressRange object = RangeOf(uses, use);
  std::vector<AddressRange> reach;
  if (access.is_counted) {
    reach = PagesOf(uses, use, access);
  }
  if (const std::int64_t extent = touches.extent_bytes[access.touch]; reach.empty() && extent > 0) {
    const std::uint64_t begin = touches.address[access.touch];
    AddClipped(object, {.begin = begin, .end = begin + static_cast<std::uint64_t>(extent)}, reach);
  }
  if (reach.empty()) {
    reach.push_back(object);
  }
  return Joined(std::move(reach));
}

std::vector<AddressRange> Joined(std::vector<AddressRange> ranges) {
  std::ranges::sort(ranges, {}, &AddressRange::begin);
  std::vector<AddressRange> joined;
  for (const AddressRange& range : ranges) {
    if (!joined.empty() && range.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, range.end);
    } else {
      joined.push_back({.begin = range.begin, .end = range.end});
    }
  }
  return joined;
}

std::int64_t BytesOf(const std::vector<AddressRange>& ranges) {
  std::int64_t bytes = 0;
  for (const AddressRange& range : ranges) {
    bytes += range.bytes();
  }
  return bytes;
}

PatternSearch::PatternSearch(const ObjectUses& uses, const PatternOptions& options)
    : uses_(&uses), options_(options) {
  for (const Use& use : uses.all()) {
    const std::int32_t device = uses.DeviceOf(use);
    if (!footprint_of_device_.contains(device)) {
      footprint_of_device_.emplace(device, Footprint(uses, device));
    }
  }
}

LifetimeInterval PatternSearch::WholeLife(const Use& use) const {
  return {.begin = use.birth,
          .end = use.death,
          .begin_ns = uses_->BirthNs(use),
          .end_ns = uses_->DeathNs(use)};
}

Finding& PatternSearch::Add(Pattern pattern, const Use& use, std::int64_t bytes,
                            const LifetimeInterval& interval, std::string why_not_fact) {
  if (const std::int64_t num_partly_observed = uses_->NumPartlyObserved(use.birth, use.death);
      num_partly_observed > 0) {
    why_not_fact = fmt::format("{} launch{} of its life {} not fully seen", num_partly_observed,
                               num_partly_observed == 1 ? "" : "es",
                               num_partly_observed == 1 ? "was" : "were");
  }
  const std::int64_t length_ns = std::max<std::int64_t>(interval.end_ns - interval.begin_ns, 0);
  findings_.push_back(
      {.pattern = pattern,
       .object = use.object,
       .bytes = bytes,
       .peak_saved_bytes = FootprintOf(use).Saved(bytes, interval.begin, interval.end),
       .byte_seconds_saved = static_cast<double>(bytes) * static_cast<double>(length_ns) / 1e9,
       .is_fact = why_not_fact.empty(),
       .why_not_fact = std::move(why_not_fact)});
  return findings_.back();
}

std::string_view PatternName(Pattern pattern) {
  return kWords[static_cast<std::size_t>(pattern)].name;
}

std::string_view Suggestion(Pattern pattern) {
  return kWords[static_cast<std::size_t>(pattern)].suggestion;
}

PatternReport FindPatterns(const trace::Trace& trace, const PatternOptions& options) {
  const RecordedWork work(trace);
  const ObjectUses uses(work);
  PatternSearch search(uses, options);
  FindLifePatterns(search);
  FindRedundantAllocations(search);
  FindWritePatterns(search);
  FindPagePatterns(search);
  PatternReport report{.findings = search.TakeFindings(),
                       .num_objects = static_cast<std::int64_t>(uses.all().size())};
  for (const Use& use : uses.all()) {
    report.peak_bytes = std::max(report.peak_bytes, search.FootprintOf(use).peak_bytes());
  }
  std::ranges::sort(report.findings, {}, [](const Finding& finding) {
    return std::tuple(-finding.peak_saved_bytes, -finding.byte_seconds_saved,
                      -finding.traffic_saved_bytes, finding.object, finding.pattern, finding.other);
  });
  return report;
}

}  // namespace orrery::memory::patterns
