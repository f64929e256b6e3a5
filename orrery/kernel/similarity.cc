#include "orrery/kernel/similarity.h"

#include <cmath>
#include <string>

namespace orrery::kernel {

namespace {

double Distance(double one, double other) {
  return std::abs(std::log(one / other));
}

double Peak(const hardware::Gpu& gpu, DataType type) {
  return gpu.PeakFlops(PeakName(type)).value_or(gpu.PeakFlops("fp32").value_or(1e12));
}

}  // namespace

double Similarity(const hardware::Gpu& source_model, const hardware::Gpu& gpu, DataType type) {
  const double distance =
      1 * Distance(Peak(source_model, type), Peak(gpu, type)) +
      1 * Distance(source_model.memory.bytes_per_second, gpu.memory.bytes_per_second) +
      0.5 * Distance(static_cast<double>(source_model.last_level_cache.count),
                     static_cast<double>(gpu.last_level_cache.count)) +
      0.5 * Distance(source_model.power_watts, gpu.power_watts) +
      (source_model.generation == gpu.generation ? 0 : 1) + (source_model.vendor == gpu.vendor ? 0 : 1);
  return std::exp(-distance);
}

}  // namespace orrery::kernel
