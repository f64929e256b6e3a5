#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/chip.h"
#include "orrery/analyze/kernel_work.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/data_types.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::analyze::memory_bound_fraction {
namespace {

using trace::DataType;

// XLA's cost model does not say the type.
constexpr std::string_view kUsualPrecision = "bf16";

std::string_view PrecisionOf(DataType type) {
  switch (type) {
    case DataType::kUnknown:
      return kUsualPrecision;
    case DataType::kFloat8E4M3:
    case DataType::kFloat8E5M2:
    case DataType::kFloat8Other:
      return "fp8";
    case DataType::kInt8:
    case DataType::kUInt8:
      return "int8";
    default:
      return trace::DataTypeName(type);
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

void AddDevice(const RunView& run, const DeviceView& device, Ridges& ridges, Times& times) {
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

MetricResult Compute(const RunView& run) {
  const hardware::Gpu* const chip = ChipOf(run);
  if (chip == nullptr) {
    return NotAvailable("no peak rate for the device in the hardware catalogue");
  }
  Ridges ridges(*chip);
  Times times;
  for (const DeviceView& device : run.devices) {
    AddDevice(run, device, ridges, times);
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
  return {{.name = "memory_bound_fraction",
           .meaning = "Share of kernel time that memory limits, not arithmetic",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * time of compute kernels with fewer FLOPs a byte than the device's "
                         "dense peak / memory bandwidth, over the time of kernels whose FLOPs and "
                         "bytes are known (XLA cost model or operator shapes)",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::memory_bound_fraction
