#include "orrery/ingest/xplane/async_pairs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>

namespace orrery::ingest::xplane {

AsyncPairs PairAsync(std::vector<AsyncHalf> halves) {
  // Where the profiler corrects its clock, operations collapse into one point in time.
  std::stable_sort(halves.begin(), halves.end(), [](const AsyncHalf& a, const AsyncHalf& b) {
    return std::pair(a.begin_ns, !a.is_start) < std::pair(b.begin_ns, !b.is_start);
  });
  AsyncPairs pairs;
  std::map<std::string_view, const AsyncHalf*> open;
  for (const AsyncHalf& half : halves) {
    if (half.is_start) {
      const AsyncHalf*& slot = open[half.start_name];
      pairs.num_unpaired += slot == nullptr ? 0 : 1;
      slot = &half;
      continue;
    }
    const auto start = open.find(half.start_name);
    if (start == open.end()) {
      ++pairs.num_unpaired;
      continue;
    }
    pairs.works.push_back({.begin_ns = start->second->begin_ns,
                           .end_ns = std::max(half.end_ns, start->second->begin_ns),
                           .start_kind = start->second->kind});
    open.erase(start);
  }
  pairs.num_unpaired += static_cast<std::int64_t>(open.size());
  return pairs;
}

std::string StartOfDone(std::string_view name, std::string_view long_name) {
  constexpr std::string_view kDone = "-done";
  const std::size_t call = long_name.find("-done(");
  const std::size_t operand = call == std::string_view::npos ? call : long_name.find('%', call);
  if (operand != std::string_view::npos) {
    const std::string_view rest = long_name.substr(operand + 1);
    return std::string(rest.substr(0, rest.find_first_of("), ")));
  }
  std::string start(name);
  if (const std::size_t at = start.find(kDone); at != std::string::npos) {
    start.replace(at, kDone.size(), "-start");
  }
  return start;
}

}  // namespace orrery::ingest::xplane
