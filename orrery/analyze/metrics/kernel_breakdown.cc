#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/duration_total.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze::kernel_breakdown {
namespace {

constexpr std::size_t kNumKernelsShown = 20;

struct ClassTotal {
  trace::KernelClass kernel_class = trace::KernelClass::kOther;
  DurationTotal durations;
  std::int64_t wait_ns = 0;
};

DurationTotal DurationsOf(const KernelTotal& kernel) {
  return {.count = kernel.count,
          .sum_ns = kernel.sum_ns,
          .min_ns = kernel.min_ns,
          .max_ns = kernel.max_ns,
          .sum_of_squares_ns2 = kernel.sum_of_squares_ns2};
}

// Classes that occur, the one with most time first.
std::vector<ClassTotal> TotalClasses(const std::vector<KernelTotal>& kernels) {
  std::array<ClassTotal, trace::kNumKernelClasses> totals;
  for (const KernelTotal& kernel : kernels) {
    ClassTotal& total = totals[static_cast<std::size_t>(kernel.kernel_class)];
    total.kernel_class = kernel.kernel_class;
    total.durations += DurationsOf(kernel);
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

MetricResult Compute(const RunView& run) {
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
                                  DurationsOf(kernel), kernel.wait_ns, all_ns));
  }
  result.detail.Set("classes", std::move(class_rows));
  result.detail.Set("num_kernels", kernels.size());
  result.detail.Set("kernels", std::move(kernel_rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "kernel_breakdown",
           .meaning = "Which classes of kernels and which kernels have the time",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "Summed durations of kernels by class and by name, all ranks together; of "
                         "communication the part that waits for other ranks stands apart. The "
                         "number is the share of the largest class.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::kernel_breakdown
