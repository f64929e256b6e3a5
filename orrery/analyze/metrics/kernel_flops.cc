#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/fields.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/value.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::kernel_flops {
namespace {

struct Counted {
  double flops = 0;
  std::int64_t kernels = 0;
  WorkCoverage coverage;
};

Counted& operator+=(Counted& sum, const WorkTotal& work) {
  sum.flops += work.flops;
  sum.kernels += work.kernels_with_flops;
  sum.coverage.known_ns += work.flops_ns;
  sum.coverage.compute_ns += work.compute_ns;
  sum.coverage.is_from_shapes |= work.is_from_shapes;
  return sum;
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
  counted.coverage.Describe("kernels_with_flops", counted.kernels, result.detail);
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
  counted.coverage.Describe("kernels_with_flops", counted.kernels, result.detail);
  return result;
}

// XLA's cost model does not say the type.
constexpr std::string_view kUsualPrecision = "bf16";

std::string_view PrecisionOf(DataType type) {
  switch (type) {
    case DataType::kUnknown:
      return kUsualPrecision;
    case DataType::kFp8:
    case DataType::kFp8E5M2:
    case DataType::kFp8Other:
      return "fp8";
    case DataType::kInt8:
    case DataType::kUInt8:
      return "int8";
    default:
      return TorchTypeName(type);
  }
}

/// FLOPs for each byte from which on a device can be busy computing, by type.
class Ridges {
 public:
  explicit Ridges(const hardware::Gpu& chip) : chip_(chip) {}

  /// Nothing when the catalogue has no peak for the type.
  std::optional<double> Of(DataType type) {
    const auto [place, is_new] = ridges_.try_emplace(PrecisionOf(type));
    if (is_new) {
      const auto peak = chip_.PeakFlops(place->first);
      place->second = peak ? std::optional(*peak / chip_.memory.bytes_per_second) : std::nullopt;
    }
    return place->second;
  }

  [[nodiscard]] Value Describe() const {
    Value ridges = Value::Object();
    for (const auto& [precision, ridge] : ridges_) {
      ridges.Set(precision, ridge ? Value(*ridge) : Value());
    }
    return ridges;
  }

 private:
  const hardware::Gpu& chip_;
  std::map<std::string_view, std::optional<double>> ridges_;
};

struct BoundTime {
  std::int64_t memory_ns = 0;
  std::int64_t known_ns = 0;

  void Add(std::int64_t duration_ns, bool is_memory_bound) {
    memory_ns += is_memory_bound ? duration_ns : 0;
    known_ns += duration_ns;
  }
};

struct Times {
  BoundTime all;
  std::array<BoundTime, trace::kNumKernelClasses> of_class;
  std::int64_t compute_ns = 0;
  bool is_from_shapes = false;
};

Value DescribeClasses(const Times& times) {
  Value rows = Value::List();
  for (std::size_t i = 0; i < times.of_class.size(); ++i) {
    const BoundTime& time = times.of_class[i];
    if (time.known_ns > 0) {
      rows.Add(Value::Object()
                   .Set("class", trace::KernelClassName(static_cast<trace::KernelClass>(i)))
                   .Set("known_ns", time.known_ns)
                   .Set("memory_bound_ns", time.memory_ns));
    }
  }
  return rows;
}

MetricResult MemoryBoundFraction(const RunView& run) {
  const hardware::Gpu* const chip = ChipOf(run);
  if (chip == nullptr) {
    return NotAvailable("no peak rate for the device in the hardware catalogue");
  }
  Ridges ridges(*chip);
  Times times;
  for (const DeviceView& device : run.devices) {
    const trace::Activities& activities = run.TraceOf(device).activities;
    times.compute_ns += TotalWork(run, device).compute_ns;
    for (const KernelWork& work : KnownWork(run, device)) {
      const auto ridge = ridges.Of(work.type);
      if (!work.flops || !work.bytes || *work.bytes <= 0 || !ridge) {
        continue;
      }
      const bool is_memory_bound = *work.flops / *work.bytes < *ridge;
      const std::int64_t duration_ns = activities.duration_ns[work.activity];
      const auto kernel_class = static_cast<std::size_t>(run.ClassOf(device, work.activity));
      times.all.Add(duration_ns, is_memory_bound);
      times.of_class[kernel_class].Add(duration_ns, is_memory_bound);
      times.is_from_shapes |= work.source == WorkSource::kShapes;
    }
  }
  if (times.all.known_ns == 0) {
    return NotAvailable("FLOPs and bytes known for no kernel");
  }
  MetricResult result{.value = Percent(times.all.memory_ns, times.all.known_ns)};
  NoteScope(run, result.detail);
  const auto covered = Percent(times.all.known_ns, times.compute_ns);
  result.detail.Set("covered_percent", covered ? Value(*covered) : Value())
      .Set("source",
           WorkSourceName(times.is_from_shapes ? WorkSource::kShapes : WorkSource::kCostModel))
      .Set("chip", chip->name)
      .Set("ridge_flops_per_byte", ridges.Describe())
      .Set("classes", DescribeClasses(times));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{"achieved_flops_from_trace_json", "FLOP rate while compute kernels run", "FLOP/s", &Rate,
           Better::kHigher},
          {"total_model_flops_from_args",
           "FLOPs of the kernels of the selected steps, summed over devices", "FLOP", &Sum},
          {"memory_bound_fraction", "Share of kernel time that memory limits, not arithmetic", "%",
           &MemoryBoundFraction}};
}

}  // namespace orrery::analyze::kernel_flops
