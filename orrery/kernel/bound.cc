#include "orrery/kernel/bound.h"

#include <array>
#include <optional>
#include <string_view>

namespace orrery::kernel {

namespace {

/// Types in order of width: a type that a GPU does not list runs at the rate of the next one.
constexpr auto kWider =
    std::to_array<std::string_view>({"fp4", "fp8", "int8", "bf16", "fp16", "tf32", "fp32"});

double PeakFor(DataType type, const hardware::Gpu& gpu) {
  const std::string_view name = PeakName(type);
  if (const std::optional<double> peak = gpu.PeakFlops(name)) {
    return *peak;
  }
  bool is_wider = false;
  for (const std::string_view wider : kWider) {
    is_wider = is_wider || wider == name;
    const std::optional<double> peak = is_wider ? gpu.PeakFlops(wider) : std::nullopt;
    if (peak) {
      return *peak;
    }
  }
  return gpu.PeakFlops("fp32").value_or(gpu.peak_flops.begin()->second);
}

bool CrossesHostLink(const Operator& op) {
  return op.kind() == OperatorKind::kMemcpy && op.Word(Key::kDirection) != "d2d";
}

}  // namespace

Bound BoundOf(const Operator& op, const Work& work, const hardware::Gpu& gpu) {
  const DataType type = IsGemm(op.kind()) ? op.type() : DataType::kFp32;
  Bound bound;
  bound.compute_seconds = work.flops / PeakFor(type, gpu);
  bound.memory_seconds = CrossesHostLink(op) ? work.read_bytes / gpu.host_link.bytes_per_second
                                             : work.Bytes() / gpu.memory.bytes_per_second;
  return bound;
}

}  // namespace orrery::kernel
