#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/fields.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze::gpu_utilization {
namespace {

// Samples hold from their time to the next one; what lies in the windows is averaged over time.
std::optional<double> MeanActive(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  double weighted = 0;
  std::int64_t total_ns = 0;
  std::optional<RowId> previous;
  const auto add = [&](RowId sample, std::int64_t end_ns) {
    const std::int64_t inside_ns = selected.LengthWithin(trace.counters.begin_ns[sample], end_ns);
    weighted += trace.counters.value[sample] * static_cast<double>(inside_ns);
    total_ns += inside_ns;
  };
  for (RowId row = 0; row < trace.counters.size(); ++row) {
    const bool is_here =
        trace.counters.device[row] < 0 || trace.counters.device[row] == device.device;
    if (!is_here || !trace.Text(trace.counters.name[row]).starts_with("SMs Active")) {
      continue;
    }
    if (previous) {
      add(*previous, trace.counters.begin_ns[row]);
    }
    previous = row;
  }
  return total_ns == 0 ? std::nullopt : std::optional(weighted / static_cast<double>(total_ns));
}

MetricResult Sm(const RunView& run) {
  return MeanOverDevices(run, [&](const DeviceView& device) { return MeanActive(run, device); });
}

// Weighted by duration, for compute, communication and both.
struct Coverage {
  double covered[2] = {0, 0};
  double duration[2] = {0, 0};

  Coverage& operator+=(const Coverage& other) {
    for (const int which : {0, 1}) {
      covered[which] += other.covered[which];
      duration[which] += other.duration[which];
    }
    return *this;
  }

  [[nodiscard]] std::optional<double> PercentOf(bool communication) const {
    const int which = communication ? 1 : 0;
    return duration[which] > 0 ? std::optional(100 * covered[which] / duration[which])
                               : std::nullopt;
  }

  [[nodiscard]] std::optional<double> PercentOfAll() const {
    const double total = duration[0] + duration[1];
    return total > 0 ? std::optional(100 * (covered[0] + covered[1]) / total) : std::nullopt;
  }
};

int Multiprocessors(const trace::Trace& trace, std::int32_t device) {
  for (RowId row = 0; row < trace.devices.size(); ++row) {
    if (trace.devices.id[row] == device && trace.devices.multiprocessors[row] > 0) {
      return trace.devices.multiprocessors[row];
    }
  }
  const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(trace));
  return gpu == nullptr ? 0 : gpu->multiprocessors;
}

std::optional<double> BlocksOf(const trace::LaunchShapes& shapes, RowId shape) {
  if (shape == kNoRow || shapes.grid_x[shape] < 1) {
    return std::nullopt;
  }
  return static_cast<double>(shapes.grid_x[shape]) *
         static_cast<double>(std::max(1, shapes.grid_y[shape])) *
         static_cast<double>(std::max(1, shapes.grid_z[shape]));
}

Coverage CoverageOf(const RunView& run, const DeviceView& device) {
  Coverage coverage;
  const trace::Trace& trace = run.TraceOf(device);
  const int multiprocessors = Multiprocessors(trace, device.device);
  if (multiprocessors == 0) {
    return coverage;
  }
  for (const RowId row : device.activities) {
    const auto blocks = BlocksOf(trace.launch_shapes, trace.activities.shape[row]);
    if (blocks && run.IsSelected(device.rank_index, trace.activities.begin_ns[row])) {
      const int which = run.ClassOf(device, row) == trace::KernelClass::kCommunication ? 1 : 0;
      const auto duration = static_cast<double>(trace.activities.duration_ns[row]);
      coverage.covered[which] += duration * std::min(1.0, *blocks / multiprocessors);
      coverage.duration[which] += duration;
    }
  }
  return coverage;
}

MetricResult MeanSmCoverage(const RunView& run) {
  Coverage all;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const Coverage coverage = CoverageOf(run, device);
    rows.Add(DeviceRow(device)
                 .Set("compute", OrNull(coverage.PercentOf(false)))
                 .Set("communication", OrNull(coverage.PercentOf(true)))
                 .Set("all", OrNull(coverage.PercentOfAll())));
    all += coverage;
  }
  if (!all.PercentOf(false)) {
    return NotAvailable(kNoGeometryReason);
  }
  MetricResult result{.value = all.PercentOf(false)};
  NoteScope(run, result.detail);
  result.detail.Set("communication", OrNull(all.PercentOf(true)));
  result.detail.Set("all", OrNull(all.PercentOfAll()));
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

// On which kernels ran; what runs on them one after the other fits into as many times the
// recording.
std::size_t NumStreams(const RunView& run, const DeviceView& device) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  std::set<RowId> tracks;
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) != trace::KernelClass::kMemory) {
      tracks.insert(activities.track[row]);
    }
  }
  return tracks.size();
}

