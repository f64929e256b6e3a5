#include <cmath>
#include <string>

#include <fmt/core.h>

#include "orrery/compat/simai/simulation.h"

namespace orrery::compat::simai {
namespace {

constexpr std::string_view kHeader =
    "layer_name,Analytical_test,fwd compute,wg compute,ig compute,fwd exposed comm,wg exposed "
    "comm,ig exposed comm,fwd total comm,algbw,busbw,wg total comm,algbw,busbw,ig total "
    "comm,algbw,busbw\n";

std::string Microseconds(double nanoseconds) {
  return fmt::format("{:.0f}", nanoseconds / 1e3);
}

std::string Bandwidth(double gib_per_second) {
  return std::isnan(gib_per_second) ? "nan" : fmt::format("{:.2f}", gib_per_second);
}

// Where nothing is called, SimAI divides nothing by nothing and gives the bus 0.
std::string CallFields(const SimaiCallTime& time) {
  return time.is_called ? fmt::format(",{},{},{}", Microseconds(static_cast<double>(time.total_ns)),
                                      Bandwidth(time.algorithm_gib_per_second),
                                      Bandwidth(time.bus_gib_per_second))
                        : ",0,nan,0.00";
}

}  // namespace

std::string SimaiLayerCsv(const SimaiWorkload& workload, const SimaiStep& step) {
  std::string csv(kHeader);
  for (std::size_t i = 0; i < step.layers.size(); ++i) {
    const SimaiLayer& layer = workload.layers[i];
    const SimaiLayerTime& time = step.layers[i];
    csv += layer.name + ",Analytical_test";
    for (const SimaiPass* pass : {&layer.forward, &layer.weight_gradient, &layer.input_gradient}) {
      csv += "," + Microseconds(static_cast<double>(pass->compute_ns));
    }
    for (const SimaiCallTime* call : {&time.forward, &time.weight_gradient, &time.input_gradient}) {
      csv += "," + Microseconds(call->exposed_ns);
    }
    csv += CallFields(time.forward) + CallFields(time.weight_gradient) +
           CallFields(time.input_gradient) + "\n";
  }
  return csv;
}

}  // namespace orrery::compat::simai
