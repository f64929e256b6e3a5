#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <queue>
#include <span>
#include <tuple>
#include <vector>

namespace orrery::exporting {

struct TimedSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
};

/// Calls `begin(i)` and `end(i)` for each slice in order of time. Slices come in order of begin,
/// ties longer first. At equal times what began earlier ends before the next begins, and of what
/// ends together the one that began last ends first; so slices that nest are closed inside out,
/// and a slice without length ends right after its begin.
template <typename Begin, typename End>
void WalkEdges(std::span<const TimedSlice> slices, Begin&& begin, End&& end) {
  struct Open {
    std::int64_t end_ns;
    std::size_t index;

    bool operator>(const Open& other) const {
      return std::tie(end_ns, other.index) > std::tie(other.end_ns, index);
    }
  };

  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  const auto end_until = [&](std::int64_t until_ns) {
    while (!open.empty() && open.top().end_ns <= until_ns) {
      end(open.top().index);
      open.pop();
    }
  };
  for (std::size_t i = 0; i < slices.size(); ++i) {
    end_until(slices[i].begin_ns);
    begin(i);
    open.push({slices[i].end_ns, i});
  }
  end_until(std::numeric_limits<std::int64_t>::max());
}

}  // namespace orrery::exporting
