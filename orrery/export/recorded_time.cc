#include "orrery/export/recorded_time.h"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <vector>

namespace orrery::exporting {
namespace {

constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kSecond = 1'000'000'000;

std::int64_t Smallest(const std::vector<std::int64_t>& times) {
  const auto smallest = std::min_element(times.begin(), times.end());
  return smallest == times.end() ? kNone : *smallest;
}

std::int64_t EarliestTimeOf(const trace::Trace& trace) {
  std::int64_t earliest = kNone;
  trace::ForEachTable(trace, [&]<typename Table>(const char*, const Table& table) {
    constexpr bool kIsDrawn =
        !std::is_same_v<Table, trace::GraphNodes> && !std::is_same_v<Table, trace::Collectives>;
    if constexpr (kIsDrawn && requires { table.begin_ns; }) {
      earliest = std::min(earliest, Smallest(table.begin_ns));
    }
  });
  return std::min(earliest, Smallest(trace.flows.end_ns));
}

}  // namespace

std::int64_t EarliestTime(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives) {
  std::int64_t earliest = kNone;
  for (const trace::Trace& trace : set.ranks) {
    earliest = std::min(earliest, EarliestTimeOf(trace));
  }
  for (const CollectiveSpan& span : collectives) {
    for (const CollectiveMember& member : span.members) {
      earliest = std::min(earliest, member.begin_ns);
    }
  }
  return earliest == kNone ? 0 : earliest;
}

std::int64_t FloorToSecond(std::int64_t at_ns) {
  const std::int64_t into_second = ((at_ns % kSecond) + kSecond) % kSecond;
  return at_ns - into_second;
}

}  // namespace orrery::exporting
