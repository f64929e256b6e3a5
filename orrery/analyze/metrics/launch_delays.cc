#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/statistics.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze::launch_delays {
namespace {

using trace::ActivityKind;
using trace::CopyKind;

// Describes values for a detail: count, mean, min, p50, p90, p99, max; without values the count
// alone.
Value Distribution(std::vector<double> values) {
  Value described = Value::Object();
  described.Set("count", values.size());
  if (values.empty()) {
    return described;
  }
  std::ranges::sort(values);
  return described.Set("mean", Mean(values))
      .Set("min", values.front())
      .Set("p50", Quantile(values, 0.5))
      .Set("p90", Quantile(values, 0.9))
      .Set("p99", Quantile(values, 0.99))
      .Set("max", values.back());
}

// Limits above which a call or a delay is reported, as in Holistic Trace Analysis.
constexpr std::int64_t kLongCallNs = 50'000;
constexpr std::int64_t kLongDelayNs = 100'000;

struct Launches {
  std::vector<double> delays_us;  // from the end of the call to the begin of the work
  std::vector<double> calls_us;   // each call once
  std::vector<double> work_us;
  std::int64_t num_short = 0;  // the work is over faster than the call
  std::int64_t num_long_calls = 0;
  std::int64_t num_long_delays = 0;
  std::int64_t num_unknown = 0;  // their launch was not recorded
  std::map<std::string_view, std::vector<double>> delays_of_call_us;
};

double Microseconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1000.0;
}

Launches LaunchesOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  Launches launches;
  std::vector<bool> is_known(trace.runtime_calls.size(), false);
  ForEachSelected(run, device, [&](RowId row) {
    const RowId call = trace.activities.launch[row];
    if (call == kNoRow) {
      ++launches.num_unknown;
      return;
    }
    // A graph is one call with much work.
    if (!is_known[call]) {
      is_known[call] = true;
      launches.calls_us.push_back(Microseconds(trace.runtime_calls.duration_ns[call]));
      launches.num_long_calls += trace.runtime_calls.duration_ns[call] > kLongCallNs ? 1 : 0;
    }
    const std::int64_t call_ns = trace.runtime_calls.duration_ns[call];
    const std::int64_t work_ns = trace.activities.duration_ns[row];
    const std::int64_t delay_ns = std::max<std::int64_t>(
        0, trace.activities.begin_ns[row] - trace.runtime_calls.begin_ns[call] - call_ns);
    launches.delays_us.push_back(Microseconds(delay_ns));
    launches.work_us.push_back(Microseconds(work_ns));
    launches.num_short += work_ns < call_ns ? 1 : 0;
    launches.num_long_delays += delay_ns > kLongDelayNs ? 1 : 0;
    launches.delays_of_call_us[trace.Text(trace.runtime_calls.name[call])].push_back(
        Microseconds(delay_ns));
  });
  return launches;
}

