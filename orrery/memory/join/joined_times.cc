#include "orrery/memory/join/joined_times.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/memory/join/launch_match.h"
#include "orrery/memory/names.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::ActivityKind;
using trace::Trace;

__extension__ using Product = __int128;  // of two times

TimesJoin CountMatches(const Trace& accesses, const LaunchMatch& match) {
  TimesJoin join{.num_only_in_times = match.num_only_second, .is_cut = match.is_cut};
  std::map<std::string, std::int64_t> lacking;
  for (RowId row = 0; row < accesses.activities.size(); ++row) {
    const bool is_kernel = accesses.activities.kind[row] == ActivityKind::kKernel;
    TimesJoin::Count& count = is_kernel ? join.kernels : join.others;
    ++count.all;
    if (match.partners[row] != kNoRow) {
      ++count.with_times;
    } else {
      ++lacking[ShortKernelName(accesses.Text(accesses.activities.name[row]))];
    }
  }
  for (const auto& [name, count] : lacking) {
    join.lacking.push_back({.name = name, .count = count});
  }
  std::ranges::stable_sort(join.lacking, std::ranges::greater(), &TimesJoin::Lacking::count);
  return join;
}

std::vector<ClockAnchor> AnchorsOf(const Trace& times, const Trace& accesses,
                                   const LaunchMatch& match) {
  std::vector<ClockAnchor> anchors;
  for (RowId row = 0; row < accesses.activities.size(); ++row) {
    if (match.partners[row] != kNoRow) {
      anchors.push_back({.from_ns = accesses.activities.begin_ns[row],
                         .to_ns = times.activities.begin_ns[match.partners[row]]});
    }
  }
  return anchors;
}

void TakeTimes(const Trace& times, const LaunchMatch& match, Trace& accesses) {
  for (RowId row = 0; row < accesses.activities.size(); ++row) {
    const RowId partner = match.partners[row];
    accesses.activities.duration_ns[row] =
        partner == kNoRow ? 0 : times.activities.duration_ns[partner];
    if (partner != kNoRow) {
      accesses.activities.begin_ns[row] = times.activities.begin_ns[partner];
    }
  }
}

// Concurrent streams begin in another order than they were launched.
void SortActivities(Trace& trace) {
  const trace::Activities& work = trace.activities;
  std::vector<RowId> order(work.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::ranges::stable_sort(
      order, {}, [&](RowId row) { return std::tuple(work.begin_ns[row], -work.duration_ns[row]); });
  if (std::ranges::is_sorted(order)) {
    return;
  }
  std::vector<RowId> new_row(order.size());
  for (RowId row = 0; row < order.size(); ++row) {
    new_row[order[row]] = row;
  }
  PermuteRows(trace.activities, order);
  trace::ForEachTable(trace, [&]<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.activity; }) {
      for (RowId& activity : table.activity) {
        activity = activity == kNoRow ? kNoRow : new_row[activity];
      }
    }
  });
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
  trace::MoveTimes(trace, [&](std::int64_t time_ns) { return clock.At(time_ns); });
}

TimesJoin GiveTimes(const Trace& times, Trace& accesses) {
  const LaunchMatch match = MatchLaunches(accesses, times);
  TimesJoin join = CountMatches(accesses, match);
  std::vector<ClockAnchor> anchors = AnchorsOf(times, accesses, match);
  if (anchors.empty()) {
    return join;
  }
  MoveRows(MovedClock(std::move(anchors)), accesses);
  TakeTimes(times, match, accesses);
  SortActivities(accesses);
  return join;
}

}  // namespace orrery::memory
