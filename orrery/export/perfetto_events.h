#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>
#include <vector>

#include "orrery/export/perfetto_sequence.h"
#include "orrery/export/rank_layout.h"
#include "orrery/trace/trace.h"

namespace orrery::exporting::perfetto {

/// All that is needed to write one rank.
struct Rank {
  const trace::Trace& trace;
  const RankLayout& layout;
  RankTracks& tracks;
  std::uint64_t index = 0;   // among the ranks of the set
  std::int64_t zero_ns = 0;  // timestamps count from here
};

/// Writes the slices of a rank, with flow arrows between them, in order of time.
void WriteSlices(const Rank& rank, Sequence& sequence);

/// Writes counters, memory events, instant events and the arrows that belong to no slice, in order
/// of time.
void WritePoints(const Rank& rank, Sequence& sequence);

/// Calls `begin(i)` and `end(i)` for each of `count` slices in order of time; `times_of(i)` has
/// begin_ns and end_ns. At equal times, earlier slices end before the next begins, longer ones
/// begin first, and of slices that end together the one that began last ends first; so nested
/// slices are closed inside out, and a slice without length ends right after its begin.
template <typename TimesOf, typename Begin, typename End>
void WalkEdges(std::size_t count, const TimesOf& times_of, Begin&& begin, End&& end) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, [&](std::size_t lhs, std::size_t rhs) {
    const auto& a = times_of(lhs);
    const auto& b = times_of(rhs);
    return std::tie(a.begin_ns, b.end_ns, lhs) < std::tie(b.begin_ns, a.end_ns, rhs);
  });
  // The position is negated: of equal ends the slice that began last comes first.
  using Open = std::tuple<std::int64_t, std::int64_t, std::size_t>;
  std::priority_queue<Open, std::vector<Open>, std::greater<>> open;
  const auto end_until = [&](std::int64_t until_ns) {
    while (!open.empty() && std::get<0>(open.top()) <= until_ns) {
      end(std::get<2>(open.top()));
      open.pop();
    }
  };
  for (std::size_t position = 0; position < count; ++position) {
    const std::size_t slice = order[position];
    end_until(times_of(slice).begin_ns);
    begin(slice);
    open.emplace(times_of(slice).end_ns, -static_cast<std::int64_t>(position), slice);
  }
  end_until(std::numeric_limits<std::int64_t>::max());
}

}  // namespace orrery::exporting::perfetto
