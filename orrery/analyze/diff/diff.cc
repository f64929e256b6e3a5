#include "orrery/analyze/diff/diff.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/collective/collective_lanes.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze::diff {
namespace {

// The largest use of memory that the framework's allocator reported, by "gpu allocated", …
using MemoryPeaks = std::map<std::string, std::int64_t>;

Cost PerStep(const Cost& total, double num_steps) {
  return {.count = total.count / num_steps,
          .device_ns = total.device_ns / num_steps,
          .host_ns = total.host_ns / num_steps,
          .wait_ns = total.wait_ns / num_steps,
          .bytes = total.bytes / num_steps};
}

using trace::Trace;

// 115 is 15 % more than 100 also where the division says 15.000000000000002.
constexpr double kRounding = 1e-9;

constexpr std::array<std::string_view, 4> kVerdictNames{"–", "same", "better", "worse"};

// The amounts that decide whether a metric became better or worse.
struct Amounts {
  double before = 0;
  double after = 0;
};

Amounts AmountsOf(const MetricChange& change) {
  const bool is_time =
      change.better == Better::kLowerTime && change.step_before_ns > 0 && change.step_after_ns > 0;
  return {*change.before * (is_time ? change.step_before_ns : 1),
          *change.after * (is_time ? change.step_after_ns : 1)};
}

MetricChange CompareMetric(const NamedMetric& named, const RunView& before, const RunView& after) {
  const MetricResult first = Evaluate(named, before);
  const MetricResult second = Evaluate(named, after);
  return {.name = std::string(named.name()),
          .unit = std::string(named.unit()),
          .better = named.metric->better,
          .before = first.value,
          .after = second.value,
          .reason_before = first.reason,
          .reason_after = second.reason};
}

std::string_view KindName(trace::DeviceKind kind) {
  switch (kind) {
    case trace::DeviceKind::kCpu:
      return "cpu";
    case trace::DeviceKind::kGpu:
      return "gpu";
    case trace::DeviceKind::kOther:
      break;
  }
  return "other";
}

void Raise(MemoryPeaks& peaks, std::string_view device, std::string_view what, std::int64_t bytes) {
  if (bytes >= 0) {
    std::int64_t& peak = peaks[fmt::format("{} {}", device, what)];
    peak = std::max(peak, bytes);
  }
}

constexpr double kUnchangedShare = 0.01;

constexpr std::array<std::string_view, 5> kChangeNames{"unchanged", "added", "deleted", "increased",
                                                       "decreased"};

struct Pair {
  const NamedCost* before = nullptr;
  const NamedCost* after = nullptr;
};

bool HasDeviceTime(const CostChange& change) {
  return change.before.device_ns > 0 || change.after.device_ns > 0;
}

Change ChangeOfTime(const CostChange& change) {
  if (HasDeviceTime(change)) {
    return ChangeOf(change.before.device_ns, change.after.device_ns);
  }
  return (change.before.host_ns > 0 || change.after.host_ns > 0)
             ? ChangeOf(change.before.host_ns, change.after.host_ns)
             : ChangeOf(change.before.count, change.after.count);
}

std::vector<NamedCost> ToList(const std::map<std::string, Cost>& costs, double num_steps) {
  std::vector<NamedCost> list;
  list.reserve(costs.size());
  for (const auto& [name, cost] : costs) {
    list.push_back({.name = name, .cost = PerStep(cost, num_steps)});
  }
  return list;
}

void AddCollectives(const RunView& run, const DeviceView& device,
                    std::map<std::string, Cost>& costs) {
  const trace::Trace& trace = run.TraceOf(device);
  RowId previous = kNoRow;
  ForEachCollective(run, device, [&](RowId row) {
    Cost& cost = costs[std::string(CollectiveKindName(trace.collectives.kind[row]))];
    const bool is_new = previous == kNoRow || !AreServedTogether(trace.collectives, previous, row);
    previous = row;
    cost.bytes +=
        static_cast<double>(std::max<std::int64_t>(trace::EventOfRow(trace, row).bytes, 0));
    if (is_new) {
      cost += {
          .count = 1,
          .device_ns = static_cast<double>(trace.collectives.duration_ns[row]),
          .wait_ns = static_cast<double>(run.waits.WaitOfRow(run.matched, device.rank_index, row))};
    }
  });
}

void AddCopies(const RunView& run, const DeviceView& device, std::map<std::string, Cost>& costs) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  ForEachSelected(run, device, [&](RowId row) {
    if (run.ClassOf(device, row) == trace::KernelClass::kMemory) {
      costs[std::string(CopyKindName(CopyKindOf(activities, row)))] +=
          {.count = 1,
           .device_ns = static_cast<double>(activities.duration_ns[row]),
           .bytes = static_cast<double>(std::max<std::int64_t>(activities.bytes[row], 0))};
    }
  });
}

