#include "orrery/calibrate/kernels/power_fit.h"

#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/power.h"
#include "orrery/learn/least_squares.h"

namespace orrery::calibrate {
namespace {

using kernel::BoardPower;
using kernel::KernelLoad;
using kernel::LoadOf;
using kernel::SustainedClock;

struct FittedWatts {
  double BoardPower::* member;
  double start;
  double least;
  double most;
  bool is_share;  // of the limit
};

/// Shares of the limit that an H200 draws before anything runs, with any kernel on all of its
/// multiprocessors, and with its memory at full bandwidth, by NVML below the limit
/// (data/measured/h200/power). Times alone hardly tell them apart.
constexpr double kIdleShare = 0.17;
constexpr double kActiveShare = 0.35;
constexpr double kMemoryShare = 0.37;
/// Fitted to its fp8 GEMMs; where a board has no such rows the fit leaves it there.
constexpr double kNarrowOfH200 = 1.07;

constexpr auto kFittedWatts = std::to_array<FittedWatts>({
    {&BoardPower::tensor_w, 1.3, 0.2, 4, true},
    {&BoardPower::narrow, kNarrowOfH200, 0.5, 2, false},
    {&BoardPower::burst_short, 1.6, 1.05, 6, false},
    {&BoardPower::burst_long, 1.2, 1, 2, false},
});

BoardPower PowerFrom(std::span<const double> parameters, const hardware::Gpu& gpu) {
  BoardPower power;
  power.measured_on = gpu.name;
  power.idle_w = kIdleShare * gpu.power_watts;
  power.active_w = kActiveShare * gpu.power_watts;
  power.memory_w = kMemoryShare * gpu.power_watts;
  std::size_t next = 0;
  for (const FittedWatts& fitted : kFittedWatts) {
    power.*fitted.member = parameters[next++] * (fitted.is_share ? gpu.power_watts : 1);
  }
  return power;
}

}  // namespace

BoardPower FitPower(std::span<const SustainedRow> rows, const hardware::Gpu& gpu) {
  std::vector<KernelLoad> loads;
  for (const SustainedRow& row : rows) {
    loads.push_back(LoadOf(row.measured.op, gpu, row.burst_seconds));
  }
  const auto residuals = [&](std::span<const double> parameters) {
    const SustainedClock clock(PowerFrom(parameters, gpu), gpu.power_watts, gpu.power_watts);
    std::vector<double> logs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      logs.push_back(std::log(rows[i].burst_seconds * clock.SlowdownAlone(loads[i]) /
                              rows[i].measured.seconds));
    }
    return logs;
  };
  std::vector<double> start;
  std::vector<double> least;
  std::vector<double> most;
  for (const FittedWatts& fitted : kFittedWatts) {
    start.push_back(fitted.start);
    least.push_back(fitted.least);
    most.push_back(fitted.most);
  }
  const learn::LeastSquaresFit fit = learn::FitLeastSquares(
      residuals, start, least, most, {.outlier_scale = 0.03, .max_iterations = 60});
  return PowerFrom(fit.parameters, gpu);
}

}  // namespace orrery::calibrate
