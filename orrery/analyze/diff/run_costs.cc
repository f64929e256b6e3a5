#include "orrery/analyze/diff/run_costs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/interval_set.h"
#include "orrery/base/parallel.h"
#include "orrery/trace/collective_events.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze::diff {
namespace {

using trace::Trace;

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

bool HasHostTime(const CostChange& change) {
  return change.before.host_ns > 0 || change.after.host_ns > 0;
}

Change ChangeOfTime(const CostChange& change) {
  if (HasDeviceTime(change)) {
    return ChangeOf(change.before.device_ns, change.after.device_ns);
  }
  return HasHostTime(change) ? ChangeOf(change.before.host_ns, change.after.host_ns)
                             : ChangeOf(change.before.count, change.after.count);
}

CostChange Join(const Pair& pair) {
  const NamedCost& known = pair.before != nullptr ? *pair.before : *pair.after;
  CostChange change{.name = known.name, .kernel_class = known.kernel_class};
  change.before = pair.before != nullptr ? pair.before->cost : Cost{};
  change.after = pair.after != nullptr ? pair.after->cost : Cost{};
  change.change = pair.before == nullptr  ? Change::kAdded
                  : pair.after == nullptr ? Change::kDeleted
                                          : ChangeOfTime(change);
  return change;
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
    Cost& cost = costs[std::string(trace::CollectiveKindName(trace.collectives.kind[row]))];
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

// The markers of the selected steps; everything where the recording has none.
IntervalSet HostWindows(const Trace& trace, const AnalyzeOptions& options) {
  std::vector<Interval> markers;
  for (const RowId step : SelectedSteps(trace, options)) {
    const std::int64_t begin_ns = trace.steps.begin_ns[step];
    markers.push_back({begin_ns, begin_ns + trace.steps.duration_ns[step]});
  }
  if (trace.steps.empty()) {
    const trace::Span span = trace::RecordedSpan(trace);
    markers.push_back({span.begin_ns, span.end_ns + 1});
  }
  return IntervalSet::Of(markers);
}

std::vector<std::int64_t> TimeInsideOperators(const trace::HostOps& operators) {
  std::vector<std::int64_t> inside_ns(operators.size(), 0);
  for (RowId row = 0; row < operators.size(); ++row) {
    if (operators.parent[row] != kNoRow) {
      inside_ns[operators.parent[row]] += operators.duration_ns[row];
    }
  }
  return inside_ns;
}

CostOfName HostCosts(const Trace& trace, const AnalyzeOptions& options) {
  CostOfName costs(trace.strings.size());
  const IntervalSet windows = HostWindows(trace, options);
  const std::vector<std::int64_t> inside_ns = TimeInsideOperators(trace.host_ops);
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

double NumRankSteps(const RunView& run, const std::vector<std::uint32_t>& ranks) {
  std::size_t steps = 0;
  for (const std::uint32_t rank : ranks) {
    steps += std::max<std::size_t>(SelectedSteps(run.set->ranks[rank], run.options).size(), 1);
  }
  return static_cast<double>(std::max<std::size_t>(steps, 1));
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  count += other.count;
  device_ns += other.device_ns;
  host_ns += other.host_ns;
  wait_ns += other.wait_ns;
  bytes += other.bytes;
  return *this;
}

Cost PerStep(const Cost& total, double num_steps) {
  return {.count = total.count / num_steps,
          .device_ns = total.device_ns / num_steps,
          .host_ns = total.host_ns / num_steps,
          .wait_ns = total.wait_ns / num_steps,
          .bytes = total.bytes / num_steps};
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
    changes.push_back(Join(pair));
  }
  std::ranges::stable_sort(changes, std::ranges::greater{}, [](const CostChange& change) {
    return std::abs(change.DifferenceNs());
  });
  return changes;
}

double NumDeviceSteps(const RunView& run) {
  std::int64_t steps = 0;
  for (const DeviceView& device : run.devices) {
    steps += NumSteps(device);
  }
  return static_cast<double>(std::max<std::int64_t>(steps, 1));
}

std::vector<NamedCost> KernelCosts(const RunView& run) {
  const double num_steps = NumDeviceSteps(run);
  std::vector<NamedCost> costs;
  for (const KernelTotal& kernel : TotalKernels(run)) {
    const Cost total{.count = static_cast<double>(kernel.durations.count),
                     .device_ns = static_cast<double>(kernel.durations.sum_ns),
                     .wait_ns = static_cast<double>(kernel.wait_ns)};
    costs.push_back({.name = std::string(kernel.name),
                     .cost = PerStep(total, num_steps),
                     .kernel_class = std::string(trace::KernelClassName(kernel.kernel_class))});
  }
  return costs;
}

std::vector<NamedCost> KernelClassCosts(const std::vector<NamedCost>& kernels) {
  std::map<std::string, Cost> costs;
  for (const NamedCost& kernel : kernels) {
    costs[kernel.kernel_class] += kernel.cost;
  }
  return ToList(costs, 1);
}

std::vector<NamedCost> CollectiveCosts(const RunView& run) {
  std::map<std::string, Cost> costs;
  for (const DeviceView& device : run.devices) {
    AddCollectives(run, device, costs);
  }
  return ToList(costs, NumDeviceSteps(run));
}

std::vector<NamedCost> CopyCosts(const RunView& run) {
  std::map<std::string, Cost> costs;
  for (const DeviceView& device : run.devices) {
    AddCopies(run, device, costs);
  }
  return ToList(costs, NumDeviceSteps(run));
}

std::vector<NamedCost> OperatorCosts(const RunView& run) {
  const std::vector<std::uint32_t> ranks = ChosenRanks(run);
  std::vector<RankCosts> of_rank(ranks.size());
  ParallelFor(ranks.size(), run.options.threads, [&](std::size_t i) {
    of_rank[i] = {.host = HostCosts(run.set->ranks[ranks[i]], run.options),
                  .device = DeviceCosts(run, ranks[i])};
  });
  std::map<std::string_view, Cost> costs;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const Trace& trace = run.set->ranks[ranks[i]];
    AddPerStep(trace, of_rank[i].host, NumRankSteps(run, ranks), costs);
    AddPerStep(trace, of_rank[i].device, NumDeviceSteps(run), costs);
  }
  std::vector<NamedCost> list;
  for (const auto& [name, cost] : costs) {
    list.push_back({.name = std::string(name), .cost = cost});
  }
  return list;
}

}  // namespace orrery::analyze::diff
