#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/evaluate/pairs.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/learn/metrics.h"
#include "orrery/overlap/learned_model.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::api {
namespace {

using Rows = std::vector<const overlap::MeasuredPair*>;

Result<EvaluatedPairs> EvaluateAllRows(const EvaluateOverlapRequest& request,
                                       const overlap::PairTable& data) {
  Rows all;
  for (const overlap::MeasuredPair& row : data.rows) {
    all.push_back(&row);
  }
  if (request.model.empty()) {
    ORRERY_TRY(const std::shared_ptr<const overlap::LearnedModel> model, overlap::ShippedModel());
    return EvaluatedPairs{"all rows, by the shipped model (it may have learned from them)",
                          calibrate::EvaluateOverlap(*model, all, all)};
  }
  ORRERY_TRY(const overlap::LearnedModel model, overlap::ReadLearnedModel(request.model));
  return EvaluatedPairs{"all rows, by " + request.model,
                        calibrate::EvaluateOverlap(model, all, all)};
}

Result<EvaluatedPairs> EvaluateHeldOut(const EvaluateOverlapRequest& request,
                                       const overlap::PairTable& data) {
  ORRERY_TRY(const calibrate::HeldOut what, calibrate::HeldOutOf(request.held_out));
  const calibrate::PairSplit split = calibrate::SplitPairs(data.rows, what, request.seed);
  if (split.train.empty() || split.test.empty()) {
    return InvalidInput(
        "held out by {} nothing is left to learn from or to evaluate; take more "
        "rows, or another --held-out",
        request.held_out);
  }
  request.call.Report("fitting");
  ORRERY_TRY(const overlap::LearnedModel model,
             calibrate::FitOverlap(split.train, {.seed = request.seed},
                                   [&](std::string_view part) { request.call.Report(part); }));
  return EvaluatedPairs{fmt::format("{} rows that were not learned from, held out by {}",
                                    split.test.size(), request.held_out),
                        calibrate::EvaluateOverlap(model, split.train, split.test)};
}

OverlapPredictorErrors ErrorsOf(const calibrate::PredictorEvaluation& predictor) {
  return {.name = predictor.name,
          .errors = MetricsOf(predictor.duration),
          .r2_of_stretch = predictor.r2_of_slowdown};
}

DelayErrors ErrorsOf(const calibrate::DelayEvaluation& delays) {
  return {.waited = static_cast<std::int64_t>(delays.waited),
          .median_error = delays.median_error,
          .precision = delays.precision,
          .recall = delays.recall};
}

EvaluateOverlapResult ResultOf(const EvaluatedPairs& evaluated, const overlap::PairTable& data) {
  const calibrate::OverlapEvaluation& evaluation = evaluated.evaluation;
  EvaluateOverlapResult result{
      .judged = evaluated.rows,
      .as_planned = ErrorsOf(evaluation.as_planned),
      .communication = MetricsOf(evaluation.communication),
      .delays = ErrorsOf(evaluation.delays),
      .noise_floor = evaluation.noise_floor,
      .document = std::make_shared<const Document>(DocumentOf(evaluated, data))};
  for (const calibrate::PredictorEvaluation& predictor : evaluation.predictors) {
    result.predictors.push_back(ErrorsOf(predictor));
  }
  for (const calibrate::PairGroup& group : evaluation.groups) {
    result.groups.push_back(
        {.by = group.what, .name = group.name, .errors = MetricsOf(group.duration)});
  }
  for (const learn::GroupImportance& group : evaluation.importance) {
    result.importance.push_back({.features = group.name, .increase = group.mean_increase});
  }
  if (!data.rejected.empty()) {
    result.notices.push_back(RejectedNotice(data.files, data.rejected));
    result.is_partial = true;
  }
  return result;
}

Result<EvaluateOverlapResult> Evaluate(const EvaluateOverlapRequest& request) {
  if (request.paths.empty()) {
    return InvalidInput(
        "there is nothing to evaluate: name tables of `orrery measure overlap`, or a "
        "folder of Echo's with --echo DIR");
  }
  ORRERY_TRY(const overlap::PairTable data, ReadOverlapPairs(request.paths, request.counters));
  const bool are_all = !request.model.empty() || request.held_out == "none";
  ORRERY_TRY(const EvaluatedPairs evaluated,
             are_all ? EvaluateAllRows(request, data) : EvaluateHeldOut(request, data));
  return ResultOf(evaluated, data);
}

}  // namespace

Result<EvaluateOverlapResult> EvaluateOverlap(const Session& /*session*/,
                                              const EvaluateOverlapRequest& request) {
  return RunCancellable(request.call, [&] { return Evaluate(request); });
}

}  // namespace orrery::api
