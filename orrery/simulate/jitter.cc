#include "orrery/simulate/jitter.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "orrery/base/check.h"
#include "orrery/base/mix_bits.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::TaskId;
using workload::TaskKind;

double NormalDensity(double x) {
  return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
}

double NormalProbability(double x) {
  return std::erfc(-x / std::numbers::sqrt2) / 2;
}

// Above 0 and at most 1.
double Uniform(std::uint64_t bits) {
  return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
}

std::vector<double> SquaresOf(const Cast& cast, PlayerId player) {
  const workload::Program& program = cast.ProgramOf(player);
  std::vector<double> squares(program.tasks.size(), 0);
  double sum = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    if (communication == kNone) {
      const auto duration = static_cast<double>(program.tasks.duration_ps[task]);
      sum += program.tasks.kind[task] == TaskKind::kKernel ? duration * duration : 0;
      continue;
    }
    const CastGroupId group = cast.GroupOf(player, program.communications.slot[communication]);
    if (group != workload::kNoGroup && cast.groups[group].num_ranks > 1) {
      squares[task] = sum;
      sum = 0;
    }
  }
  return squares;
}

}  // namespace

double NormalQuantile(double p) {
  ORRERY_CHECK(p > 0 && p < 1, "a probability");
  // Abramowitz and Stegun 26.2.23, good to 4.5e-4, then Halley's steps to the last digits.
  const double tail = p < 0.5 ? p : 1 - p;
  const double t = std::sqrt(-2 * std::log(tail));
  const double distance = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                  (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = p < 0.5 ? -distance : distance;
  for (int step = 0; step < 3; ++step) {
    const double error = (NormalProbability(x) - p) / NormalDensity(x);
    x -= error / (1 + x * error / 2);
  }
  return x;
}

double ExpectedMaximum(std::uint32_t n) {
  const auto ranks = static_cast<double>(n);
  return n < 2 ? 0.0 : NormalQuantile((ranks - 0.375) / (ranks + 0.25));
}

double DrawFactor(double sigma, std::uint64_t seed, workload::Rank rank, std::uint64_t number) {
  const std::uint64_t bits = MixBits(MixBits(MixBits(seed + 1) + rank + 1) + number + 1);
  const double radius = std::sqrt(-2 * std::log(Uniform(bits)));
  const double normal = radius * std::cos(2 * std::numbers::pi * Uniform(MixBits(bits + 1)));
  return std::exp(sigma * normal - sigma * sigma / 2);
}

ExpectedDelay::ExpectedDelay(const Cast& cast, double sigma) : cast_(cast) {
  for (const CastGroup& group : cast.groups) {
    spread_of_group_.push_back(sigma * ExpectedMaximum(group.num_ranks));
  }
  squares_of_program_.resize(cast.programs.size());
  for (PlayerId player = 0; player < cast.players.size(); ++player) {
    std::vector<double>& squares = squares_of_program_[cast.players[player].program];
    if (squares.empty()) {
      squares = SquaresOf(cast, player);
    }
  }
}

double ExpectedDelay::SquaresBefore(PlayerId player, TaskId task) const {
  const double slowness = cast_.players[player].slowness;
  return slowness * slowness * squares_of_program_[cast_.players[player].program][task];
}

std::int64_t ExpectedDelay::DelayPs(CastGroupId group, double squares) const {
  return std::llround(spread_of_group_[group] * std::sqrt(squares));
}

}  // namespace orrery::simulate
