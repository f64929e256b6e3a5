#include "orrery/memory/patterns/pages.h"

#include <algorithm>
#include <utility>

namespace orrery::memory::patterns {
namespace {


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

}  // namespace

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

std::int64_t TouchedBytes(const ObjectUses& uses, const Use& use, const Access& access) {
  return BytesOf(Joined(PagesOf(uses, use, access)));
}

std::vector<AddressRange> Joined(std::vector<AddressRange> ranges) {
  std::sort(ranges.begin(), ranges.end(),
            [](const AddressRange& lhs, const AddressRange& rhs) { return lhs.begin < rhs.begin; });
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

}  // namespace orrery::memory::patterns
