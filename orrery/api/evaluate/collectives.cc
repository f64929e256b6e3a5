#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/collectives/evaluation.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"

namespace orrery::api {
namespace {

static_assert(kLeastMessageBytes == collective::kLeastBytes);

struct EvaluatedCollectives {
  std::string rows;  // the rows that were evaluated
  calibrate::CollectiveEvaluation evaluation;
};

CollectiveErrors ErrorsOf(const calibrate::CollectiveGroup& group) {
  return {.source = group.source,
          .machine = group.machine,
          .collective = group.collective,
          .gpus = group.gpus,
          .errors = MetricsOf(group.figures)};
}

Document DocumentOf(const EvaluatedCollectives& evaluated) {
  const calibrate::CollectiveEvaluation& evaluation = evaluated.evaluation;
  Document document{.title = fmt::format("Evaluated: {}; errors in %", evaluated.rows),
                    .kind = "Orrery evaluation"};
  Document::Table table{.columns = MetricColumns({"machine", "source", "collective", "GPUs"}),
                        .total = MetricCells({"all", "", "", ""}, evaluation.overall),
                        .max_shown = SIZE_MAX};
  for (const calibrate::CollectiveGroup& group : evaluation.groups) {
    table.rows.push_back(
        MetricCells({group.machine, group.source, group.collective, group.gpus}, group.figures));
  }
  document.AddSection().Add(std::move(table));
  return document;
}

EvaluateCollectivesResult ResultOf(const EvaluatedCollectives& evaluated) {
  EvaluateCollectivesResult result{
      .overall = MetricsOf(evaluated.evaluation.overall),
      .document = std::make_shared<const Document>(DocumentOf(evaluated))};
  for (const calibrate::CollectiveGroup& group : evaluated.evaluation.groups) {
    result.groups.push_back(ErrorsOf(group));
  }
  return result;
}

Result<EvaluatedCollectives> EvaluateSplit(const EvaluateCollectivesRequest& request,
                                           const collective::Measurements& data) {
  ORRERY_TRY(const calibrate::CollectiveSplitRule rule,
             calibrate::CollectiveSplitRule::Parse(request.split));
  ORRERY_TRY(calibrate::CollectiveEvaluation evaluation,
             calibrate::EvaluateCollectivesHeldOut(data.rows, request.min_bytes, rule));
  return EvaluatedCollectives{"rows that were not fitted, split " + request.split,
                              std::move(evaluation)};
}

Result<EvaluatedCollectives> EvaluateRows(const EvaluateCollectivesRequest& request,
                                          const collective::Measurements& data) {
  if (!request.split.empty()) {
    return EvaluateSplit(request, data);
  }
  ORRERY_TRY(const collective::MachineModels models, LoadMachineModels(request.model));
  ORRERY_TRY(
      calibrate::CollectiveEvaluation evaluation,
      calibrate::EvaluateCollectives(data.rows, request.min_bytes, models, request.unseen_machine));
  return EvaluatedCollectives{
      fmt::format("all rows, by {}{}",
                  request.model.empty() ? "the shipped constants" : request.model,
                  request.unseen_machine ? ", without those of the machine itself" : ""),
      std::move(evaluation)};
}

Result<EvaluateCollectivesResult> Evaluate(const EvaluateCollectivesRequest& request) {
  ORRERY_TRY(const collective::Measurements data, ReadCollectives(request.paths, request.cluster));
  request.call.Report("evaluating");
  ORRERY_TRY(const EvaluatedCollectives evaluated, EvaluateRows(request, data));
  EvaluateCollectivesResult result = ResultOf(evaluated);
  if (data.without_gpu > 0) {
    result.notices.push_back(UnnamedGpuNotice(data, request.cluster));
  }
  if (!data.rejected.empty()) {
    result.notices.push_back(RejectedNotice(data.files, data.rejected));
    result.is_partial = true;
  }
  return result;
}

}  // namespace

Result<EvaluateCollectivesResult> EvaluateCollectives(const Session& /*session*/,
                                                      const EvaluateCollectivesRequest& request) {
  return RunCancellable(request.call, [&] { return Evaluate(request); });
}

}  // namespace orrery::api
