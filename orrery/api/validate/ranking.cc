#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/validate.h"
#include "orrery/api/validate/output.h"
#include "orrery/base/text/table.h"
#include "orrery/calibrate/plan_ranking.h"
#include "orrery/calibrate/validation.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/job/published/published_run.h"

namespace orrery::api {
namespace {

using calibrate::EvaluatedRun;
using calibrate::PlanGroup;
using calibrate::RankedPlan;
using calibrate::RankingFigures;
using calibrate::Validation;

using Groups = std::vector<PlanGroup>;

constexpr std::size_t kShownGroups = 10;

const workload::PublishedRun& RunOf(const PlanGroup& group) {
  return group.plans.front().runs.front()->run;
}

std::string PlanText(const RankedPlan& plan) {
  return workload::PlanLine(plan.runs.front()->run.job);
}

std::vector<std::string> IdsOf(const RankedPlan& plan) {
  std::vector<std::string> ids;
  for (const EvaluatedRun* const evaluated : plan.runs) {
    ids.push_back(evaluated->run.id);
  }
  return ids;
}

std::size_t RowsIn(const Groups& groups) {
  std::size_t rows = 0;
  for (const PlanGroup& group : groups) {
    rows += group.rows;
  }
  return rows;
}

/// Groups of one source.
struct SourceGroups {
  std::string source;
  Groups groups = {};
};

std::vector<SourceGroups> BySource(const Groups& groups) {
  std::vector<SourceGroups> sources;
  for (const PlanGroup& group : groups) {
    const std::string& source = RunOf(group).source;
    const auto found = std::ranges::find(sources, source, &SourceGroups::source);
    (found != sources.end() ? *found : sources.emplace_back(SourceGroups{source}))
        .groups.push_back(group);
  }
  return sources;
}

Document::Column AsPercent(const std::string& header) {
  return Formatted(header, NumberFormat("{:.1f}", 100));
}

Document::Table SourceTable(const std::vector<SourceGroups>& sources) {
  Document::Table table{
      .columns = {AsText("", "source", 0), AsNumber("groups"), AsNumber("rows"),
                  AsPercent("mean regret %"), AsPercent("median"), AsPercent("largest"),
                  Formatted("best in first 3 %", NumberFormat("{:.0f}", 100)),
                  Formatted("Spearman", NumberFormat("{:.2f}"))},
      .max_shown = SIZE_MAX};
  for (const SourceGroups& of_source : sources) {
    const RankingFigures figures = FiguresOf(of_source.groups);
    table.rows.push_back({of_source.source, figures.groups, RowsIn(of_source.groups),
                          figures.mean_regret, figures.median_regret, figures.max_regret,
                          figures.top3_share, figures.mean_spearman});
  }
  return table;
}

std::string GroupName(const PlanGroup& group) {
  const workload::Job& job = RunOf(group).job;
  return fmt::format("{}, {} x {}, batch {} of {}", job.model.name, job.gpus, job.gpu.name,
                     job.training.global_batch, job.training.sequence);
}

// Largest regret first.
Document::Table WorstTable(Groups groups) {
  std::ranges::stable_sort(groups, std::greater{}, &PlanGroup::regret);
  Document::Table table{
      .columns = {AsText("", "largest regret", 0), AsNumber("plans"), AsPercent("regret %"),
                  Formatted("rank of best", NumberFormat("{:.3g}")),
                  AsText("", "our first choice", 0), AsText("", "measured best", 0)},
      .max_shown = kShownGroups};
  for (const PlanGroup& group : groups) {
    table.rows.push_back({GroupName(group), group.plans.size(), group.regret, group.best_rank,
                          PlanText(group.plans.front()), PlanText(group.plans[group.best])});
  }
  return table;
}

RankingErrors ErrorsOf(const RankingFigures& figures) {
  return {.groups = static_cast<std::int64_t>(figures.groups),
          .mean_regret = figures.mean_regret,
          .median_regret = figures.median_regret,
          .max_regret = figures.max_regret,
          .top3_share = figures.top3_share,
          .mean_spearman = figures.mean_spearman};
}

MeasuredPlan ResultOf(const RankedPlan& plan) {
  return {.plan = PlanText(plan),
          .ids = IdsOf(plan),
          .predicted_s = plan.predicted_s,
          .measured_s = plan.measured_s};
}

RankedGroup ResultOf(const PlanGroup& group) {
  const workload::PublishedRun& run = RunOf(group);
  return {.source = run.source,
          .team = run.team,
          .release = run.release,
          .model = run.job.model.name,
          .gpu = run.job.gpu.name,
          .gpus = run.job.gpus,
          .batch = run.job.training.global_batch,
          .sequence = run.job.training.sequence,
          .framework = run.job.framework.name,
          .rows = static_cast<std::int64_t>(group.rows),
          .plans = static_cast<std::int64_t>(group.plans.size()),
          .regret = group.regret,
          .best_rank = group.best_rank,
          .best_in_first_three = group.HasBestAmongFirst(),
          .spearman = group.spearman,
          .first_choice = ResultOf(group.plans.front()),
          .measured_best = ResultOf(group.plans[group.best])};
}

// One line for each plan of each group, in our order.
Table PlanTable(const Groups& groups) {
  constexpr Table::Type kText = Table::Type::kText;
  constexpr Table::Type kInteger = Table::Type::kInteger;
  constexpr Table::Type kNumber = Table::Type::kNumber;
  Table table({{"group", kInteger},
               {"source", kText},
               {"model", kText},
               {"gpu", kText},
               {"gpus", kInteger},
               {"batch", kInteger},
               {"sequence", kInteger},
               {"place", kInteger},
               {"plan", kText},
               {"predicted_s", kNumber},
               {"measured_s", kNumber},
               {"over_best", kNumber},
               {"ids", kText}});
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const PlanGroup& group = groups[i];
    const workload::PublishedRun& run = RunOf(group);
    for (std::size_t place = 0; place < group.plans.size(); ++place) {
      const RankedPlan& plan = group.plans[place];
      table.AddRow({static_cast<std::int64_t>(i + 1), run.source, run.job.model.name,
                    run.job.gpu.name, std::int64_t{run.job.gpus}, run.job.training.global_batch,
                    run.job.training.sequence, static_cast<std::int64_t>(place + 1), PlanText(plan),
                    plan.predicted_s, plan.measured_s,
                    plan.measured_s / group.plans[group.best].measured_s - 1,
                    fmt::format("{}", fmt::join(IdsOf(plan), "; "))});
    }
  }
  return table;
}

void SayFigures(const RankingFigures& figures, Document::Section& section) {
  section.Say(fmt::format(
      "Regret    mean {:.1f} %, median {:.1f} %, largest {:.1f} % more time than the best plan",
      100 * figures.mean_regret, 100 * figures.median_regret, 100 * figures.max_regret));
  section.Say(fmt::format("Best      among our first three plans in {:.0f} % of the groups",
                          100 * figures.top3_share));
  if (!std::isnan(figures.mean_spearman)) {
    section.Say(fmt::format("Order     mean Spearman correlation {:.2f}", figures.mean_spearman));
  }
}

Document RankingDocument(const Validation& validation, const Groups& groups) {
  Document document{.kind = "Orrery ranking of plans"};
  Document::Section& section = document.AddSection();
  section.Say(fmt::format(
      "Groups    {} of at least {} rows that differ only in their plan: {} of {} simulated rows",
      groups.size(), calibrate::kLeastRowsOfGroup, RowsIn(groups), validation.evaluated.size()));
  if (!groups.empty()) {
    SayFigures(FiguresOf(groups), section);
    section.Add(SourceTable(BySource(groups)));
    section.Add(WorstTable(groups));
  }
  document.sheets.emplace_back("plans", PlanTable(groups));
  return document;
}

}  // namespace

RankPlansResult MakeRanking(const Validation& validation) {
  const Groups groups = calibrate::RankPlans(validation);
  RankPlansResult result{.errors = ErrorsOf(FiguresOf(groups)),
                         .rows = static_cast<std::int64_t>(validation.rows),
                         .simulated = static_cast<std::int64_t>(validation.evaluated.size()),
                         .rows_in_groups = static_cast<std::int64_t>(RowsIn(groups)),
                         .least_rows = calibrate::kLeastRowsOfGroup};
  for (const SourceGroups& of_source : BySource(groups)) {
    result.sources.push_back({of_source.source, ErrorsOf(FiguresOf(of_source.groups))});
  }
  for (const PlanGroup& group : groups) {
    result.groups.push_back(ResultOf(group));
  }
  result.document = std::make_shared<const Document>(RankingDocument(validation, groups));
  return result;
}

}  // namespace orrery::api
