#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_work.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::achieved_flops {
namespace {

struct Counted {
  double flops = 0;
  std::int64_t known_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t kernels = 0;
  bool is_from_shapes = false;
};

Counted& operator+=(Counted& sum, const WorkTotal& work) {
  sum.flops += work.flops;
  sum.known_ns += work.flops_ns;
  sum.compute_ns += work.compute_ns;
  sum.kernels += work.kernels_with_flops;
  sum.is_from_shapes |= work.is_from_shapes;
  return sum;
}

void Describe(const Counted& counted, Value& detail) {
  const auto covered = Percent(counted.known_ns, counted.compute_ns);
  detail.Set("source",
             WorkSourceName(counted.is_from_shapes ? WorkSource::kShapes : WorkSource::kCostModel));
  detail.Set("kernels_with_flops", counted.kernels);
  detail.Set("covered_percent", covered ? Value(*covered) : Value());
  if (counted.known_ns < counted.compute_ns) {
    detail.Set("bound", "lower");
  }
}

MetricResult Rate(const RunView& run) {
  Counted counted;
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const WorkTotal work = TotalWork(run, device);
        counted += work;
        return device.total.compute_ns == 0
                   ? std::nullopt
                   : std::optional(work.flops / Seconds(device.total.compute_ns));
      });
  if (counted.kernels == 0) {
    return NotAvailable("no FLOP counts");
  }
  Describe(counted, result.detail);
  return result;
}

MetricResult Sum(const RunView& run) {
  Counted counted;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const WorkTotal work = TotalWork(run, device);
    counted += work;
    rows.Add(DeviceRow(device).Set("value", work.flops));
  }
  if (counted.kernels == 0) {
    return NotAvailable("no FLOP counts");
  }
  MetricResult result{.value = counted.flops};
  NoteScope(run, result.detail);
  result.detail.Set("per_rank", std::move(rows));
  Describe(counted, result.detail);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "achieved_flops_from_trace_json",
           .meaning = "FLOPs of the kernels for each second in which some compute",
           .unit = "FLOP/s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Sum of known FLOPs (XLA's model_flops, or operator shapes) / union of "
                         "compute kernels; per device, then the mean",
           .compute = &Rate,
           .better = Better::kHigher},
          {.name = "total_model_flops_from_args",
           .meaning = "FLOPs of the kernels of the selected steps, all devices together",
           .unit = "FLOP",
           .needs = {{NeedKind::kGpu}},
           .definition = "Sum of known FLOPs (XLA's model_flops, or operator shapes)",
           .compute = &Sum}};
}

}  // namespace orrery::analyze::achieved_flops
