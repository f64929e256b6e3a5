#include "orrery/workload/recorded/recorded_waits.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using trace::SyncKind;
using trace::Trace;

bool IsEventRecord(std::string_view call) {
  return call.find("EventRecord") != std::string_view::npos;
}

bool IsStreamWait(std::string_view call) {
  return call.find("StreamWaitEvent") != std::string_view::npos;
}

/// When the host made the calls that recorded events, by correlation.
std::unordered_map<std::int64_t, std::int64_t> RecordOrders(const Trace& recording) {
  std::unordered_map<std::int64_t, std::int64_t> orders;
  for (RowId call = 0; call < recording.runtime_calls.size(); ++call) {
    if (IsEventRecord(recording.Text(recording.runtime_calls.name[call]))) {
      orders.emplace(recording.runtime_calls.correlation[call],
                     recording.runtime_calls.begin_ns[call]);
    }
  }
  return orders;
}

/// Finds what streams waited for from the calls of the host and from when work ran.
class WaitInference {
 public:
  explicit WaitInference(const Trace& recording) : step_begins_ns_(recording.steps.begin_ns) {
    const trace::Activities& activities = recording.activities;
    for (RowId row = 0; row < activities.size(); ++row) {
      if (activities.launch[row] != kNoRow && activities.track[row] != kNoRow) {
        launched_.push_back({.launch_ns = recording.runtime_calls.begin_ns[activities.launch[row]],
                             .stream = recording.tracks.thread[activities.track[row]],
                             .begin_ns = activities.begin_ns[row],
                             .end_ns = activities.begin_ns[row] + activities.duration_ns[row]});
      }
    }
    for (RowId call = 0; call < recording.runtime_calls.size(); ++call) {
      const std::string_view name = recording.Text(recording.runtime_calls.name[call]);
      const std::int64_t begin_ns = recording.runtime_calls.begin_ns[call];
      if (IsEventRecord(name)) {
        records_ns_.push_back(begin_ns);
      } else if (IsStreamWait(name)) {
        waits_ns_.push_back(begin_ns);
      }
    }
    std::ranges::stable_sort(launched_, {}, &Launched::launch_ns);
    for (std::vector<std::int64_t>* times : {&records_ns_, &waits_ns_, &step_begins_ns_}) {
      std::ranges::sort(*times);
    }
    for (const Launched& work : launched_) {
      std::vector<Launched>& works = of_stream_[work.stream];
      works.push_back(work);
      works.back().end_ns =
          std::max(work.end_ns, works.size() == 1 ? work.end_ns : works[works.size() - 2].end_ns);
    }
  }

  [[nodiscard]] std::vector<StreamWait> Waits() const {
    std::vector<StreamWait> waits;
    for (const std::int64_t wait_ns : waits_ns_) {
      const auto next = std::ranges::upper_bound(launched_, wait_ns, {}, &Launched::launch_ns);
      if (next == launched_.end()) {
        break;
      }
      for (const auto& [stream, works] : of_stream_) {
        const auto record_ns =
            stream == next->stream ? std::nullopt : EventOf(works, wait_ns, *next);
        if (record_ns) {
          waits.push_back({next->launch_ns, next->stream, {*record_ns, stream}});
        }
      }
    }
    return waits;
  }

 private:
  struct Launched {
    std::int64_t launch_ns = 0;
    std::int64_t stream = 0;
    std::int64_t begin_ns = 0;
    std::int64_t end_ns = 0;  // by stream: of this and all before it
  };

  // When the host recorded the last event before the wait behind which all work of the stream had
  // ended when `next` began; nothing where the stream had none. Events before the last one count
  // only within the step of `next`.
  [[nodiscard]] std::optional<std::int64_t> EventOf(const std::vector<Launched>& works,
                                                    std::int64_t wait_ns,
                                                    const Launched& next) const {
    const auto last = std::ranges::lower_bound(records_ns_, wait_ns);
    const auto running = std::ranges::upper_bound(works, next.begin_ns, {}, &Launched::end_ns);
    const auto end =
        running == works.end()
            ? last
            : std::min(last, std::ranges::upper_bound(records_ns_, running->launch_ns));
    if (end == records_ns_.begin()) {
      return std::nullopt;
    }
    const std::int64_t record_ns = *(end - 1);
    const bool is_asked = end == last || record_ns >= StepBegin(next.launch_ns);
    return is_asked && works.front().launch_ns < record_ns ? std::optional(record_ns)
                                                           : std::nullopt;
  }

  [[nodiscard]] std::int64_t StepBegin(std::int64_t at_ns) const {
    const auto next = std::ranges::upper_bound(step_begins_ns_, at_ns);
    return next == step_begins_ns_.begin() ? std::numeric_limits<std::int64_t>::min() : *(next - 1);
  }

  std::vector<Launched> launched_;  // in the order of the host
  std::map<std::int64_t, std::vector<Launched>> of_stream_;
  std::vector<std::int64_t> records_ns_;
  std::vector<std::int64_t> waits_ns_;
  std::vector<std::int64_t> step_begins_ns_;
};

}  // namespace

RecordedWaits WaitsOf(const Trace& recording) {
  RecordedWaits waits;
  const trace::Syncs& syncs = recording.syncs;
  if (syncs.empty()) {
    waits.of_streams = WaitInference(recording).Waits();
    waits.are_inferred = !waits.of_streams.empty();
    return waits;
  }
  const std::unordered_map<std::int64_t, std::int64_t> order_of_record = RecordOrders(recording);
  for (RowId sync = 0; sync < syncs.size(); ++sync) {
    const RowId call = syncs.call[sync];
    if (call == kNoRow) {
      continue;
    }
    std::optional<StreamEvent> event;
    const auto record = order_of_record.find(syncs.record_correlation[sync]);
    if (record != order_of_record.end() && syncs.wait_on_stream[sync] >= 0) {
      event = {record->second, syncs.wait_on_stream[sync]};
    }
    if (syncs.kind[sync] == SyncKind::kEvent) {
      waits.of_calls[call].event = event;
    } else if (syncs.kind[sync] == SyncKind::kStream) {
      waits.of_calls[call].stream = syncs.stream[sync];
    } else if (syncs.kind[sync] != SyncKind::kStreamWaitEvent) {
      continue;
    } else if (event && syncs.stream[sync] >= 0) {
      waits.of_streams.push_back(
          {recording.runtime_calls.begin_ns[call], syncs.stream[sync], *event});
    } else {
      ++waits.unknown;
    }
  }
  return waits;
}

}  // namespace orrery::workload