MetricResult LaunchStats(const RunView& run) {
  Value rows = Value::List();
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const Launches launches = LaunchesOf(run, device);
        Value calls = Value::Object();
        for (const auto& [name, delays_us] : launches.delays_of_call_us) {
          calls.Set(name, Distribution(delays_us));
        }
        rows.Add(DeviceRow(device)
                     .Set("delay_us", Distribution(launches.delays_us))
                     .Set("call_us", Distribution(launches.calls_us))
                     .Set("work_us", Distribution(launches.work_us))
                     .Set("work_shorter_than_call", launches.num_short)
                     .Set("calls_over_50_us", launches.num_long_calls)
                     .Set("delays_over_100_us", launches.num_long_delays)
                     .Set("launch_not_recorded", launches.num_unknown)
                     .Set("delay_us_by_call", calls));
        return launches.delays_us.empty() ? std::nullopt
                                          : std::optional(Median(launches.delays_us));
      });
  if (!result.is_ok()) {
    return NotAvailable("no launch calls of the work in the selected steps");
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

constexpr std::size_t kNumOperatorsShown = 20;

// Delays of the work that one operator launched.
struct OperatorDelay {
  std::int64_t count = 0;
  std::int64_t to_launch_ns = 0;
  std::int64_t to_work_ns = 0;

  [[nodiscard]] std::int64_t total_ns() const { return to_launch_ns + to_work_ns; }

  OperatorDelay& operator+=(const OperatorDelay& other) {
    count += other.count;
    to_launch_ns += other.to_launch_ns;
    to_work_ns += other.to_work_ns;
    return *this;
  }
};

using DelayOfOperator = std::map<std::string_view, OperatorDelay>;

struct Delays {
  std::vector<double> to_launch_us;
  std::vector<double> to_work_us;
  std::vector<double> total_us;
  std::map<StringId, OperatorDelay> delay_of_name;

  void Add(StringId name, const OperatorDelay& delay) {
    to_launch_us.push_back(static_cast<double>(delay.to_launch_ns) / 1000.0);
    to_work_us.push_back(static_cast<double>(delay.to_work_ns) / 1000.0);
    total_us.push_back(static_cast<double>(delay.total_ns()) / 1000.0);
    delay_of_name[name] += delay;
  }
};

// A call by the deepest operator around it. Work that begins before its call in the recording, by
// an error of the clocks, has no delay.
Delays DelaysOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  Delays delays;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId call = trace.activities.launch[row];
    const RowId op = call == kNoRow ? kNoRow : trace.runtime_calls.host_op[call];
    if (op != kNoRow) {
      const std::int64_t call_ns = trace.runtime_calls.begin_ns[call];
      const auto from = [](std::int64_t begin, std::int64_t end) {
        return std::max<std::int64_t>(0, end - begin);
      };
      delays.Add(trace.host_ops.name[op],
                 {.count = 1,
                  .to_launch_ns = from(trace.host_ops.begin_ns[op], call_ns),
                  .to_work_ns = from(call_ns, trace.activities.begin_ns[row])});
    }
  });
  return delays;
}

MetricResult OperatorDelays(const RunView& run) {
  DelayOfOperator delay_of_operator;
  Value rows = Value::List();
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const Delays delays = DelaysOf(run, device);
        for (const auto& [name, delay] : delays.delay_of_name) {
          delay_of_operator[run.TraceOf(device).Text(name)] += delay;
        }
        rows.Add(DeviceRow(device)
                     .Set("operator_to_launch_us", Distribution(delays.to_launch_us))
                     .Set("launch_to_work_us", Distribution(delays.to_work_us))
                     .Set("total_us", Distribution(delays.total_us)));
        return delays.total_us.empty() ? std::nullopt : std::optional(Median(delays.total_us));
      });
  if (!result.is_ok()) {
    return NotAvailable("no operator is known for the work in the selected steps");
  }
  result.detail.Set("per_rank", std::move(rows));
  std::vector<std::pair<std::string_view, OperatorDelay>> sorted(delay_of_operator.begin(),
                                                                 delay_of_operator.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& entry) { return entry.second.total_ns(); });
  sorted.resize(std::min(sorted.size(), kNumOperatorsShown));
  Value operators = Value::List();
  for (const auto& [name, delay] : sorted) {
    const auto count = static_cast<double>(delay.count);
    operators.Add(
        Value::Object()
            .Set("operator", name)
            .Set("count", delay.count)
            .Set("mean_to_launch_us", static_cast<double>(delay.to_launch_ns) / count / 1000.0)
            .Set("mean_to_work_us", static_cast<double>(delay.to_work_ns) / count / 1000.0));
  }
  result.detail.Set("operators", operators);
  return result;
}

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

