#include "orrery/kernel/power.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/embedded_power.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"

namespace orrery::kernel {
namespace {

constexpr double kLowestClock = 0.3;
constexpr int kHalvings = 30;
constexpr double kShortSeconds = 30e-6;
constexpr double kLongSeconds = 1e-3;
/// Kernels that take this share of the memory's bandwidth wait for it and not for a clock, and
/// below the second all of their time follows the clock.
constexpr double kMemoryBound = 0.85;
constexpr double kClockBound = 0.45;

struct Board {
  const hardware::Gpu* gpu = nullptr;
  BoardPower power;
};

struct PowerData {
  std::vector<Board> boards;
  std::map<std::string, double, std::less<>> energy_of_generation;
};

PowerData ReadData() {
  PowerData data;
  std::optional<Error> error;
  YamlFields power(YAML::Load(kEmbeddedPower), "power of boards", error);
  for (YamlFields& fields : power.Maps("boards")) {
    Board board;
    board.gpu = hardware::FindGpu(fields.Text("gpu"));
    board.power = {.idle_w = fields.Positive("idle_w"),
                   .active_w = fields.Positive("active_w"),
                   .tensor_w = fields.Positive("tensor_w"),
                   .memory_w = fields.Positive("memory_w"),
                   .narrow = fields.Positive("narrow"),
                   .burst_short = fields.Positive("burst_short"),
                   .burst_long = fields.Positive("burst_long"),
                   .measured_on = board.gpu->name};
    fields.Expect({"rows"});
    fields.RefuseOthers();
    data.boards.push_back(board);
  }
  YamlFields energy(YAML::Load(kEmbeddedEnergy), "energy of generations", error);
  for (YamlFields& fields : energy.Maps("generations")) {
    data.energy_of_generation[fields.Text("generation")] = fields.Positive("relative_to_hopper");
    fields.RefuseOthers();
  }
  ORRERY_CHECK(!error, error ? error->message() : "");
  return data;
}

const PowerData& Data() {
  static const PowerData data = ReadData();
  return data;
}

double Peak16(const hardware::Gpu& gpu) {
  for (const char* const precision : {"bf16", "fp16", "fp32"}) {
    if (const std::optional<double> peak = gpu.PeakFlops(precision)) {
      return *peak;
    }
  }
  return 0;
}

/// The measured board of a generation whose clock is most similar.
const Board* NearestBoard(const hardware::Gpu& gpu, std::string_view generation) {
  const Board* nearest = nullptr;
  double least = 0;
  for (const Board& board : Data().boards) {
    const double distance = std::abs(std::log(board.gpu->clock_hz / gpu.clock_hz));
    if (board.gpu->generation == generation && (nearest == nullptr || distance < least)) {
      nearest = &board;
      least = distance;
    }
  }
  return nearest;
}

BoardPower Scaled(const Board& board, const hardware::Gpu& gpu, double energy) {
  BoardPower power = board.power;
  const double cores = Peak16(gpu) / Peak16(*board.gpu) * energy;
  power.tensor_w *= cores;
  power.active_w *= cores;
  power.memory_w *= gpu.memory.bytes_per_second / board.gpu->memory.bytes_per_second;
  power.idle_w *= gpu.power_watts / board.gpu->power_watts;
  return power;
}

/// The largest x in [kLowestClock, 1] where `watts(x)`, which grows, is at most `limit`.
template <typename Watts>
double ClockAt(double limit, const Watts& watts) {
  if (watts(1.0) <= limit) {
    return 1;
  }
  double low = kLowestClock;
  double high = 1;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (watts(middle) <= limit ? low : high) = middle;
  }
  return low;
}

double Watts(const BoardPower& power, const KernelLoad& load, double clock, double slowdown) {
  const double tensor = load.tensor_share / slowdown * (load.is_narrow ? power.narrow : 1);
  return power.idle_w + power.memory_w * load.memory_share / slowdown +
         power.active_w * std::pow(clock, kPowerExponent) +
         power.tensor_w * tensor * std::pow(clock, kPowerExponent - 1);
}

double ClockShare(const KernelLoad& load) {
  return std::clamp((kMemoryBound - load.memory_share) / (kMemoryBound - kClockBound), 0.0, 1.0);
}

double SlowdownFrom(double burst_clock, const KernelLoad& load, double clock) {
  const double follows = ClockShare(load);
  return std::max(1.0, follows * burst_clock / clock + 1 - follows);
}

}  // namespace

