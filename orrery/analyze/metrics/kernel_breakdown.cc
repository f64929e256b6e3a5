#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/kernel_class.h"

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
           .meaning = "Which classes of kernels and which kernels have the time",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "Summed durations of kernels by class and by name, all ranks together; of "
                         "communication the part that waits for other ranks stands apart. The "
                         "number is the share of the largest class.",
           .compute = &KernelBreakdown}};
}

}  // namespace orrery::analyze::kernel_breakdown