MetricResult TotalKernelTime(const RunView& run) {
  MetricResult result = MeanSecondsPerStep(run, &Breakdown::kernel_sum_ns);
  std::int64_t sum_ns = 0;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const double seconds = Seconds(device.total.kernel_sum_ns);
    sum_ns += device.total.kernel_sum_ns;
    rows.Add(DeviceRow(device)
                 .Set("value", seconds / static_cast<double>(NumSteps(device)))
                 .Set("streams", NumStreams(run, device)));
  }
  result.detail.Set("per_rank", std::move(rows));
  result.detail.Set("sum_over_ranks_s", Seconds(sum_ns));
  return result;
}

MetricResult DominantKernelConcentration(const RunView& run) {
  const KernelTotal* largest = nullptr;
  const KernelTotal* communication = nullptr;
  std::int64_t compute_ns = 0;
  const std::vector<KernelTotal> totals = TotalKernels(run);
  for (const KernelTotal& total : totals) {
    const bool communicates = total.kernel_class == trace::KernelClass::kCommunication;
    const KernelTotal*& first = communicates ? communication : largest;
    first = first == nullptr ? &total : first;
    compute_ns += communicates ? 0 : total.durations.sum_ns;
  }
  if (largest == nullptr || compute_ns == 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = Percent(largest->durations.sum_ns, compute_ns)};
  result.detail.Set("kernel", largest->name)
      .Set("class", trace::KernelClassName(largest->kernel_class))
      .Set("count", largest->durations.count)
      .Set("seconds", Seconds(largest->durations.sum_ns));
  if (communication != nullptr) {
    result.detail.Set("top_communication_kernel", communication->name)
        .Set("its_seconds_without_waiting",
             Seconds(communication->durations.sum_ns - communication->wait_ns));
  }
  return result;
}

constexpr std::size_t kNumKernelsShown = 20;

Value DescribeTotal(Value row, const DurationTotal& durations, std::int64_t wait_ns,
                    std::int64_t all_ns) {
  const auto share = Percent(durations.sum_ns, all_ns);
  row.Set("percent", share ? Value(*share) : Value());
  durations.Describe(row);
  if (wait_ns > 0) {
    row.Set("wait_ns", wait_ns);
  }
  return row;
}

MetricResult KernelBreakdown(const RunView& run) {
  const std::vector<KernelTotal> kernels = TotalKernels(run);
  const std::vector<KernelTotal> classes = TotalKernelClasses(run);
  std::int64_t all_ns = 0;
  for (const KernelTotal& total : classes) {
    all_ns += total.durations.sum_ns;
  }
  if (all_ns == 0) {
    return NotAvailable("no kernels in the selected steps");
  }
  MetricResult result{.value = Percent(classes.front().durations.sum_ns, all_ns)};
  NoteScope(run, result.detail);
  Value class_rows = Value::List();
  for (const KernelTotal& total : classes) {
    class_rows.Add(DescribeTotal(Value::Object().Set("class", total.name), total.durations,
                                 total.wait_ns, all_ns));
  }
  Value kernel_rows = Value::List();
  for (std::size_t i = 0; i < std::min(kernels.size(), kNumKernelsShown); ++i) {
    const KernelTotal& kernel = kernels[i];
    kernel_rows.Add(DescribeTotal(Value::Object()
                                      .Set("kernel", kernel.name)
                                      .Set("class", trace::KernelClassName(kernel.kernel_class)),
                                  kernel.durations, kernel.wait_ns, all_ns));
  }
  result.detail.Set("classes", std::move(class_rows));
  result.detail.Set("num_kernels", kernels.size());
  result.detail.Set("kernels", std::move(kernel_rows));
  return result;
}

constexpr std::size_t kShortestSequence = 2;
constexpr std::size_t kNumSequencesShown = 20;

// The operator and then its kernels, by name.
using Sequence = std::vector<std::string_view>;
using TotalOfSequence = std::map<Sequence, DurationTotal>;

// The kernels that one operator launched on one device, in order of time.
struct KernelsOfOperator {
  std::vector<StringId> names;
  std::int64_t ns = 0;
};

std::map<RowId, KernelsOfOperator> KernelsByOperator(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  // The operator around which there is no other. Parents come before their children.
  std::vector<RowId> outermost(trace.host_ops.size());
  for (RowId op = 0; op < trace.host_ops.size(); ++op) {
    outermost[op] = trace.host_ops.parent[op] == kNoRow ? op : outermost[trace.host_ops.parent[op]];
  }
  std::map<RowId, KernelsOfOperator> kernels_of_operator;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId op = trace.activities.host_op[row];
    if (op != kNoRow && trace.activities.kind[row] == trace::ActivityKind::kKernel) {
      KernelsOfOperator& kernels = kernels_of_operator[outermost[op]];
      kernels.names.push_back(trace.activities.name[row]);
      kernels.ns += trace.activities.duration_ns[row];
    }
  });
  return kernels_of_operator;
}

