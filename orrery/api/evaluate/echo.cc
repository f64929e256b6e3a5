#include "orrery/api/evaluate/echo.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/evaluate_echo.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/compat/echo/cross_validation.h"
#include "orrery/compat/echo/evaluation.h"
#include "orrery/compat/echo/published.h"
#include "orrery/compat/echo/rows.h"

namespace orrery::api {
namespace {

namespace echo = compat::echo;

EchoLine LineOf(const echo::PublishedLine& line) {
  EchoLine result{.label = line.label, .value = line.value};
  if (line.has_error) {
    result.error_percent = line.error_percent;
  }
  return result;
}

EchoModelErrors ErrorsOf(const echo::ModelEvaluation& model) {
  return {.feeding = model.input,
          .r2_of_slowdown = model.r2_of_slowdown,
          .r2_trained = model.r2_trained,
          .r2_held_out = model.r2_held_out,
          .overlapped = MetricsOf(model.overlapped),
          .held_out = MetricsOf(model.held_out),
          .held_out_overlapped = MetricsOf(model.held_out_overlapped)};
}

EchoDifference DifferenceOf(const echo::Difference& difference) {
  return {.mean = difference.mean,
          .low = difference.low,
          .high = difference.high,
          .low_99 = difference.low_99,
          .high_99 = difference.high_99,
          .excludes_equality = difference.ExcludesEquality()};
}

EchoPredictorErrors ErrorsOf(const echo::PredictorSummary& summary) {
  return {.predictor = summary.predictor,
          .mape = summary.mape,
          .mape_minus_median = DifferenceOf(summary.from_median),
          .within_5 = summary.within_5,
          .within_10 = summary.within_10,
          .within_15 = summary.within_15,
          .r2 = summary.r2_of_logs,
          .mape_all = summary.mape_all,
          .total = summary.total,
          .total_overlapped = summary.total_overlapped};
}

EchoCrossValidation CrossValidationOf(const echo::HeldOutEvaluation& evaluation) {
  const echo::CrossValidation& validation = evaluation.validation;
  EchoCrossValidation result{
      .held_out = evaluation.held_out == echo::HeldOut::kSegments ? "stretches" : "rows",
      .folds = static_cast<std::int64_t>(echo::CrossValidationOptions().folds),
      .repeats = static_cast<std::int64_t>(validation.predictors.front().durations_ns.size()),
      .rows = static_cast<std::int64_t>(validation.rows.size())};
  for (const echo::PredictorSummary& summary : evaluation.summaries) {
    result.predictors.push_back(ErrorsOf(summary));
  }
  return result;
}

void AddLists(const echo::Evaluation& evaluation, EvaluateEchoResult& result) {
  for (std::size_t feature = 0; feature < evaluation.gain_shares.size(); ++feature) {
    result.gain_shares.emplace_back(echo::kFeatures[feature], evaluation.gain_shares[feature]);
  }
  for (const echo::PublishedLine& line : evaluation.published) {
    result.published.push_back(LineOf(line));
  }
  for (const echo::ModelEvaluation& model : evaluation.fed) {
    result.fed.push_back(ErrorsOf(model));
  }
  for (const echo::KernelRow& row : evaluation.left_out) {
    result.left_out_ids.push_back(row.id);
  }
}

EvaluateEchoResult ResultOf(const echo::Evaluation& evaluation) {
  EvaluateEchoResult result{.rows = static_cast<std::int64_t>(evaluation.rows.size()),
                            .trees = static_cast<std::int64_t>(evaluation.num_trees),
                            .nodes = static_cast<std::int64_t>(evaluation.num_nodes),
                            .stretches = static_cast<std::int64_t>(evaluation.num_segments),
                            .forms = static_cast<std::int64_t>(echo::NumForms()),
                            .noise_low = evaluation.noise_low,
                            .noise_high = evaluation.noise_high,
                            .cross_validation = {CrossValidationOf(evaluation.by_segment),
                                                 CrossValidationOf(evaluation.by_row)},
                            .document = std::make_shared<const Document>(DocumentOf(evaluation))};
  if (evaluation.differences) {
    result.published_agree = evaluation.differences->empty();
    result.is_partial = !evaluation.differences->empty();
  }
  AddLists(evaluation, result);
  return result;
}

Result<EvaluateEchoResult> Evaluate(const EvaluateEchoRequest& request) {
  if (request.repeats < 1) {
    return InvalidInput("{} repeats of the cross-validation: at least one is needed",
                        request.repeats);
  }
  request.call.Report("fitting and evaluating");
  ORRERY_TRY(
      const echo::Evaluation evaluation,
      echo::EvaluateFolder(request.folder, {.repeats = static_cast<std::size_t>(request.repeats)}));
  return ResultOf(evaluation);
}

}  // namespace

Result<EvaluateEchoResult> EvaluateEcho(const Session& /*session*/,
                                        const EvaluateEchoRequest& request) {
  return RunCancellable(request.call, [&] { return Evaluate(request); });
}

}  // namespace orrery::api
