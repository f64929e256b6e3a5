#pragma once

#include <cstddef>
#include <vector>

#include "orrery/calibrate/validation.h"
#include "orrery/workload/job/published/published_run.h"

namespace orrery::calibrate {

/// Rows of a group below which it is not evaluated: the best of a few plans is found by luck.
inline constexpr std::size_t kLeastRowsOfGroup = 6;

/// Places of our order in which the measured best plan counts as found.
inline constexpr double kFirstPlaces = 3;

/// Returns true if two runs are of one source, team and release and their jobs are equal (model,
/// machine, number of GPUs, batch, sequence, precision, framework) but for the plan and the
/// micro-batch.
[[nodiscard]] bool DifferOnlyInPlan(const workload::PublishedRun& a,
                                    const workload::PublishedRun& b);

/// A plan of a group. Rows with the same plan are one choice: its measured time is their mean.
struct RankedPlan {
  std::vector<const EvaluatedRun*> runs;  // in the order of the table, never empty
  double predicted_s = 0;
  double measured_s = 0;
};

/// Runs that differ only in their plan, ranked by prediction.
struct PlanGroup {
  std::vector<RankedPlan> plans;  // shortest prediction first, equal ones in the order of the table
  std::size_t rows = 0;
  std::size_t best = 0;  // index of the plan that was measured fastest
  /// Measured time of our first choice over that of the best, minus 1. Plans that share the
  /// shortest prediction are one choice with the mean of their times, since any of them may be
  /// taken.
  double regret = 0;
  double best_rank = 0;  // of the best plan in our order from 1; ties share the mean of their ranks
  double spearman = 0;   // of predicted and measured times; NaN where all predictions are equal

  [[nodiscard]] bool HasBestAmongFirst() const { return best_rank <= kFirstPlaces; }
};

/// The groups with at least kLeastRowsOfGroup simulated rows and two plans, in the order of the
/// table. They refer to the validation. Rows that state neither tensor nor pipeline parallelism, or
/// no micro-batch, are in none. Plans that would not fit in memory by our model stay: they ran.
[[nodiscard]] std::vector<PlanGroup> RankPlans(const Validation& validation);

/// The quality of the choices over groups; NaN without groups.
struct RankingFigures {
  std::size_t groups = 0;
  double mean_regret = 0;
  double median_regret = 0;
  double max_regret = 0;
  double top3_share = 0;     // of groups whose best plan is among our first three
  double mean_spearman = 0;  // over groups whose predictions differ
};

[[nodiscard]] RankingFigures FiguresOf(const std::vector<PlanGroup>& groups);

}  // namespace orrery::calibrate
