#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::queue_length {
namespace {

// A launch blocks the host when so many wait in one stream.
constexpr std::int64_t kFullQueue = 1024;

// When work entered the queue of its stream and when it left it.
struct Queue {
  std::vector<std::int64_t> entries_ns;
  std::vector<std::int64_t> exits_ns;
};

struct QueueUse {
  std::int64_t longest = 0;
  std::int64_t full_ns = 0;
  double weighted_ns = 0;  // length times duration
  std::int64_t span_ns = 0;
};

// Work can begin before its call in the recording, by an error of the clocks; then it never
// waited.
std::map<std::int64_t, Queue> QueuesOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  std::map<std::int64_t, Queue> queue_of_stream;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId call = trace.activities.launch[row];
    const RowId track = trace.activities.track[row];
    if (call != kNoRow && track != kNoRow) {
      Queue& queue = queue_of_stream[trace.tracks.thread[track]];
      const std::int64_t entry_ns = trace.runtime_calls.begin_ns[call];
      queue.entries_ns.push_back(entry_ns);
      queue.exits_ns.push_back(std::max(entry_ns, trace.activities.begin_ns[row]));
    }
  });
  return queue_of_stream;
}

// Replays the queue; at one instant work enters before other work leaves.
QueueUse UseOf(Queue queue) {
  std::ranges::sort(queue.entries_ns);
  std::ranges::sort(queue.exits_ns);
  QueueUse use;
  use.span_ns = queue.exits_ns.back() - queue.entries_ns.front();
  std::int64_t length = 0;
  std::int64_t now_ns = queue.entries_ns.front();
  std::size_t entry = 0;
  for (const std::int64_t exit_ns : queue.exits_ns) {
    const auto advance = [&](std::int64_t time_ns) {
      use.weighted_ns += static_cast<double>(length) * static_cast<double>(time_ns - now_ns);
      use.full_ns += length >= kFullQueue ? time_ns - now_ns : 0;
      now_ns = time_ns;
    };
    for (; entry < queue.entries_ns.size() && queue.entries_ns[entry] <= exit_ns; ++entry) {
      advance(queue.entries_ns[entry]);
      use.longest = std::max(use.longest, ++length);
    }
    advance(exit_ns);
    --length;
  }
  return use;
}

Value DescribeUse(std::int64_t stream, const QueueUse& use, std::size_t num_launches) {
  const double mean = use.span_ns > 0 ? use.weighted_ns / static_cast<double>(use.span_ns) : 0.0;
  return Value::Object()
      .Set("stream", stream)
      .Set("launches", num_launches)
      .Set("longest", use.longest)
      .Set("mean_length", mean)
      .Set("full_ns", use.full_ns);
}

MetricResult Compute(const RunView& run) {
  std::int64_t longest = 0;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    Value streams = Value::List();
    for (const auto& [stream, queue] : QueuesOf(run, device)) {
      const QueueUse use = UseOf(queue);
      longest = std::max(longest, use.longest);
      streams.Add(DescribeUse(stream, use, queue.entries_ns.size()));
    }
    rows.Add(DeviceRow(device).Set("streams", std::move(streams)));
  }
  if (longest == 0) {
    return NotAvailable("no launch calls of the work in the selected steps");
  }
  MetricResult result{.value = static_cast<double>(longest)};
  NoteScope(run, result.detail);
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "queue_length",
           .meaning = "How much launched work waits in a stream, at most",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Work enters the queue of its stream when its launch call begins and leaves it when "
               "it begins on the device. The number is the longest queue of any stream; detail has "
               "the mean over time and how long 1,024 or more waited, which blocks the host.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::queue_length
