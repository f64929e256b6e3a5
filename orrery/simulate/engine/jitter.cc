#include "orrery/simulate/engine/jitter.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "orrery/base/math/mix_bits.h"
#include "orrery/base/math/normal_distribution.h"
#include "orrery/simulate/engine/random_draw.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::TaskId;
using workload::TaskKind;

std::vector<double> SquaresOf(const RankClasses& rank_classes, RankClassId rank_class) {
  const workload::Program& program = rank_classes.ProgramOf(rank_class);
  std::vector<double> squares(program.tasks.size(), 0);
  double sum = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    if (communication == kNone) {
      const auto duration = static_cast<double>(program.tasks.duration_ps[task]);
      sum += program.tasks.kind[task] == TaskKind::kKernel ? duration * duration : 0;
      continue;
    }
    const GroupClassId group =
        rank_classes.GroupOf(rank_class, program.communications.role[communication]);
    if (group != workload::kNoGroup && rank_classes.groups[group].num_ranks > 1) {
      squares[task] = sum;
      sum = 0;
    }
  }
  return squares;
}

}  // namespace

double DrawFactor(double sigma, std::uint64_t seed, workload::Rank rank, std::uint64_t number) {
  const std::uint64_t bits = DrawBits(seed, rank, number);
  const double radius = std::sqrt(-2 * std::log(Uniform(bits)));
  const double normal = radius * std::cos(2 * std::numbers::pi * Uniform(MixBits(bits + 1)));
  return std::exp(sigma * normal - sigma * sigma / 2);
}

ExpectedDelay::ExpectedDelay(const RankClasses& rank_classes, double sigma)
    : rank_classes_(rank_classes) {
  for (const GroupClass& group : rank_classes.groups) {
    spread_of_group_.push_back(sigma * ExpectedMaximum(group.num_ranks));
  }
  squares_of_program_.resize(rank_classes.programs.size());
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    std::vector<double>& squares = squares_of_program_[rank_classes.classes[rank_class].program];
    if (squares.empty()) {
      squares = SquaresOf(rank_classes, rank_class);
    }
  }
}

double ExpectedDelay::SquaresBefore(RankClassId rank_class, TaskId task) const {
  const double slowness = rank_classes_.classes[rank_class].slowness;
  return slowness * slowness * squares_of_program_[rank_classes_.classes[rank_class].program][task];
}

std::int64_t ExpectedDelay::DelayPs(GroupClassId group, double squares) const {
  return std::llround(spread_of_group_[group] * std::sqrt(squares));
}

}  // namespace orrery::simulate
