#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::break_down_steps {
namespace {

using trace::KernelClass;

// Compute time by class: where kernels of several classes run together, the one that began first
// has the time until it ends, so that the classes sum to the compute time.
using ClassTimes = std::array<std::int64_t, trace::kNumKernelClasses>;

ClassTimes TimesByClass(const RunView& run, const DeviceView& device) {
  ClassTimes times{};
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  std::int64_t covered_ns = INT64_MIN;
  for (const RowId row : device.activities) {
    const KernelClass kernel_class = run.ClassOf(device, row);
    if (!trace::IsCompute(kernel_class)) {
      continue;
    }
    const std::int64_t begin_ns = std::max(trace.activities.begin_ns[row], covered_ns);
    const std::int64_t end_ns = trace.activities.begin_ns[row] + trace.activities.duration_ns[row];
    if (begin_ns < end_ns) {
      times[static_cast<std::size_t>(kernel_class)] += selected.LengthWithin(begin_ns, end_ns);
      covered_ns = end_ns;
    }
  }
  return times;
}

std::int64_t ExposedWaitNs(const RunView& run, const DeviceView& device) {
  std::vector<Interval> waits;
  std::vector<Interval> transfers;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    waits.push_back({part.time.begin_ns, part.useful_ns});
    transfers.push_back({part.useful_ns, part.time.end_ns});
  }
  // Where one collective waits and another moves data, data moves.
  return Difference(Difference(IntervalSet::Of(waits), IntervalSet::Of(transfers)), device.compute)
      .length_ns();
}

struct Share {
  std::string name;
  double percent = 0;
};

void AddShares(const RunView& run, const DeviceView& device, std::vector<Share>& shares) {
  const ClassTimes times = TimesByClass(run, device);
  const std::int64_t wait_ns = ExposedWaitNs(run, device);
  const Breakdown& total = device.total;
  const double scale = total.window_ns == 0 ? 0 : 100.0 / static_cast<double>(total.window_ns);
  std::size_t place = 0;
  const auto add = [&](std::string name, std::int64_t ns) {
    if (place == shares.size()) {
      shares.push_back({std::move(name)});
    }
    shares[place++].percent +=
        static_cast<double>(ns) * scale / static_cast<double>(run.devices.size());
  };
  add("exposed communication, waiting", wait_ns);
  add("exposed communication, transfer", total.exposed_communication_ns - wait_ns);
  add("exposed memory", total.exposed_memory_ns);
  add("idle", total.idle_ns);
  for (std::size_t i = 0; i < times.size(); ++i) {
    add(std::string(trace::KernelClassName(static_cast<KernelClass>(i))), times[i]);
  }
}

MetricResult Compute(const RunView& run) {
  std::vector<Share> shares;
  double hidden = 0;
  for (const DeviceView& device : run.devices) {
    AddShares(run, device, shares);
    hidden += Percent(device.total.communication_ns - device.total.exposed_communication_ns,
                      device.total.window_ns)
                  .value_or(0) /
              static_cast<double>(run.devices.size());
  }
  std::ranges::stable_sort(shares, std::greater<>(), &Share::percent);
  MetricResult result{.value = shares.front().percent};
  NoteScope(run, result.detail);
  Value rows = Value::List();
  for (const Share& share : shares) {
    if (share.percent > 0) {
      rows.Add(Value::Object().Set("part", share.name).Set("percent", share.percent));
    }
  }
  result.detail.Set("parts", std::move(rows));
  result.detail.Set("hidden_communication_percent", hidden);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "break_down_steps",
           .meaning = "The step by use: compute classes, waiting, transfer, memory, idle",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Parts of the window that sum to 100; mean over devices; the number is the "
               "largest part. Communication under compute is named beside them",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::break_down_steps
