#include "orrery/analyze/awaited_work.h"

#include <algorithm>
#include <iterator>

#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

using trace::SyncKind;

bool IsWait(const trace::Syncs& syncs, RowId row) {
  return syncs.kind[row] == SyncKind::kStreamWaitEvent && syncs.call[row] != kNoRow &&
         syncs.record_correlation[row] >= 0;
}

}  // namespace

AwaitedWork::AwaitedWork(const trace::Trace& trace) : trace_(trace) {
  if (std::ranges::count(trace.syncs.kind, SyncKind::kStreamWaitEvent) > 0) {
    IndexLaunches();
    IndexWaits();
  }
}

void AwaitedWork::IndexLaunches() {
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

void AwaitedWork::IndexWaits() {
  const trace::RowIndex calls(trace_.runtime_calls.correlation);
  const trace::Syncs& syncs = trace_.syncs;
  for (RowId row = 0; row < syncs.size(); ++row) {
    const RowId record = IsWait(syncs, row) ? calls.First(syncs.record_correlation[row]) : kNoRow;
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

// The stream's device is not recorded, so all devices with such a stream are asked.
std::optional<std::int64_t> AwaitedWork::EndBefore(std::int64_t stream,
                                                   std::int64_t record_ns) const {
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

std::optional<std::int64_t> AwaitedWork::EndNs(RowId activity) const {
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

}  // namespace orrery::analyze
