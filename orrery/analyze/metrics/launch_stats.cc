#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/distribution.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/selected_rows.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::launch_stats {
namespace {


// What is worth a look; the limits are those of Holistic Trace Analysis.
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

void AddCall(std::int64_t call_ns, Launches& launches) {
  launches.calls_us.push_back(Microseconds(call_ns));
  launches.num_long_calls += call_ns > kLongCallNs ? 1 : 0;
}

void AddDelay(const trace::Trace& trace, RowId row, RowId call, Launches& launches) {
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
      AddCall(trace.runtime_calls.duration_ns[call], launches);
    }
    AddDelay(trace, row, call, launches);
  });
  return launches;
}

Value DescribeCalls(const Launches& launches) {
  Value calls = Value::Object();
  for (const auto& [name, delays_us] : launches.delays_of_call_us) {
    calls.Set(name, Distribution(delays_us));
  }
  return calls;
}

Value DescribeLaunches(const DeviceView& device, const Launches& launches) {
  return DeviceRow(device)
      .Set("delay_us", Distribution(launches.delays_us))
      .Set("call_us", Distribution(launches.calls_us))
      .Set("work_us", Distribution(launches.work_us))
      .Set("work_shorter_than_call", launches.num_short)
      .Set("calls_over_50_us", launches.num_long_calls)
      .Set("delays_over_100_us", launches.num_long_delays)
      .Set("launch_not_recorded", launches.num_unknown)
      .Set("delay_us_by_call", DescribeCalls(launches));
}

MetricResult Compute(const RunView& run) {
  Value rows = Value::List();
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const Launches launches = LaunchesOf(run, device);
        rows.Add(DescribeLaunches(device, launches));
        return launches.delays_us.empty() ? std::nullopt
                                          : std::optional(Median(launches.delays_us));
      });
  if (!result.is_ok()) {
    return NotAvailable("no launch calls of the work in the selected steps");
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "launch_stats",
           .meaning = "How long work waits between its launch and its begin",
           .unit = "µs",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Over all launch calls (runtime, driver, graphs, copies): the time from the end of "
               "the call to the begin of the work on the device, 0 when the work begins earlier. "
               "The number is the median of a device, mean over devices.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::launch_stats