MetricResult QueueLength(const RunView& run) {
  std::int64_t longest = 0;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    Value streams = Value::List();
    for (const auto& [stream, queue] : QueuesOf(run, device)) {
      const QueueUse use = UseOf(queue);
      longest = std::max(longest, use.longest);
      const double mean =
          use.span_ns > 0 ? use.weighted_ns / static_cast<double>(use.span_ns) : 0.0;
      streams.Add(Value::Object()
                      .Set("stream", stream)
                      .Set("launches", queue.entries_ns.size())
                      .Set("longest", use.longest)
                      .Set("mean_length", mean)
                      .Set("full_ns", use.full_ns));
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

struct Moved {
  std::int64_t count = 0;
  std::int64_t bytes = 0;
  std::int64_t ns = 0;
  double sum_of_rates = 0;  // bytes per ns, which is GB/s
  double fastest = 0;

  void Add(std::int64_t more_bytes, std::int64_t more_ns) {
    const double rate = static_cast<double>(more_bytes) / static_cast<double>(more_ns);
    ++count;
    bytes += more_bytes;
    ns += more_ns;
    sum_of_rates += rate;
    fastest = std::max(fastest, rate);
  }

  [[nodiscard]] double GigabytesPerSecond() const {
    return static_cast<double>(bytes) / static_cast<double>(ns);
  }

  [[nodiscard]] Value Row(std::string_view name) const {
    return Value::Object()
        .Set("kind", name)
        .Set("count", count)
        .Set("bytes", bytes)
        .Set("seconds", static_cast<double>(ns) / 1e9)
        .Set("GB_per_s", GigabytesPerSecond())
        .Set("mean_GB_per_s", sum_of_rates / static_cast<double>(count))
        .Set("max_GB_per_s", fastest);
  }
};

// By kind; sets stand where copies have "none".
using MovedByKind = std::array<Moved, kNumCopyKinds>;

void AddDevice(const RunView& run, const DeviceView& device, MovedByKind& by_kind, Moved& copies) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  ForEachSelected(run, device, [&](RowId row) {
    const std::int64_t bytes = activities.bytes[row];
    const std::int64_t ns = activities.duration_ns[row];
    const bool is_copy = activities.kind[row] == ActivityKind::kMemcpy;
    if (bytes > 0 && ns > 0 && (is_copy || activities.kind[row] == ActivityKind::kMemset)) {
      by_kind[static_cast<std::size_t>(CopyKindOf(activities, row))].Add(bytes, ns);
      if (is_copy) {
        copies.Add(bytes, ns);
      }
    }
  });
}

MetricResult AverageMemoryBandwidth(const RunView& run) {
  MovedByKind by_kind;
  Moved copies;
  for (const DeviceView& device : run.devices) {
    AddDevice(run, device, by_kind, copies);
  }
  if (copies.count == 0) {
    return NotAvailable("no copies in the selected steps");
  }
  Value rows = Value::List();
  for (std::size_t kind = 0; kind < by_kind.size(); ++kind) {
    if (by_kind[kind].count > 0) {
      rows.Add(by_kind[kind].Row(CopyKindName(static_cast<CopyKind>(kind))));
    }
  }
  MetricResult result{.value = copies.GigabytesPerSecond()};
  result.detail.Set("by_kind", std::move(rows));
  return result;
}

MetricResult EstimatedBandwidth(const RunView& run) {
  WorkCoverage coverage;
  std::int64_t kernels = 0;
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const WorkTotal work = TotalWork(run, device);
        coverage.known_ns += work.bytes_ns;
        coverage.compute_ns += work.compute_ns;
        coverage.is_from_shapes |= work.is_from_shapes;
        kernels += work.kernels_with_bytes;
        const auto window_ns = static_cast<double>(device.total.window_ns);
        return window_ns == 0 ? std::nullopt : std::optional(work.bytes / window_ns);
      });
  if (kernels == 0) {
    return NotAvailable("no byte counts");
  }
  result.detail.Set("estimated", true);
  coverage.Describe("kernels_with_bytes", kernels, result.detail);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"launch_stats", "Delay from a launch call to the start of its work", "µs", &LaunchStats},
      {"operator_delays", "Delay from an operator to its work on the device", "µs",
       &OperatorDelays},
      {"queue_length", "Longest queue of launched work in a stream", "", &QueueLength},
      {"average_memory_bandwidth", "Bandwidth of memcpys, by kind", "GB/s", &AverageMemoryBandwidth,
       Better::kHigher, "GPU activity, copies", Alias("memory_bandwidth")},
      {"memory_transfer_overhead", "Share of the step in which only memcpys and memsets run", "%",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::exposed_memory_ns, &Breakdown::window_ns, 100);
       },
       Better::kLowerTime},
      {"estimated_bandwidth", "Bytes that the kernels have to move / time of the steps", "GB/s",
       &EstimatedBandwidth}};
}

}  // namespace orrery::analyze::launch_delays
