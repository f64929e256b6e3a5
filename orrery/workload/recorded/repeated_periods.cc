#include "orrery/workload/recorded/repeated_periods.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using trace::Trace;

/// A period with how long host and GPU take for it.
struct TimedPeriod : HostPeriod {
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
};

std::int64_t LaunchBegin(const Trace& recording, RowId activity) {
  const RowId launch = recording.activities.launch[activity];
  return launch == kNoRow ? recording.activities.begin_ns[activity]
                          : recording.runtime_calls.begin_ns[launch];
}

/// Activities in the order of their launches.
std::vector<RowId> LaunchOrder(const Trace& recording) {
  std::vector<RowId> order(recording.activities.size());
  std::iota(order.begin(), order.end(), RowId{0});
  std::ranges::stable_sort(order, {}, [&](RowId row) { return LaunchBegin(recording, row); });
  return order;
}

/// The GPU's time of a period: from the first begin of kernels that are launched in it to that of
/// kernels that are launched behind it on the same stream; as long as the host at least.
std::int64_t DeviceTime(const Trace& recording, const std::vector<RowId>& launch_order,
                        const HostPeriod& period) {
  const std::int64_t host_ns = period.end_ns - period.begin_ns;
  const auto launch_begin = [&](RowId row) { return LaunchBegin(recording, row); };
  const auto first = std::ranges::lower_bound(launch_order, period.begin_ns, {}, launch_begin);
  const auto behind = std::ranges::lower_bound(launch_order, period.end_ns, {}, launch_begin);
  if (first == behind) {
    return host_ns;
  }
  const RowId track = recording.activities.track[*first];
  const auto next = std::find_if(behind, launch_order.end(), [&](RowId row) {
    return recording.activities.track[row] == track;
  });
  return next == launch_order.end() ? host_ns
                                    : std::max(host_ns, recording.activities.begin_ns[*next] -
                                                            recording.activities.begin_ns[*first]);
}

/// The new places of rows of the recording.
class PeriodMap {
 public:
  PeriodMap(const Trace& recording, std::span<const HostPeriod> periods, int copies)
      : copies_(copies) {
    const std::vector<RowId> launch_order = LaunchOrder(recording);
    for (const HostPeriod& period : periods) {
      periods_.push_back(
          {period, period.end_ns - period.begin_ns, DeviceTime(recording, launch_order, period)});
    }
    std::ranges::sort(periods_, {}, &TimedPeriod::end_ns);
    host_before_.push_back(0);
    device_before_.push_back(0);
    for (const TimedPeriod& period : periods_) {
      host_before_.push_back(host_before_.back() + copies * period.host_ns);
      device_before_.push_back(device_before_.back() + copies * period.device_ns);
    }
  }

  [[nodiscard]] int copies() const { return copies_; }

  [[nodiscard]] const std::vector<TimedPeriod>& periods() const { return periods_; }

  /// By how much host rows of a time move.
  [[nodiscard]] std::int64_t HostShift(std::int64_t at_ns) const {
    return host_before_[NumEndedBy(at_ns)];
  }

  /// By how much work on the GPU moves that the host launched at a time.
  [[nodiscard]] std::int64_t DeviceShift(std::int64_t launched_ns) const {
    return device_before_[NumEndedBy(launched_ns)];
  }

  /// The period that a host row lies in.
  [[nodiscard]] const TimedPeriod* Around(RowId track, std::int64_t begin_ns,
                                          std::int64_t end_ns) const {
    for (std::size_t i = NumEndedBy(begin_ns); i < periods_.size(); ++i) {
      const HostPeriod& period = periods_[i];
      if (period.track == track) {
        return period.begin_ns <= begin_ns && end_ns <= period.end_ns ? &periods_[i] : nullptr;
      }
    }
    return nullptr;
  }

 private:
  [[nodiscard]] std::size_t NumEndedBy(std::int64_t at_ns) const {
    return static_cast<std::size_t>(
        std::ranges::upper_bound(periods_, at_ns, {}, &TimedPeriod::end_ns) - periods_.begin());
  }

  int copies_;
  std::vector<TimedPeriod> periods_;  // in order of end
  std::vector<std::int64_t> host_before_;
  std::vector<std::int64_t> device_before_;
};

/// Ids of copies: those of the recording, moved out of the way once for each copy.
struct IdSteps {
  std::int64_t correlation = 1;
  std::int64_t external = 1;

