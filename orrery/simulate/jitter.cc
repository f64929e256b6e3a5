#include "orrery/simulate/jitter.h"

#include <cmath>
#include <cstddef>
#include <numbers>

#include "orrery/base/mix_bits.h"
#include "orrery/base/normal_distribution.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::TaskId;
using workload::TaskKind;

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
