#include "orrery/analyze/breakdown/idle_gaps.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using trace::SyncKind;

/// The work of other streams that an activity had to wait for, by the events that streams wait for.
/// Profilers record these waits only on request; without them nothing is stored. Building costs O(n
/// log n) in the launched activities of the trace.
class AwaitedWork {
 public:
  explicit AwaitedWork(const trace::Trace& trace) : trace_(trace) {
    if (std::ranges::count(trace.syncs.kind, SyncKind::kStreamWaitEvent) > 0) {
      IndexLaunches();
      IndexWaits();
    }
  }

  /// Returns when the last work ended that the activity's stream had to wait for between its
  /// previous launch and the launch of the activity.
  std::optional<std::int64_t> EndNs(RowId activity) const {
    const RowId launch = trace_.activities.launch[activity];
    const RowId track = trace_.activities.track[activity];
    if (waits_on_stream_.empty() || launch == kNoRow || track == kNoRow) {
      return std::nullopt;
    }
    const Stream stream{trace_.tracks.device[track], trace_.tracks.thread[track]};
    const auto waits = waits_on_stream_.find(stream);
    if (waits == waits_on_stream_.end()) {
      return std::nullopt;
    }
    const std::int64_t launch_ns = trace_.runtime_calls.begin_ns[launch];
    const std::vector<Launch>& launches = launches_on_stream_.at(stream);
    const auto own = std::ranges::lower_bound(launches, launch_ns, {}, &Launch::call_begin_ns);
    const std::int64_t previous_ns =
        own == launches.begin() ? INT64_MIN : std::prev(own)->call_begin_ns;
    std::optional<std::int64_t> end_ns;
    auto wait = std::ranges::lower_bound(waits->second, previous_ns, {}, &Wait::call_begin_ns);
    for (; wait != waits->second.end() && wait->call_begin_ns < launch_ns; ++wait) {
      end_ns = std::max(end_ns.value_or(INT64_MIN), wait->awaited_end_ns);
    }
    return end_ns;
  }

 private:
  struct Launch {
    std::int64_t call_begin_ns = 0;
    std::int64_t end_ns = 0;  // of the activity
  };

  struct Wait {
    std::int64_t call_begin_ns = 0;
    std::int64_t awaited_end_ns = 0;
  };

  using Stream = std::pair<std::int32_t, std::int64_t>;  // device and number

  void IndexLaunches() {
    const trace::Activities& activities = trace_.activities;
    for (RowId row = 0; row < activities.size(); ++row) {
      const RowId track = activities.track[row];
      const RowId launch = activities.launch[row];
      if (track != kNoRow && launch != kNoRow) {
        launches_on_stream_[{trace_.tracks.device[track], trace_.tracks.thread[track]}].push_back(
            {.call_begin_ns = trace_.runtime_calls.begin_ns[launch],
             .end_ns = activities.begin_ns[row] + activities.duration_ns[row]});
      }
    }
    for (auto& [stream, launches] : launches_on_stream_) {
      std::ranges::stable_sort(launches, {}, &Launch::call_begin_ns);
      // A stream works in order: what was launched by then has ended when the latest has.
      for (std::size_t i = 1; i < launches.size(); ++i) {
        launches[i].end_ns = std::max(launches[i].end_ns, launches[i - 1].end_ns);
      }
    }
  }

  void IndexWaits() {
    const trace::RowIndex calls(trace_.runtime_calls.correlation);
    const trace::Syncs& syncs = trace_.syncs;
    for (RowId row = 0; row < syncs.size(); ++row) {
      const RowId record = (syncs.kind[row] == SyncKind::kStreamWaitEvent &&
                            syncs.call[row] != kNoRow && syncs.record_correlation[row] >= 0)
                               ? calls.First(syncs.record_correlation[row])
                               : kNoRow;
      if (record == kNoRow) {
        continue;
      }
      const auto awaited =
          EndBefore(syncs.wait_on_stream[row], trace_.runtime_calls.begin_ns[record]);
      if (awaited) {
        waits_on_stream_[{syncs.device[row], syncs.stream[row]}].push_back(
            {.call_begin_ns = trace_.runtime_calls.begin_ns[syncs.call[row]],
             .awaited_end_ns = *awaited});
      }
    }
    for (auto& [stream, waits] : waits_on_stream_) {
      std::ranges::stable_sort(waits, {}, &Wait::call_begin_ns);
    }
  }

  // The stream's device is not recorded, so all devices with such a stream count.
  std::optional<std::int64_t> EndBefore(std::int64_t stream, std::int64_t record_ns) const {
    std::optional<std::int64_t> end_ns;
    for (const auto& [key, launches] : launches_on_stream_) {
      if (key.second != stream) {
        continue;
      }
      const auto after = std::ranges::lower_bound(launches, record_ns, {}, &Launch::call_begin_ns);
      if (after != launches.begin()) {
        end_ns = std::max(end_ns.value_or(INT64_MIN), std::prev(after)->end_ns);
      }
    }
    return end_ns;
  }

  const trace::Trace& trace_;
  std::map<Stream, std::vector<Launch>> launches_on_stream_;  // in order of the call
  std::map<Stream, std::vector<Wait>> waits_on_stream_;       // in order of the call
};

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