  template <typename Row>
  void Renumber(Row& row, int copy) const {
    if constexpr (requires { row.correlation; }) {
      row.correlation += row.correlation < 0 ? 0 : copy * correlation;
    }
    if constexpr (requires { row.external_id; }) {
      row.external_id += row.external_id < 0 ? 0 : copy * external;
    }
  }
};

IdSteps StepsOf(const Trace& recording) {
  IdSteps steps;
  const auto raise = [](std::int64_t& step, const std::vector<std::int64_t>& ids) {
    step = ids.empty() ? step : std::max(step, *std::ranges::max_element(ids) + 1);
  };
  for (const auto* const ids : {&recording.runtime_calls.correlation,
                                &recording.activities.correlation, &recording.syncs.correlation}) {
    raise(steps.correlation, *ids);
  }
  for (const auto* const ids :
       {&recording.host_ops.external_id, &recording.annotations.external_id,
        &recording.runtime_calls.external_id, &recording.activities.external_id}) {
    raise(steps.external, *ids);
  }
  return steps;
}

/// Follows events over the ends of periods.
class EventMap {
 public:
  EventMap(const Trace& recording, const PeriodMap& map, const IdSteps& ids)
      : map_(map), ids_(ids) {
    for (RowId call = 0; call < recording.runtime_calls.size(); ++call) {
      const std::string_view name = recording.Text(recording.runtime_calls.name[call]);
      if (name.find("EventRecord") != std::string_view::npos) {
        records_of_track_[recording.runtime_calls.track[call]].push_back(
            {recording.runtime_calls.begin_ns[call], recording.runtime_calls.correlation[call]});
      }
    }
    for (const TimedPeriod& period : map.periods()) {
      NotePeriod(period);
    }
  }

  /// The record that a wait refers to if `copy` of the period around the wait makes it; 0 is the
  /// recorded one. `period` is none for waits outside all periods.
  [[nodiscard]] std::int64_t RecordOf(std::int64_t correlation, const TimedPeriod* period,
                                      int copy) const {
    const auto home = period_of_record_.find(correlation);
    if (home != period_of_record_.end()) {
      return correlation + (home->second == period ? copy : map_.copies()) * ids_.correlation;
    }
    const auto next = period == nullptr || copy == 0 ? next_of_record_.end()
                                                     : next_of_record_.find({period, correlation});
    return next == next_of_record_.end() ? correlation
                                         : next->second + (copy - 1) * ids_.correlation;
  }

 private:
  using Record = std::pair<std::int64_t, std::int64_t>;  // begin, correlation

  [[nodiscard]] std::vector<std::int64_t> RecordsIn(RowId track, std::int64_t begin_ns,
                                                    std::int64_t end_ns) const {
    std::vector<std::int64_t> correlations;
    const auto found = records_of_track_.find(track);
    if (found != records_of_track_.end()) {
      for (auto record = std::ranges::lower_bound(found->second, Record{begin_ns, 0});
           record != found->second.end() && record->first < end_ns; ++record) {
        correlations.push_back(record->second);
      }
    }
    return correlations;
  }

  void NotePeriod(const TimedPeriod& period) {
    const auto here = RecordsIn(period.track, period.begin_ns, period.end_ns);
    const auto before = RecordsIn(period.track, period.previous_begin_ns, period.begin_ns);
    for (const std::int64_t correlation : here) {
      period_of_record_[correlation] = &period;
    }
    for (std::size_t i = 0; here.size() == before.size() && i < here.size(); ++i) {
      next_of_record_[{&period, before[i]}] = here[i];
    }
  }

  const PeriodMap& map_;
  const IdSteps& ids_;
  std::map<RowId, std::vector<Record>> records_of_track_;  // in order of begin
  std::map<std::int64_t, const TimedPeriod*> period_of_record_;
  std::map<std::pair<const TimedPeriod*, std::int64_t>, std::int64_t> next_of_record_;
};

class Repeater {
 public:
  Repeater(Trace recording, std::span<const HostPeriod> periods, int copies)
      : recording_(std::move(recording)),
        map_(recording_, periods, copies),
        ids_(StepsOf(recording_)),
        events_(recording_, map_, ids_) {}