/// By the interned name of a rank's operators.
using CostOfName = std::vector<Cost>;

struct RankCosts {
  CostOfName host;
  CostOfName device;
};

CostOfName HostCosts(const Trace& trace, const AnalyzeOptions& options) {
  CostOfName costs(trace.strings.size());
  // The markers of the selected steps; everything where the recording has none.
  std::vector<Interval> markers;
  for (const RowId step : SelectedSteps(trace, options)) {
    const std::int64_t begin_ns = trace.steps.begin_ns[step];
    markers.push_back({begin_ns, begin_ns + trace.steps.duration_ns[step]});
  }
  if (trace.steps.empty()) {
    const trace::Span span = trace::RecordedSpan(trace);
    markers.push_back({span.begin_ns, span.end_ns + 1});
  }
  const IntervalSet windows = IntervalSet::Of(markers);
  std::vector<std::int64_t> inside_ns(trace.host_ops.size(), 0);
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    if (trace.host_ops.parent[row] != kNoRow) {
      inside_ns[trace.host_ops.parent[row]] += trace.host_ops.duration_ns[row];
    }
  }
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    const std::int64_t begin_ns = trace.host_ops.begin_ns[row];
    if (windows.LengthWithin(begin_ns, begin_ns + 1) > 0) {
      const std::int64_t own_ns = trace.host_ops.duration_ns[row] - inside_ns[row];
      costs[static_cast<std::size_t>(trace.host_ops.name[row])] +=
          {.count = 1, .host_ns = static_cast<double>(std::max<std::int64_t>(own_ns, 0))};
    }
  }
  return costs;
}

CostOfName DeviceCosts(const RunView& run, std::uint32_t rank_index) {
  const Trace& trace = run.set->ranks[rank_index];
  CostOfName costs(trace.strings.size());
  for (const DeviceView& device : run.devices) {
    if (device.rank_index != rank_index) {
      continue;
    }
    ForEachSelected(run, device, [&](RowId row) {
      const RowId op = trace.activities.host_op[row];
      if (op != kNoRow) {
        costs[static_cast<std::size_t>(trace.host_ops.name[op])].device_ns +=
            static_cast<double>(trace.activities.duration_ns[row]);
      }
    });
  }
  return costs;
}

void AddPerStep(const Trace& trace, const CostOfName& costs, double num_steps,
                std::map<std::string_view, Cost>& into) {
  for (std::size_t name = 0; name < costs.size(); ++name) {
    if (costs[name] != Cost{}) {
      into[trace.Text(static_cast<StringId>(name))] += PerStep(costs[name], num_steps);
    }
  }
}

// Returns the number of steps of all devices of the run together, at least 1.
double NumDeviceSteps(const RunView& run) {
  std::int64_t steps = 0;
  for (const DeviceView& device : run.devices) {
    steps += NumSteps(device);
  }
  return static_cast<double>(std::max<std::int64_t>(steps, 1));
}

// Kernels by name or class, each with its class. Times are clipped to the windows of the steps.
std::vector<NamedCost> CostsOf(const std::vector<KernelTotal>& kernels, double num_steps) {
  std::vector<NamedCost> costs;
  for (const KernelTotal& kernel : kernels) {
    const Cost total{.count = static_cast<double>(kernel.durations.count),
                     .device_ns = static_cast<double>(kernel.durations.sum_ns),
                     .wait_ns = static_cast<double>(kernel.wait_ns)};
    costs.push_back({.name = std::string(kernel.name),
                     .cost = PerStep(total, num_steps),
                     .kernel_class = std::string(trace::KernelClassName(kernel.kernel_class))});
  }
  return costs;
}

std::vector<NamedCost> KernelCosts(const RunView& run) {
  return CostsOf(TotalKernels(run), NumDeviceSteps(run));
}

// Kernels by class ("gemm", …), so that a kernel that changed its name does not hide what its work
// costs.
std::vector<NamedCost> KernelClassCosts(const RunView& run) {
  std::vector<NamedCost> costs = CostsOf(TotalKernelClasses(run), NumDeviceSteps(run));
  for (NamedCost& cost : costs) {
    cost.kernel_class.clear();  // it is the name
  }
  return costs;
}

// Collectives that ran on a device, by kind ("all_reduce", …). Calls that one kernel serves count
// once; their bytes add up.
std::vector<NamedCost> CollectiveCosts(const RunView& run) {
  std::map<std::string, Cost> costs;
  for (const DeviceView& device : run.devices) {
    AddCollectives(run, device, costs);
  }
  return ToList(costs, NumDeviceSteps(run));
}