MetricResult KernelSequences(const RunView& run) {
  TotalOfSequence totals;
  for (const DeviceView& device : run.devices) {
    // Counts by string ids first: most sequences repeat, and texts are long.
    const trace::Trace& trace = run.TraceOf(device);
    std::map<std::vector<StringId>, DurationTotal> total_of_ids;
    for (auto& [op, kernels] : KernelsByOperator(run, device)) {
      if (kernels.names.size() >= kShortestSequence) {
        kernels.names.insert(kernels.names.begin(), trace.host_ops.name[op]);
        total_of_ids[kernels.names].Add(kernels.ns);
      }
    }
    for (const auto& [ids, total] : total_of_ids) {
      Sequence sequence;
      for (const StringId id : ids) {
        sequence.push_back(trace.Text(id));
      }
      totals[sequence] += total;
    }
  }
  if (totals.empty()) {
    return NotAvailable("no operator launched two kernels or more");
  }
  std::vector<std::pair<Sequence, DurationTotal>> sorted(totals.begin(), totals.end());
  std::int64_t most_frequent = 0;
  for (const auto& [sequence, total] : sorted) {
    most_frequent = std::max(most_frequent, total.count);
  }
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& entry) { return entry.second.sum_ns; });
  MetricResult result{.value = static_cast<double>(most_frequent)};
  NoteScope(run, result.detail);
  result.detail.Set("num_sequences", sorted.size());
  sorted.resize(std::min(sorted.size(), kNumSequencesShown));
  Value rows = Value::List();
  for (const auto& [sequence, total] : sorted) {
    Value kernels = Value::List();
    for (std::size_t i = 1; i < sequence.size(); ++i) {
      kernels.Add(sequence[i]);
    }
    Value row = Value::Object();
    row.Set("operator", sequence.front());
    total.Describe(row);
    rows.Add(row.Set("kernels", std::move(kernels)));
  }
  result.detail.Set("sequences", std::move(rows));
  return result;
}

MetricResult MoeFraction(const RunView& run) {
  std::int64_t routing_ns = 0;
  std::int64_t expert_ns = 0;
  std::int64_t compute_ns = 0;
  for (const KernelTotal& total : TotalKernelClasses(run)) {
    routing_ns +=
        total.kernel_class == trace::KernelClass::kMoeRouting ? total.durations.sum_ns : 0;
    expert_ns += total.kernel_class == trace::KernelClass::kMoeExpert ? total.durations.sum_ns : 0;
    compute_ns += trace::IsCompute(total.kernel_class) ? total.durations.sum_ns : 0;
  }
  const auto says_moe = CardText(*run.set, "moe");
  if (routing_ns + expert_ns == 0 && says_moe != "true") {
    return NotAvailable("not a mixture-of-experts run");
  }
  if (compute_ns == 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = Percent(routing_ns + expert_ns, compute_ns)};
  result.detail.Set("routing_s", Seconds(routing_ns)).Set("expert_s", Seconds(expert_ns));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"aggregate_gpu_utilization", "Share of the step in which the GPU runs anything", "%",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::busy_ns, &Breakdown::window_ns, 100);
       }},
      {"sm", "Share of the streaming multiprocessors that were active, over time", "%", &Sm,
       Better::kNeither, "GPU activity, SM counters"},
      {"mean_sm_coverage", "How much of the GPU the grids of compute kernels could fill", "%",
       &MeanSmCoverage, Better::kNeither, "GPU activity, launch geometry"},
      {"total_kernel_time", "Durations of all kernels added up, per device and step", "s",
       &TotalKernelTime, Better::kLower},
      {"compute_time",
       "Time per step in which a compute kernel runs",
       "s",
       [](const RunView& run) { return MeanSecondsPerStep(run, &Breakdown::compute_ns); },
       Better::kLower,
       "GPU activity",
       {{.name = "kernel_compute_time_group_6",
         .difference = "ccl-bench adds durations over the whole file"},
        {.name = "total_compute_time_s",
         .difference = "ccl-bench adds durations over devices and steps"}}},
      {"compute_utilization", "Share of the step in which a compute kernel runs", "",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::compute_ns, &Breakdown::window_ns);
       },
       Better::kNeither, "GPU activity",
       Alias("compute_utilization_proxy",
             "ccl-bench adds durations and divides by the span of a "
             "process, so it can exceed 1")},
      {"dominant_kernel_concentration",
       "Share of compute time in the one kernel that has most of it", "%",
       &DominantKernelConcentration},
      {"kernel_breakdown", "Share of kernel time in the largest class; detail: by class and kernel",
       "%", &KernelBreakdown},
      {"kernel_sequences", "Kernel sequences that operators launch repeatedly", "",
       &KernelSequences},
      {"moe_fraction", "Share of compute time in routing and experts", "%", &MoeFraction}};
}

}  // namespace orrery::analyze::gpu_utilization