  Trace Repeat() {
    trace::Activities activities = RepeatedActivities();
    trace::Syncs syncs = RepeatedSyncs();
    recording_.host_ops = RepeatedHostRows(recording_.host_ops);
    recording_.runtime_calls = RepeatedHostRows(recording_.runtime_calls);
    recording_.annotations = RepeatedHostRows(recording_.annotations);
    recording_.activities = std::move(activities);
    recording_.syncs = std::move(syncs);
    MoveRows(recording_.memory_events);
    MoveRows(recording_.counters);
    MoveRows(recording_.python_calls);
    MoveRows(recording_.instants);
    MoveRows(recording_.other_slices);
    recording_.problems.Loss("collective of a recording whose layers are repeated",
                             static_cast<std::int64_t>(recording_.collectives.size()));
    recording_.collectives = {};
    std::ranges::fill(recording_.host_ops.collective, kNoRow);
    // Rows have new numbers: links are searched again, and their problems are known already.
    std::ranges::fill(recording_.host_ops.forward_op, kNoRow);
    trace::ProblemLog problems = recording_.problems;
    trace::FinishTrace(recording_);
    recording_.problems = std::move(problems);
    return std::move(recording_);
  }

 private:
  template <typename Table>
  [[nodiscard]] Table RepeatedHostRows(const Table& from) const {
    Table into;
    for (RowId number = 0; number < from.size(); ++number) {
      const typename Table::Row row = from.At(number);
      const std::int64_t end_ns = row.begin_ns + row.duration_ns;
      const TimedPeriod* period = map_.Around(row.track, row.begin_ns, end_ns);
      typename Table::Row moved = row;
      moved.begin_ns += map_.HostShift(row.begin_ns);
      if (period == nullptr) {
        moved.duration_ns += map_.HostShift(end_ns) - map_.HostShift(row.begin_ns);
      }
      into.Append(moved);
      for (int copy = 1; period != nullptr && copy <= map_.copies(); ++copy) {
        AppendCopy(into, moved, copy, period->host_ns);
      }
    }
    return into;
  }

  template <typename Table>
  void AppendCopy(Table& into, typename Table::Row row, int copy, std::int64_t period_ns) const {
    row.begin_ns += copy * period_ns;
    ids_.Renumber(row, copy);
    into.Append(row);
  }

  [[nodiscard]] const TimedPeriod* AroundCall(RowId call) const {
    if (call == kNoRow) {
      return nullptr;
    }
    const std::int64_t begin_ns = recording_.runtime_calls.begin_ns[call];
    return map_.Around(recording_.runtime_calls.track[call], begin_ns,
                       begin_ns + recording_.runtime_calls.duration_ns[call]);
  }

  [[nodiscard]] trace::Activities RepeatedActivities() const {
    trace::Activities into;
    for (RowId number = 0; number < recording_.activities.size(); ++number) {
      trace::Activities::Row row = recording_.activities.At(number);
      const TimedPeriod* period = AroundCall(row.launch);
      row.begin_ns += map_.DeviceShift(LaunchBegin(recording_, number));
      row.collective = kNoRow;
      into.Append(row);
      for (int copy = 1; period != nullptr && copy <= map_.copies(); ++copy) {
        AppendCopy(into, row, copy, period->device_ns);
      }
    }
    return into;
  }

  [[nodiscard]] trace::Syncs RepeatedSyncs() const {
    trace::Syncs into;
    for (RowId number = 0; number < recording_.syncs.size(); ++number) {
      const trace::Syncs::Row row = recording_.syncs.At(number);
      const TimedPeriod* period = AroundCall(row.call);
      const std::int64_t called_ns =
          row.call == kNoRow ? row.begin_ns : recording_.runtime_calls.begin_ns[row.call];
      trace::Syncs::Row moved = row;
      moved.begin_ns += map_.DeviceShift(called_ns);
      moved.record_correlation = events_.RecordOf(row.record_correlation, period, 0);
      into.Append(moved);
      for (int copy = 1; period != nullptr && copy <= map_.copies(); ++copy) {
        moved.record_correlation = events_.RecordOf(row.record_correlation, period, copy);
        AppendCopy(into, moved, copy, period->device_ns);
      }
    }
    return into;
  }

  template <typename Table>
  void MoveRows(Table& table) {
    for (RowId row = 0; row < table.size(); ++row) {
      const std::int64_t begin_ns = table.begin_ns[row];
      table.begin_ns[row] += map_.HostShift(begin_ns);
      if constexpr (requires { table.duration_ns; }) {
        table.duration_ns[row] +=
            map_.HostShift(begin_ns + table.duration_ns[row]) - map_.HostShift(begin_ns);
      }
    }
  }

  Trace recording_;
  PeriodMap map_;
  IdSteps ids_;
  EventMap events_;
};

}  // namespace

Trace RepeatPeriods(Trace recording, std::span<const HostPeriod> periods, int copies) {
  return Repeater(std::move(recording), periods, copies).Repeat();
}

}  // namespace orrery::workload
