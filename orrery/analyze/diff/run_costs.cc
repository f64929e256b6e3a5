#include "orrery/analyze/diff/run_costs.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <utility>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/copy_kind_name.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/selected_rows.h"
#include "orrery/trace/collective_events.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze::diff {
namespace {


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
    const bool is_new =
        previous == kNoRow || !AreServedTogether(trace.collectives, previous, row);
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

}  // namespace

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
    const Cost total{.count = static_cast<double>(kernel.count),
                     .device_ns = static_cast<double>(kernel.sum_ns),
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

}  // namespace orrery::analyze::diff
