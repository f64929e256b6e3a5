#include "orrery/analyze/idle_gaps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>

#include "orrery/analyze/awaited_work.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {


class GapFinder {
 public:
  GapFinder(const RunView& run, const DeviceView& device)
      : run_(run), device_(device), trace_(run.TraceOf(device)), awaited_(trace_) {}

  std::vector<IdleGap> Find() {
    std::int64_t busy_until_ns = std::numeric_limits<std::int64_t>::min();
    for (std::size_t i = 0; i < device_.activities.size(); ++i) {
      const RowId row = device_.activities[i];
      const std::int64_t begin_ns = trace_.activities.begin_ns[row];
      const std::int64_t duration_ns = trace_.activities.duration_ns[row];
      if (duration_ns == 0) {
        continue;
      }
      if (begin_ns > busy_until_ns) {
        AddGap({busy_until_ns, begin_ns}, ShortestFrom(i));
      }
      busy_until_ns = std::max(busy_until_ns, begin_ns + duration_ns);
    }
    AddGap({busy_until_ns, std::numeric_limits<std::int64_t>::max()}, kNoRow);
    return std::move(gaps_);
  }

 private:
  // Of the activities that begin together the longest comes first; the shortest that takes time
  // ends the gap.
  [[nodiscard]] RowId ShortestFrom(std::size_t first) const {
    const trace::Activities& activities = trace_.activities;
    RowId shortest = device_.activities[first];
    for (std::size_t i = first + 1; i < device_.activities.size(); ++i) {
      const RowId row = device_.activities[i];
      if (activities.begin_ns[row] != activities.begin_ns[shortest] ||
          activities.duration_ns[row] == 0) {
        break;
      }
      shortest = row;
    }
    return shortest;
  }

  // Gaps and windows both come in order.
  void AddGap(Interval gap, RowId ended_by) {
    while (window_ < device_.windows.size() &&
           device_.windows[window_].time.end_ns <= gap.begin_ns) {
      ++window_;
    }
    for (std::size_t window = window_;
         window < device_.windows.size() && device_.windows[window].time.begin_ns < gap.end_ns;
         ++window) {
      const Interval& allowed = device_.windows[window].time;
      const Interval inside{std::max(gap.begin_ns, allowed.begin_ns),
                            std::min(gap.end_ns, allowed.end_ns)};
      if (inside.begin_ns < inside.end_ns) {
        gaps_.push_back({.time = inside,
                         .cause = CauseOf(inside, ended_by),
                         .ended_by = ended_by,
                         .window = static_cast<std::uint32_t>(window)});
      }
    }
  }

  [[nodiscard]] IdleCause CauseOf(const Interval& gap, RowId ended_by) const {
    const RowId launch = ended_by == kNoRow ? kNoRow : trace_.activities.launch[ended_by];
    if (launch == kNoRow) {
      return IdleCause::kUnknown;
    }
    if (trace_.runtime_calls.begin_ns[launch] > gap.begin_ns) {
      return IdleCause::kHostWait;
    }
    if (gap.length_ns() < run_.options.launch_gap_ns) {
      return IdleCause::kLaunchOverhead;
    }
    const std::optional<std::int64_t> awaited_ns = awaited_.EndNs(ended_by);
    return awaited_ns && *awaited_ns > gap.begin_ns ? IdleCause::kDependency : IdleCause::kOther;
  }

  const RunView& run_;
  const DeviceView& device_;
  const trace::Trace& trace_;
  AwaitedWork awaited_;
  std::vector<IdleGap> gaps_;
  std::size_t window_ = 0;
};

}  // namespace

std::string_view IdleCauseName(IdleCause cause) {
  static constexpr std::array<std::string_view, kNumIdleCauses> kNames{
      "unknown", "host_wait", "launch_overhead", "dependency", "other"};
  return kNames[static_cast<std::size_t>(cause)];
}

std::vector<IdleGap> FindIdleGaps(const RunView& run, const DeviceView& device) {
  return GapFinder(run, device).Find();
}

}  // namespace orrery::analyze
