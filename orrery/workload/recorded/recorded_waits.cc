#include "orrery/workload/recorded/recorded_waits.h"

#include <unordered_map>

namespace orrery::workload {
namespace {

using trace::SyncKind;
using trace::Trace;

/// When the host made the calls that recorded events, by correlation.
std::unordered_map<std::int64_t, std::int64_t> RecordOrders(const Trace& recording) {
  std::unordered_map<std::int64_t, std::int64_t> orders;
  for (RowId call = 0; call < recording.runtime_calls.size(); ++call) {
    const std::string_view name = recording.Text(recording.runtime_calls.name[call]);
    if (name.find("EventRecord") != std::string_view::npos) {
      orders.emplace(recording.runtime_calls.correlation[call],
                     recording.runtime_calls.begin_ns[call]);
    }
  }
  return orders;
}

class WaitCollector {
 public:
  explicit WaitCollector(const Trace& recording)
      : recording_(recording), record_orders_(RecordOrders(recording)) {}

  RecordedWaits Collect() {
    for (RowId sync = 0; sync < recording_.syncs.size(); ++sync) {
      Add(sync);
    }
    return std::move(waits_);
  }

 private:
  void Add(RowId sync) {
    const RowId call = recording_.syncs.call[sync];
    if (call == kNoRow) {
      return;
    }
    switch (recording_.syncs.kind[sync]) {
      case SyncKind::kStreamWaitEvent:
        AddStreamWait(sync, recording_.runtime_calls.begin_ns[call]);
        return;
      case SyncKind::kEvent:
        waits_.of_calls[call].event = EventOf(sync);
        return;
      case SyncKind::kStream:
        waits_.of_calls[call].stream = recording_.syncs.stream[sync];
        return;
      default:
        return;
    }
  }

  void AddStreamWait(RowId sync, std::int64_t order) {
    const std::int64_t stream = recording_.syncs.stream[sync];
    const std::optional<StreamEvent> event = EventOf(sync);
    if (!event || stream < 0) {
      ++waits_.unknown;
      return;
    }
    waits_.of_streams.push_back({order, stream, *event});
  }

  [[nodiscard]] std::optional<StreamEvent> EventOf(RowId sync) const {
    const auto record = record_orders_.find(recording_.syncs.record_correlation[sync]);
    if (record == record_orders_.end() || recording_.syncs.wait_on_stream[sync] < 0) {
      return std::nullopt;
    }
    return StreamEvent{record->second, recording_.syncs.wait_on_stream[sync]};
  }

  const Trace& recording_;
  std::unordered_map<std::int64_t, std::int64_t> record_orders_;
  RecordedWaits waits_;
};

}  // namespace

RecordedWaits WaitsOf(const Trace& recording) {
  if (recording.syncs.empty()) {
    return {};
  }
  return WaitCollector(recording).Collect();
}

}  // namespace orrery::workload