// Copies by kind ("HtoD", …), and "set".
std::vector<NamedCost> CopyCosts(const RunView& run) {
  std::map<std::string, Cost> costs;
  for (const DeviceView& device : run.devices) {
    AddCopies(run, device, costs);
  }
  return ToList(costs, NumDeviceSteps(run));
}

// Operators of the framework by name. The device time is that of the work that the operator itself
// launched, not of operators inside it; host and device times therefore add up over names.
std::vector<NamedCost> OperatorCosts(const RunView& run) {
  const std::vector<std::uint32_t> ranks = ChosenRanks(run);
  std::vector<RankCosts> of_rank(ranks.size());
  ParallelFor(ranks.size(), run.options.threads, [&](std::size_t i) {
    of_rank[i] = {.host = HostCosts(run.set->ranks[ranks[i]], run.options),
                  .device = DeviceCosts(run, ranks[i])};
  });
  std::size_t steps = 0;
  for (const std::uint32_t rank : ranks) {
    steps += std::max<std::size_t>(SelectedSteps(run.set->ranks[rank], run.options).size(), 1);
  }
  std::map<std::string_view, Cost> costs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Trace& trace = run.set->ranks[ranks[i]];
    AddPerStep(trace, of_rank[i].host, static_cast<double>(std::max<std::size_t>(steps, 1)), costs);
    AddPerStep(trace, of_rank[i].device, NumDeviceSteps(run), costs);
  }
  std::vector<NamedCost> list;
  for (const auto& [name, cost] : costs) {
    list.push_back({.name = std::string(name), .cost = cost});
  }
  return list;
}

StepParts MeasureStepParts(const RunView& run) {
  Breakdown total;
  for (const DeviceView& device : run.devices) {
    total += device.total;
  }
  const double num_steps = NumDeviceSteps(run);
  const auto per_step = [&](std::int64_t ns) { return static_cast<double>(ns) / num_steps; };
  StepParts parts{.window_ns = per_step(total.window_ns),
                  .compute_ns = per_step(total.compute_ns),
                  .exposed_communication_ns = per_step(total.exposed_communication_ns),
                  .exposed_memory_ns = per_step(total.exposed_memory_ns),
                  .idle_ns = per_step(total.idle_ns),
                  .num_ranks = ChosenRanks(run).size()};
  const StepTime time = MeasureStepTime(run);
  for (const RankSteps& rank : time.ranks) {
    parts.num_steps = std::max(parts.num_steps, rank.seconds.size());
  }
  if (time.seconds) {
    parts.step_ns = *time.seconds * 1e9;
  }
  bool is_device_time = false;
  parts.span_ns = static_cast<double>(RecordedTime(run, is_device_time).length_ns());
  return parts;
}

// Returns the peaks over the whole recording, each of the chosen rank that uses most; empty where
// no memory events were recorded.
MemoryPeaks PeakMemory(const RunView& run) {
  MemoryPeaks peaks;
  for (const std::uint32_t rank : ChosenRanks(run)) {
    const trace::MemoryEvents& events = run.set->ranks[rank].memory_events;
    for (RowId row = 0; row < events.size(); ++row) {
      const std::string_view device = KindName(events.device_kind[row]);
      Raise(peaks, device, "allocated", events.total_allocated_bytes[row]);
      Raise(peaks, device, "reserved", events.total_reserved_bytes[row]);
    }
  }
  return peaks;
}

// Joins the peaks of two runs. What only one run recorded is neither added nor deleted: nothing is
// known of the other.
std::vector<MemoryChange> MatchMemory(const MemoryPeaks& before, const MemoryPeaks& after) {
  std::map<std::string, MemoryChange> changes;
  for (const auto& [name, bytes] : before) {
    changes[name].before_bytes = bytes;
  }
  for (const auto& [name, bytes] : after) {
    changes[name].after_bytes = bytes;
  }
  std::vector<MemoryChange> list;
  for (auto& [name, change] : changes) {
    change.name = name;
    if (change.before_bytes && change.after_bytes) {
      change.change = ChangeOf(static_cast<double>(*change.before_bytes),
                               static_cast<double>(*change.after_bytes));
    }
    list.push_back(change);
  }
  return list;
}

std::vector<MetricChange> CompareMetrics(const RunView& before, const RunView& after,
                                         const std::vector<NamedMetric>& metrics) {
  std::vector<MetricChange> changes(metrics.size());
  ParallelFor(metrics.size(), before.options.threads,
              [&](std::size_t i) { changes[i] = CompareMetric(metrics[i], before, after); });
  return changes;
}

}  // namespace

