#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/idle_gaps.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::step_breakdown {
namespace {

using trace::KernelClass;

// BreakDownSteps time by class: where kernels of several classes run together, the one that began
// first has the time until it ends, so that the classes sum to the compute time.
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

MetricResult BreakDownSteps(const RunView& run) {
  std::vector<Share> shares;
  double hidden = 0;
  for (const DeviceView& device : run.devices) {
    AddShares(run, device, shares);
    hidden += Percent(device.total.hidden_communication_ns(), device.total.window_ns).value_or(0) /
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

Value PartsOf(const DeviceView& device) {
  const Breakdown& parts = device.total;
  return DeviceRow(device)
      .Set("compute_ns", parts.compute_ns)
      .Set("exposed_communication_ns", parts.exposed_communication_ns)
      .Set("exposed_memory_ns", parts.exposed_memory_ns)
      .Set("idle_ns", parts.idle_ns)
      .Set("window_ns", parts.window_ns);
}

MetricResult TemporalBreakdown(const RunView& run) {
  MetricResult result = MeanRatio(run, &Breakdown::compute_ns, &Breakdown::window_ns, 100);
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    rows.Add(PartsOf(device));
  }
  result.detail.Set("per_rank", rows);
  return result;
}

struct CauseTotals {
  std::array<std::int64_t, kNumIdleCauses> sum_ns{};
  std::array<std::int64_t, kNumIdleCauses> count{};
};

CauseTotals TotalGaps(const RunView& run, const DeviceView& device) {
  CauseTotals totals;
  for (const IdleGap& gap : FindIdleGaps(run, device)) {
    const auto cause = static_cast<std::size_t>(gap.cause);
    totals.sum_ns[cause] += gap.time.length_ns();
    ++totals.count[cause];
  }
  return totals;
}

Value IdleRow(const RunView& run, const DeviceView& device) {
  const CauseTotals totals = TotalGaps(run, device);
  Value row = DeviceRow(device).Set("idle_ns", device.total.idle_ns);
  for (std::size_t cause = 0; cause < totals.sum_ns.size(); ++cause) {
    const std::string name(IdleCauseName(static_cast<IdleCause>(cause)));
    row.Set(name + "_ns", totals.sum_ns[cause]);
    row.Set(name + "_gaps", totals.count[cause]);
  }
  return row;
}

MetricResult IdleBreakdown(const RunView& run) {
  MetricResult result = MeanRatio(run, &Breakdown::idle_ns, &Breakdown::window_ns, 100);
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    rows.Add(IdleRow(run, device));
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "break_down_steps",
       .meaning = "The step by use: compute classes, waiting, transfer, memory, idle",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "Parts of the window that sum to 100; mean over devices; the number is the "
                     "largest part. Communication under compute is named beside them",
       .compute = &BreakDownSteps},
      {.name = "temporal_breakdown",
       .meaning = "How the step divides into compute, communication, memory and idle time",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "The parts of the device window: some compute kernel runs; communication "
                     "and no compute; copies and sets alone; nothing. They sum to the window. "
                     "The number is the share of compute.",
       .compute = &TemporalBreakdown},
      {.name = "idle_breakdown",
       .meaning = "How long devices do nothing, and why",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition =
           "The time of the device window in which nothing runs. Each gap is told by the "
           "activity that ends it: unknown (its launch was not recorded), host_wait (the call "
           "began after the gap did), launch_overhead (shorter than --launch-gap-us), "
           "dependency (it waited for work elsewhere that ended inside the gap), other.",
       .compute = &IdleBreakdown,
       .better = Better::kLower}};
}

}  // namespace orrery::analyze::step_breakdown