BoardPower PowerOf(const hardware::Gpu& gpu) {
  const hardware::Gpu* const listed = hardware::FindGpu(gpu.name);
  const hardware::Gpu& known = listed != nullptr ? *listed : gpu;
  for (const Board& board : Data().boards) {
    if (board.gpu->name == known.name) {
      return board.power;
    }
  }
  if (const Board* const sibling = NearestBoard(known, known.generation)) {
    return Scaled(*sibling, known, 1);
  }
  const Board* const hopper = NearestBoard(known, "hopper");
  const auto energy = Data().energy_of_generation.find(known.generation);
  if (hopper == nullptr || energy == Data().energy_of_generation.end()) {
    return {};
  }
  return Scaled(*hopper, known, energy->second);
}

bool UsesTensorCores(const Operator& op) {
  return IsGemm(op.kind()) && op.type() != DataType::kFp32 && op.type() != DataType::kFp64;
}

KernelLoad LoadOf(const Operator& op, const hardware::Gpu& gpu, double burst_seconds) {
  KernelLoad load{.seconds = burst_seconds};
  if (burst_seconds <= 0) {
    return load;
  }
  const Work work = WorkOf(op);
  const Bound bound = BoundOf(op, work, gpu);
  load.tensor_share =
      UsesTensorCores(op) ? std::min(1.0, bound.compute_seconds / burst_seconds) : 0;
  load.memory_share = std::min(1.0, work.Bytes() / burst_seconds / gpu.memory.bytes_per_second);
  load.is_narrow = ElementBytes(op.type()) < 2;
  return load;
}

SustainedClock::SustainedClock(const hardware::Gpu& gpu)
    : power_(PowerOf(gpu)),
      burst_power_(power_),
      limit_w_(gpu.power_watts),
      burst_limit_w_(gpu.power_watts) {
  if (const hardware::Gpu* const measured = hardware::FindGpu(power_.measured_on)) {
    burst_power_ = PowerOf(*measured);
    burst_limit_w_ = measured->power_watts;
  }
}

// Its shares are those that it has in the burst, whatever the clock was.
double SustainedClock::BurstClock(const KernelLoad& load) const {
  const double place = std::clamp(
      std::log(load.seconds / kShortSeconds) / std::log(kLongSeconds / kShortSeconds), 0.0, 1.0);
  const double burst =
      burst_power_.burst_short + (burst_power_.burst_long - burst_power_.burst_short) * place;
  return ClockAt(burst * burst_limit_w_,
                 [&](double clock) { return Watts(burst_power_, load, clock, 1); });
}

double SustainedClock::Slowdown(const KernelLoad& load, double clock) const {
  return SlowdownFrom(BurstClock(load), load, clock);
}

double SustainedClock::SlowdownAlone(const KernelLoad& load) const {
  const WeightedLoad alone{load, 1};
  return Slowdown(load, Of({&alone, 1}).clock);
}

SustainedState SustainedClock::Of(std::span<const WeightedLoad> loads) const {
  std::vector<double> burst_clocks;
  for (const WeightedLoad& weighted : loads) {
    burst_clocks.push_back(BurstClock(weighted.load));
  }
  const auto mean_watts = [&](double clock) {
    double joules = 0;
    double seconds = 0;
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const KernelLoad& load = loads[i].load;
      const double slowdown = SlowdownFrom(burst_clocks[i], load, clock);
      // In a burst below the highest clock more is not drawn than then.
      const double own = std::min(clock, burst_clocks[i]);
      const double took = loads[i].count * load.seconds * slowdown;
      seconds += took;
      joules += took * Watts(power_, load, own, slowdown);
    }
    return seconds > 0 ? joules / seconds : 0;
  };
  const double clock = ClockAt(limit_w_, mean_watts);
  return {.clock = clock, .watts = mean_watts(clock)};
}

double SustainedSeconds(const Operator& op, const hardware::Gpu& gpu, double burst_seconds) {
  return burst_seconds * SustainedClock(gpu).SlowdownAlone(LoadOf(op, gpu, burst_seconds));
}

}  // namespace orrery::kernel
