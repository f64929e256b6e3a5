#include "orrery/simulate/explain/energy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

constexpr double kPicoseconds = 1e12;
constexpr double kHoursOfMonth = 30 * 24;
constexpr double kKilo = 1e3;

}  // namespace

double StepEnergy::MonthKwh(int gpus) const {
  return watts_of_gpu * gpus * kHoursOfMonth / kKilo;
}

std::optional<StepEnergy> EnergyOf(const workload::Job& job,
                                   const workload::GeneratedJob& generated, std::int64_t step_ps) {
  const std::vector<workload::GpuCount> gpus = workload::GpusOf(job);
  const double seconds = static_cast<double>(step_ps) / kPicoseconds;
  if (generated.power.size() != gpus.size() || seconds <= 0) {
    return std::nullopt;
  }
  StepEnergy energy;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    const workload::StepPower& power = generated.power[i];
    if (power.measured_on.empty()) {
      return std::nullopt;
    }
    const double busy = std::min(power.busy_seconds, seconds);
    energy.joules +=
        gpus[i].ranks * (power.busy_watts * busy + power.waiting_watts * (seconds - busy));
    energy.clock = std::min(energy.clock, power.clock);
  }
  energy.watts_of_gpu = energy.joules / seconds / job.gpus;
  return energy;
}

}  // namespace orrery::simulate
