#include "orrery/cli/validate/ranking.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/plan_ranking.h"
#include "orrery/calibrate/validation.h"
#include "orrery/cli/output.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/job/published_run.h"

namespace orrery::cli {
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

Value WithFigures(Value object, const RankingFigures& figures) {
  return object.Set("groups", figures.groups)
      .Set("mean_regret", figures.mean_regret)
      .Set("median_regret", figures.median_regret)
      .Set("max_regret", figures.max_regret)
      .Set("top3_share", figures.top3_share)
      .Set("mean_spearman", figures.mean_spearman);
}

Value PlanData(const RankedPlan& plan) {
  return Value::Object()
      .Set("plan", PlanText(plan))
      .Set("ids", Value::ListOf(IdsOf(plan)))
      .Set("predicted_s", plan.predicted_s)
      .Set("measured_s", plan.measured_s);
}

Value GroupData(const PlanGroup& group) {
  const workload::PublishedRun& run = RunOf(group);
  return Value::Object()
      .Set("source", run.source)
      .Set("team", run.team)
      .Set("release", run.release)
      .Set("model", run.job.model.name)
      .Set("gpu", run.job.gpu.name)
      .Set("gpus", run.job.gpus)
      .Set("batch", run.job.training.global_batch)
      .Set("sequence", run.job.training.sequence)
      .Set("framework", run.job.framework.name)
      .Set("rows", group.rows)
      .Set("plans", group.plans.size())
      .Set("regret", group.regret)
      .Set("best_rank", group.best_rank)
      .Set("best_in_first_three", group.HasBestAmongFirst())
      .Set("spearman", group.spearman)
      .Set("first_choice", PlanData(group.plans.front()))
      .Set("measured_best", PlanData(group.plans[group.best]));
}

Value DataOf(const Validation& validation, const Groups& groups) {
  return WithFigures(Value::Object(), FiguresOf(groups))
      .Set("rows", validation.rows)
      .Set("simulated", validation.evaluated.size())
      .Set("rows_in_groups", RowsIn(groups))
      .Set("least_rows", calibrate::kLeastRowsOfGroup)
      .Set("sources", Value::ListOf(BySource(groups),
                                    [](const SourceGroups& of_source) {
                                      return WithFigures(
                                          Value::Object().Set("source", of_source.source),
                                          FiguresOf(of_source.groups));
                                    }))
      .Set("each", Value::ListOf(groups, GroupData));
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

}  // namespace

Document RankingDocument(const Validation& validation) {
  const Groups groups = RankPlans(validation);
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
  document.data = DataOf(validation, groups);
  document.sheets.emplace_back("plans", PlanTable(groups));
  return document;
}

}  // namespace orrery::cli
