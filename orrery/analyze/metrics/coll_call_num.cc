#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_names.h"

namespace orrery::analyze::coll_call_num {
namespace {

// Operations of a device: those the trace lists, else its communication kernels.
struct Operations {
  std::map<std::string, std::int64_t> by_kind;
  std::int64_t count = 0;
};

Operations FromKernels(const RunView& run, const DeviceView& device) {
  Operations operations;
  const trace::Trace& trace = run.TraceOf(device);
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) == trace::KernelClass::kCommunication &&
        run.IsSelected(device.rank_index, trace.activities.begin_ns[row])) {
      const auto kernel =
          trace::ClassifyCommunicationKernel(trace.Text(trace.activities.name[row]));
      const auto kind = kernel ? kernel->kind : trace::CollectiveKind::kUnknown;
      ++operations.by_kind[std::string(trace::CollectiveKindName(kind))];
      ++operations.count;
    }
  }
  return operations;
}

// Several calls that one kernel served are one operation.
Operations OperationsOf(const RunView& run, const DeviceView& device) {
  Operations operations;
  const trace::Trace& trace = run.TraceOf(device);
  RowId previous = kNoRow;
  ForEachCollective(run, device, [&](RowId row) {
    const trace::Collectives& table = trace.collectives;
    const bool is_fused = previous != kNoRow && AreServedTogether(table, previous, row);
    previous = row;
    if (!is_fused) {
      ++operations.by_kind[std::string(trace::CollectiveKindName(table.kind[row]))];
      ++operations.count;
    }
  });
  return operations.count > 0 ? operations : FromKernels(run, device);
}

std::int64_t CallsWithoutKernel(const trace::Trace& trace) {
  return std::ranges::count(trace.collectives.num_kernels, 0);
}

MetricResult Compute(const RunView& run) {
  const DeviceView& first = run.devices.front();
  const Operations operations = OperationsOf(run, first);
  std::vector<double> counts;
  for (const DeviceView& device : run.devices) {
    counts.push_back(static_cast<double>(OperationsOf(run, device).count) /
                     static_cast<double>(NumSteps(device)));
  }
  MetricResult result{.value = counts.front()};
  result.detail.Set("rank", static_cast<std::int64_t>(first.rank));
  NoteScope(run, result.detail);
  Value kinds = Value::Object();
  for (const auto& [kind, count] : operations.by_kind) {
    kinds.Set(kind, static_cast<double>(count) / static_cast<double>(NumSteps(first)));
  }
  result.detail.Set("per_kind", std::move(kinds));
  result.detail.Set("calls_without_kernel", CallsWithoutKernel(run.TraceOf(first)));
  result.detail.Set("mean_over_ranks", Mean(counts));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "coll_call_num",
           .meaning = "Communication operations of one rank in a step",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Operations with a kernel in the selected steps / steps, of the lowest rank "
               "(--rank); a fused kernel counts once",
           .compute = &Compute,
           .aliases = {{.name = "num_comm_kernels",
                        .difference = "ccl-bench counts rows of the whole file by name"}}}};
}

}  // namespace orrery::analyze::coll_call_num
