#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::kernel_breakdown {
namespace {

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

struct ClassTotal {
  trace::KernelClass kernel_class = trace::KernelClass::kOther;
  DurationTotal durations;
  std::int64_t wait_ns = 0;
};

// Classes that occur, the one with most time first.
std::vector<ClassTotal> TotalClasses(const std::vector<KernelTotal>& kernels) {
  std::array<ClassTotal, trace::kNumKernelClasses> totals;
  for (const KernelTotal& kernel : kernels) {
    ClassTotal& total = totals[static_cast<std::size_t>(kernel.kernel_class)];
    total.kernel_class = kernel.kernel_class;
    total.durations += kernel.durations;
    total.wait_ns += kernel.wait_ns;
  }
  std::vector<ClassTotal> found;
  std::ranges::copy_if(totals, std::back_inserter(found),
                       [](const ClassTotal& total) { return total.durations.count > 0; });
  std::ranges::stable_sort(found, std::ranges::greater{},
                           [](const ClassTotal& total) { return total.durations.sum_ns; });
  return found;
}

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
  const std::vector<ClassTotal> classes = TotalClasses(kernels);
  std::int64_t all_ns = 0;
  for (const ClassTotal& total : classes) {
    all_ns += total.durations.sum_ns;
  }
  if (all_ns == 0) {
    return NotAvailable("no kernels in the selected steps");
  }
  MetricResult result{.value = Percent(classes.front().durations.sum_ns, all_ns)};
  NoteScope(run, result.detail);
  Value class_rows = Value::List();
  for (const ClassTotal& total : classes) {
    class_rows.Add(
        DescribeTotal(Value::Object().Set("class", trace::KernelClassName(total.kernel_class)),
                      total.durations, total.wait_ns, all_ns));
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

// The operator around which there is no other. Parents come before their children.
std::vector<RowId> OutermostOperators(const trace::HostOps& ops) {
  std::vector<RowId> outermost(ops.size());
  for (RowId op = 0; op < ops.size(); ++op) {
    outermost[op] = ops.parent[op] == kNoRow ? op : outermost[ops.parent[op]];
  }
  return outermost;
}

// The kernels that one operator launched on one device, in order of time.
struct KernelsOfOperator {
  std::vector<StringId> names;
  std::int64_t ns = 0;
};

std::map<RowId, KernelsOfOperator> KernelsByOperator(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<RowId> outermost = OutermostOperators(trace.host_ops);
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

// Counts by string ids first: most sequences repeat, and texts are long.
void AddSequences(const RunView& run, const DeviceView& device, TotalOfSequence& totals) {
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

Value DescribeSequence(const Sequence& sequence, const DurationTotal& total) {
  Value kernels = Value::List();
  for (std::size_t i = 1; i < sequence.size(); ++i) {
    kernels.Add(sequence[i]);
  }
  Value row = Value::Object();
  row.Set("operator", sequence.front());
  total.Describe(row);
  return row.Set("kernels", std::move(kernels));
}

MetricResult KernelSequences(const RunView& run) {
  TotalOfSequence totals;
  for (const DeviceView& device : run.devices) {
    AddSequences(run, device, totals);
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
    rows.Add(DescribeSequence(sequence, total));
  }
  result.detail.Set("sequences", std::move(rows));
  return result;
}

MetricResult MoeFraction(const RunView& run) {
  std::int64_t routing_ns = 0;
  std::int64_t expert_ns = 0;
  std::int64_t compute_ns = 0;
  for (const KernelTotal& total : TotalKernels(run)) {
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
  return {{.name = "dominant_kernel_concentration",
           .meaning = "Share of compute time in the one kernel that has most of it",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * largest sum of durations of one compute kernel name / sum over all "
                         "compute kernels, all ranks together",
           .compute = &DominantKernelConcentration},
          {.name = "kernel_breakdown",
           .meaning = "Kernel time by class and by kernel",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Summed durations of kernels by class and by name, all ranks together; of "
               "communication the part that waits for other ranks is reported separately. The "
               "number is the share of the largest class.",
           .compute = &KernelBreakdown},
          {.name = "kernel_sequences",
           .meaning = "Kernel sequences that operators launch repeatedly",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "The kernels that an outermost operator launched, two or more, in order of time: "
               "what could be fused or captured. The number is how often the most frequent "
               "sequence occurs on all devices; detail has those with most time.",
           .compute = &KernelSequences},
          {.name = "moe_fraction",
           .meaning = "Share of compute time in routing and experts",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * sum of durations of MoE kernels / sum over compute kernels; "
                         "communication is counted elsewhere",
           .compute = &MoeFraction}};
}

}  // namespace orrery::analyze::kernel_breakdown