std::vector<CostChange> MatchCosts(const std::vector<NamedCost>& before,
                                   const std::vector<NamedCost>& after) {
  std::map<std::string_view, Pair> pairs;
  for (const NamedCost& named : before) {
    pairs[named.name].before = &named;
  }
  for (const NamedCost& named : after) {
    pairs[named.name].after = &named;
  }
  std::vector<CostChange> changes;
  changes.reserve(pairs.size());
  for (const auto& [name, pair] : pairs) {
    const NamedCost& known = pair.before != nullptr ? *pair.before : *pair.after;
    CostChange change{.name = known.name, .kernel_class = known.kernel_class};
    change.before = pair.before != nullptr ? pair.before->cost : Cost{};
    change.after = pair.after != nullptr ? pair.after->cost : Cost{};
    change.change = pair.before == nullptr  ? Change::kAdded
                    : pair.after == nullptr ? Change::kDeleted
                                            : ChangeOfTime(change);
    changes.push_back(change);
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const CostChange& change) {
    return std::abs(change.DifferenceNs());
  });
  return changes;
}

std::string_view VerdictName(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<double> MetricChange::Percent() const {
  if (!before || !after) {
    return std::nullopt;
  }
  if (*before == *after) {
    return 0.0;
  }
  return *before == 0 ? std::nullopt : std::optional(100 * (*after - *before) / std::abs(*before));
}

Verdict MetricChange::GetVerdict() const {
  if (!IsEvaluated()) {
    return Verdict::kUnknown;
  }
  const Amounts amounts = AmountsOf(*this);
  if (amounts.before == amounts.after) {
    return Verdict::kSame;
  }
  const bool is_less_better = better != Better::kHigher;
  return (amounts.after < amounts.before) == is_less_better ? Verdict::kBetter : Verdict::kWorse;
}

double MetricChange::WorsePercent() const {
  if (GetVerdict() != Verdict::kWorse) {
    return 0;
  }
  const Amounts amounts = AmountsOf(*this);
  return amounts.before == 0
             ? std::numeric_limits<double>::infinity()
             : 100 * std::abs(amounts.after - amounts.before) / std::abs(amounts.before);
}

std::vector<MetricChange> WorseThan(const std::vector<MetricChange>& changes,
                                    double limit_percent) {
  std::vector<MetricChange> worse;
  std::ranges::copy_if(changes, std::back_inserter(worse), [&](const MetricChange& change) {
    return change.WorsePercent() > limit_percent * (1 + kRounding);
  });
  std::ranges::stable_sort(worse, std::ranges::greater{}, &MetricChange::WorsePercent);
  return worse;
}

RunDiff Compare(const RunView& before, const RunView& after,
                const std::vector<NamedMetric>& metrics) {
  const StepParts step_before = MeasureStepParts(before);
  const StepParts step_after = MeasureStepParts(after);
  std::vector<MetricChange> changes = CompareMetrics(before, after, metrics);
  for (MetricChange& change : changes) {
    change.step_before_ns = step_before.window_ns;
    change.step_after_ns = step_after.window_ns;
  }
  return {.step_before = step_before,
          .step_after = step_after,
          .metrics = std::move(changes),
          .kernel_classes = MatchCosts(KernelClassCosts(before), KernelClassCosts(after)),
          .kernels = MatchCosts(KernelCosts(before), KernelCosts(after)),
          .operators = MatchCosts(OperatorCosts(before), OperatorCosts(after)),
          .collectives = MatchCosts(CollectiveCosts(before), CollectiveCosts(after)),
          .copies = MatchCosts(CopyCosts(before), CopyCosts(after)),
          .memory = MatchMemory(PeakMemory(before), PeakMemory(after))};
}

Cost& Cost::operator+=(const Cost& other) {
  count += other.count;
  device_ns += other.device_ns;
  host_ns += other.host_ns;
  wait_ns += other.wait_ns;
  bytes += other.bytes;
  return *this;
}

std::string_view ChangeName(Change change) {
  return kChangeNames[static_cast<std::size_t>(change)];
}

Change ChangeOf(double before, double after) {
  if (std::abs(after - before) <= kUnchangedShare * std::abs(before)) {
    return Change::kUnchanged;
  }
  return after > before ? Change::kIncreased : Change::kDecreased;
}

double CostChange::DifferenceNs() const {
  return HasDeviceTime(*this) ? after.device_ns - before.device_ns : after.host_ns - before.host_ns;
}

}  // namespace orrery::analyze::diff
