#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/validate.h"
#include "orrery/api/validate/output.h"
#include "orrery/calibrate/validation.h"
#include "orrery/workload/job/published/fitted_runs.h"

namespace orrery::api {
namespace {

using calibrate::ErrorFigures;
using calibrate::ErrorGroup;
using calibrate::EvaluatedRun;
using calibrate::GroupKey;
using calibrate::RefusedRun;
using calibrate::Validation;

StepErrors ErrorsOf(const ErrorFigures& figures) {
  return {.rows = static_cast<std::int64_t>(figures.rows),
          .simulated = static_cast<std::int64_t>(figures.simulated),
          .mape = figures.mape,
          .median = figures.median};
}

/// A list of groups of the result, and how its groups are named.
struct GroupList {
  GroupKey key;
  std::vector<StepErrorGroup> ValidateResult::* groups;
  std::optional<std::string> StepErrorGroup::* name;
};

constexpr std::array<GroupList, 8> kLists{
    {{GroupKey::kSource, &ValidateResult::sources, &StepErrorGroup::source},
     {GroupKey::kStack, &ValidateResult::stacks, &StepErrorGroup::name},
     {GroupKey::kTeam, &ValidateResult::teams, &StepErrorGroup::team},
     {GroupKey::kRelease, &ValidateResult::releases, &StepErrorGroup::name},
     {GroupKey::kGrade, &ValidateResult::grades, &StepErrorGroup::name},
     {GroupKey::kGpu, &ValidateResult::gpus, &StepErrorGroup::name},
     {GroupKey::kScale, &ValidateResult::scales, &StepErrorGroup::name},
     {GroupKey::kDimension, &ValidateResult::dimensions, &StepErrorGroup::name}}};

void AddGroups(const Validation& validation, const GroupList& list, ValidateResult& result) {
  for (const ErrorGroup& group : GroupsOf(validation, list.key)) {
    StepErrorGroup& added =
        (result.*list.groups)
            .emplace_back(StepErrorGroup{.errors = ErrorsOf(group.figures),
                                         .max = group.figures.max,
                                         .bias = group.figures.bias,
                                         .coverage_80 = group.figures.coverage});
    added.*list.name = group.name;
  }
}

PeakErrors ErrorsOf(const calibrate::MemoryFigures& figures) {
  return {.rows = static_cast<std::int64_t>(figures.rows),
          .mape = figures.mape,
          .median = figures.median,
          .max = figures.max,
          .bias = figures.bias};
}

std::optional<std::int64_t> PredictedPeak(const EvaluatedRun& evaluated) {
  return evaluated.run.peak_allocated_bytes ? std::optional(evaluated.allocated_bytes)
                                            : std::nullopt;
}

void AddPeaks(const Validation& validation, ValidateResult& result) {
  if (const auto figures = MemoryFiguresOf(validation); figures.rows > 0) {
    result.peak_memory = ErrorsOf(figures);
  }
  for (const auto& [gpu, figures] : MemoryByGpu(validation)) {
    result.peak_memory_gpus.push_back({gpu, ErrorsOf(figures)});
  }
}

void AddRows(const Validation& validation, ValidateResult& result) {
  for (const RefusedRun& refused : validation.refused) {
    result.refused.push_back({refused.label.id, refused.reason});
  }
  for (const EvaluatedRun& evaluated : validation.evaluated) {
    result.predictions.push_back({.id = evaluated.run.id,
                                  .measured_s = evaluated.run.measured_s,
                                  .predicted_s = evaluated.predicted_s,
                                  .low_s = evaluated.interval.low_s,
                                  .high_s = evaluated.interval.high_s,
                                  .measured_peak_bytes = evaluated.run.peak_allocated_bytes,
                                  .predicted_peak_bytes = PredictedPeak(evaluated),
                                  .derived_from = evaluated.run.derived_from,
                                  .assumed = evaluated.run.assumptions});
    if (!evaluated.fits) {
      result.out_of_memory.push_back(evaluated.run.id);
    }
  }
}

/// Rows by what runs and labels both have.
template <typename IsWanted>
Validation RowsWhere(const Validation& validation, const IsWanted& is_wanted) {
  Validation part;
  std::ranges::copy_if(validation.evaluated, std::back_inserter(part.evaluated),
                       [&](const EvaluatedRun& one) { return is_wanted(one.run); });
  std::ranges::copy_if(validation.refused, std::back_inserter(part.refused),
                       [&](const RefusedRun& one) { return is_wanted(one.label); });
  part.rows = part.evaluated.size() + part.refused.size();
  return part;
}

}  // namespace

FitNote LeftOutNote() {
  return {
      "left out",
      "left out: each row is evaluated with frameworks and intervals fitted without its stack and "
      "its team, and with collectives that neither measured"};
}

FitNote InSampleNote(const workload::FittedRuns& runs) {
  return {
      "in sample",
      "in sample: the scalars of frameworks were fitted to published runs; rows whose stack or "
      "team is among those are \"in sample\", the others \"held out\"; --leave-team-out evaluates "
      "each row with a fit that has not seen it",
      &runs};
}

Validation HeadlineOf(const Validation& validation) {
  return RowsWhere(validation,
                   [](const auto& row) { return row.grade == "A" || row.grade == "A-"; });
}

Validation PartOf(const Validation& validation, const workload::FittedRuns& runs, bool is_seen) {
  return RowsWhere(validation,
                   [&](const auto& row) { return runs.HaveSeen(row.stack, row.team) == is_seen; });
}

ValidateResult MakeResult(const Validation& validation, const FitNote& fit) {
  const ErrorFigures figures = FiguresOf(validation);
  ValidateResult result{.errors = ErrorsOf(figures),
                        .max = figures.max,
                        .bias = figures.bias,
                        .coverage_80 = figures.coverage,
                        .headline = ErrorsOf(FiguresOf(HeadlineOf(validation))),
                        .fit = fit.word};
  for (const GroupList& list : kLists) {
    AddGroups(validation, list, result);
  }
  AddRows(validation, result);
  AddPeaks(validation, result);
  if (fit.runs != nullptr) {
    result.in_sample = ErrorsOf(FiguresOf(PartOf(validation, *fit.runs, true)));
    result.held_out = ErrorsOf(FiguresOf(PartOf(validation, *fit.runs, false)));
  }
  result.document = std::make_shared<const Document>(ValidationDocument(validation, fit));
  return result;
}

}  // namespace orrery::api
