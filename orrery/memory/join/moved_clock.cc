#include "orrery/memory/join/moved_clock.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "orrery/base/check.h"

namespace orrery::memory {
namespace {

__extension__ using Product = __int128;  // of two times

template <typename Table>
void MoveTable(const MovedClock& clock, Table& table) {
  for (std::size_t row = 0; row < table.size(); ++row) {
    const std::int64_t begin_ns = table.begin_ns[row];
    table.begin_ns[row] = clock.At(begin_ns);
    if constexpr (requires { table.duration_ns; }) {
      if (table.duration_ns[row] > 0) {
        table.duration_ns[row] = clock.At(begin_ns + table.duration_ns[row]) - table.begin_ns[row];
      }
    }
    if constexpr (requires { table.end_ns; }) {
      table.end_ns[row] = clock.At(table.end_ns[row]);
    }
  }
}

}  // namespace

MovedClock::MovedClock(std::vector<ClockAnchor> anchors) : anchors_(std::move(anchors)) {
  ORRERY_CHECK(!anchors_.empty(), "a clock is moved by what is known on both");
  std::ranges::sort(anchors_, {}, [](const ClockAnchor& anchor) {
    return std::tie(anchor.from_ns, anchor.to_ns);
  });
  for (std::size_t i = anchors_.size() - 1; i > 0; --i) {
    anchors_[i - 1].to_ns = std::min(anchors_[i - 1].to_ns, anchors_[i].to_ns);
  }
  const auto rest = std::ranges::unique(anchors_, {}, &ClockAnchor::from_ns);
  anchors_.erase(rest.begin(), rest.end());
}

std::int64_t MovedClock::At(std::int64_t time_ns) const {
  const auto after = std::ranges::upper_bound(anchors_, time_ns, {}, &ClockAnchor::from_ns);
  const ClockAnchor& before = after == anchors_.begin() ? *after : *(after - 1);
  const std::int64_t passed_ns = time_ns - before.from_ns;
  if (after == anchors_.begin() || after == anchors_.end()) {
    return before.to_ns + passed_ns;
  }
  return before.to_ns +
         static_cast<std::int64_t>(static_cast<Product>(after->to_ns - before.to_ns) * passed_ns /
                                   (after->from_ns - before.from_ns));
}

void MoveRows(const MovedClock& clock, trace::Trace& trace) {
  trace::ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.begin_ns; }) {
      MoveTable(clock, table);
    }
  });
}

}  // namespace orrery::memory
