#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "orrery/memory/timeline/history.h"

namespace orrery::memory::timeline {

/// Returns the number of a place, adding it if it is new. There are few.
inline std::uint32_t NumberOf(const Place& place, std::vector<Place>& places) {
  const auto found = std::find(places.begin(), places.end(), place);
  if (found != places.end()) {
    return static_cast<std::uint32_t>(found - places.begin());
  }
  places.push_back(place);
  return static_cast<std::uint32_t>(places.size() - 1);
}

}  // namespace orrery::memory::timeline
