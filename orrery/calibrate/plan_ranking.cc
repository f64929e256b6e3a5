#include "orrery/calibrate/plan_ranking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/base/math/statistics.h"
#include "orrery/calibrate/validation.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/published_run.h"
#include "orrery/workload/model/model.h"

namespace orrery::calibrate {
namespace {

using workload::Job;
using workload::PublishedRun;

bool HaveSameModel(const workload::Model& a, const workload::Model& b) {
  const workload::Transformer* const first = a.transformer();
  const workload::Transformer* const second = b.transformer();
  const bool has_same_shape =
      first != nullptr && second != nullptr ? *first == *second : first == second;
  return a.name == b.name && has_same_shape;
}

// The properties of a machine that a row may have beyond its name in the catalogue.
auto MachineOf(const Job& job) {
  const hardware::Cluster& cluster = job.cluster;
  return std::tuple(job.gpus, job.gpu.name, job.gpu.memory_size.count, job.gpu.power_watts,
                    cluster.name, cluster.gpus_per_node, cluster.island.kind, cluster.island.gpus,
                    cluster.nics.per_node, cluster.nics.bandwidth.bytes_per_second);
}

bool HaveSameTraining(workload::Training a, const workload::Training& b) {
  a.micro_batch = b.micro_batch;
  return a == b;
}

bool HaveSamePlan(const Job& a, const Job& b) {
  return a.plan == b.plan && a.training.micro_batch == b.training.micro_batch;
}

// Else the plan is one that we chose ourselves.
bool StatesItsPlan(const PublishedRun& run) {
  return !run.tensor_is_open && !run.micro_batch_is_open;
}

using Runs = std::vector<const EvaluatedRun*>;

// Puts each run to the first group whose first run `belongs` says it is like.
template <typename Belongs>
std::vector<Runs> Grouped(const Runs& runs, const Belongs& belongs) {
  std::vector<Runs> groups;
  for (const EvaluatedRun* const run : runs) {
    const auto found = std::ranges::find_if(
        groups, [&](const Runs& group) { return belongs(group.front()->run, run->run); });
    (found != groups.end() ? *found : groups.emplace_back()).push_back(run);
  }
  return groups;
}

RankedPlan PlanOf(Runs runs) {
  std::vector<double> measured;
  for (const EvaluatedRun* const run : runs) {
    measured.push_back(run->run.measured_s);
  }
  const double predicted_s = runs.front()->predicted_s;
  return {.runs = std::move(runs), .predicted_s = predicted_s, .measured_s = Mean(measured)};
}

// Of several that are the best, the one that we rank first.
std::size_t BestOf(const std::vector<RankedPlan>& plans) {
  return static_cast<std::size_t>(std::ranges::min_element(plans, {}, &RankedPlan::measured_s) -
                                  plans.begin());
}

// Times of the plans that share the shortest prediction.
double TimeOfFirstChoice(const std::vector<RankedPlan>& plans) {
  std::vector<double> measured;
  for (const RankedPlan& plan : plans) {
    if (plan.predicted_s == plans.front().predicted_s) {
      measured.push_back(plan.measured_s);
    }
  }
  return Mean(measured);
}

PlanGroup GroupOf(const Runs& runs) {
  PlanGroup group{.plans = {}, .rows = runs.size()};
  const auto have_same_plan = [](const PublishedRun& a, const PublishedRun& b) {
    return HaveSamePlan(a.job, b.job);
  };
  for (Runs& same : Grouped(runs, have_same_plan)) {
    group.plans.push_back(PlanOf(std::move(same)));
  }
  std::ranges::stable_sort(group.plans, {}, &RankedPlan::predicted_s);
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const RankedPlan& plan : group.plans) {
    predicted.push_back(plan.predicted_s);
    measured.push_back(plan.measured_s);
  }
  group.best = BestOf(group.plans);
  group.regret = TimeOfFirstChoice(group.plans) / measured[group.best] - 1;
  group.best_rank = Ranks(predicted)[group.best];
  group.spearman = SpearmanCorrelation(predicted, measured);
  return group;
}

}  // namespace

bool DifferOnlyInPlan(const PublishedRun& a, const PublishedRun& b) {
  return a.source == b.source && a.team == b.team && a.release == b.release &&
         MachineOf(a.job) == MachineOf(b.job) && HaveSameTraining(a.job.training, b.job.training) &&
         HaveSameModel(a.job.model, b.job.model) && a.job.framework == b.job.framework;
}

std::vector<PlanGroup> RankPlans(const Validation& validation) {
  Runs all;
  for (const EvaluatedRun& run : validation.evaluated) {
    if (StatesItsPlan(run.run)) {
      all.push_back(&run);
    }
  }
  std::vector<PlanGroup> groups;
  for (const Runs& runs : Grouped(all, DifferOnlyInPlan)) {
    if (runs.size() < kLeastRowsOfGroup) {
      continue;
    }
    // A single plan, measured again and again, leaves no choice.
    if (PlanGroup group = GroupOf(runs); group.plans.size() > 1) {
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

RankingFigures FiguresOf(const std::vector<PlanGroup>& groups) {
  std::vector<double> regrets;
  std::vector<double> correlations;
  for (const PlanGroup& group : groups) {
    regrets.push_back(group.regret);
    if (!std::isnan(group.spearman)) {
      correlations.push_back(group.spearman);
    }
  }
  const auto found = std::ranges::count_if(groups, &PlanGroup::HasBestAmongFirst);
  return {.groups = groups.size(),
          .mean_regret = Mean(regrets),
          .median_regret = Median(regrets),
          .max_regret = groups.empty() ? std::nan("") : std::ranges::max(regrets),
          .top3_share = groups.empty()
                            ? std::nan("")
                            : static_cast<double>(found) / static_cast<double>(groups.size()),
          .mean_spearman = Mean(correlations)};
}

}  // namespace orrery::calibrate
