#include "orrery/trace/trace_set.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace orrery::trace {

std::vector<std::uint32_t> PlacesInRankOrder(const TraceSet& set) {
  std::vector<std::uint32_t> places(set.ranks.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return RankOf(set, a) < RankOf(set, b);
  });
  return places;
}

}  // namespace orrery::trace
