#include "orrery/api/evaluate/kernels.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/cancellation.h"
#include "orrery/api/evaluate.h"
#include "orrery/api/evaluate/error_tables.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/input/measured_input.h"
#include "orrery/api/session.h"
#include "orrery/api/session_state.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/calibrate/kernels/fit.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"

namespace orrery::api {
namespace {

Result<kernel::ModelSet> Fit(const std::vector<kernel::Measurement>& rows,
                             const CallOptions& call) {
  return calibrate::FitModels(rows, {}, [&](std::size_t done, std::size_t total) {
    if (call.progress) {
      call.progress(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), "fitting");
    }
  });
}

/// Learns from one part of the rows and evaluates the other.
Result<std::vector<calibrate::EvaluatedOperator>> EvaluateSplit(
    const std::vector<kernel::Measurement>& rows, const calibrate::KernelSplitRule& rule,
    const CallOptions& call) {
  ORRERY_TRY(const std::vector<calibrate::RowSplit> rounds, calibrate::SplitRows(rows, rule));
  call.Report("fitting");
  std::vector<calibrate::EvaluatedOperator> evaluated;
  for (const calibrate::RowSplit& round : rounds) {
    ORRERY_TRY(const kernel::ModelSet models, Fit(round.train, call));
    std::vector<calibrate::EvaluatedOperator> part = calibrate::EvaluateKernels(models, round.test);
    evaluated.insert(evaluated.end(), part.begin(), part.end());
  }
  return evaluated;
}

Result<kernel::Measurements> ReadRows(const EvaluateKernelsRequest& request) {
  ORRERY_TRY(kernel::Measurements data, kernel::ReadMeasurements(request.paths));
  std::erase_if(data.rows, [&](const kernel::Measurement& row) {
    return row.spread * 100 > request.max_spread;
  });
  return WithRows(std::move(data));
}

KernelErrors ErrorsOf(const calibrate::OperatorGroup& group) {
  return {.op = group.operator_name,
          .gpu = group.gpu,
          .dtype = group.type,
          .timing = kernel::TimingText(group.timing, group.is_sustained),
          .errors = MetricsOf(group.figures)};
}

EvaluateKernelsResult ResultOf(const EvaluatedKernels& evaluated) {
  const calibrate::KernelEvaluation summary = calibrate::Summarize(evaluated.rows);
  EvaluateKernelsResult result{
      .split = evaluated.split,
      .overall = MetricsOf(summary.overall),
      .rejected_rows = static_cast<std::int64_t>(evaluated.data.rejected.size()),
      .is_partial = !evaluated.data.rejected.empty(),
      .document = std::make_shared<const Document>(DocumentOf(evaluated))};
  for (const calibrate::OperatorGroup& group : summary.groups) {
    result.groups.push_back(ErrorsOf(group));
  }
  return result;
}

}  // namespace

Result<EvaluatedKernels> PredictMeasured(const Session& session,
                                         const EvaluateKernelsRequest& request) {
  std::optional<calibrate::KernelSplitRule> rule;
  if (!request.split.empty()) {
    ORRERY_TRY(rule, calibrate::KernelSplitRule::Parse(request.split));
  }
  EvaluatedKernels evaluated;
  ORRERY_TRY(evaluated.data, ReadRows(request));
  if (rule) {
    kernel::KeepFastest(evaluated.data.rows);
    evaluated.split = rule->Text();
    ORRERY_TRY(evaluated.rows, EvaluateSplit(evaluated.data.rows, *rule, request.call));
    return evaluated;
  }
  ORRERY_TRY(const std::shared_ptr<const kernel::ModelSet> models,
             session.state().Models(request.models));
  request.call.Report("evaluating");
  evaluated.split =
      request.models.empty() ? "all rows, by the shipped models" : "all rows, by the given models";
  if (request.unseen_gpu) {
    evaluated.split += " of other GPUs";
    evaluated.rows = calibrate::EvaluateKernelsHeldOut(*models, evaluated.data.rows);
    return evaluated;
  }
  evaluated.rows = calibrate::EvaluateKernels(*models, evaluated.data.rows);
  return evaluated;
}

Result<EvaluateKernelsResult> EvaluateKernels(const Session& session,
                                              const EvaluateKernelsRequest& request) {
  return RunCancellable(request.call, [&]() -> Result<EvaluateKernelsResult> {
    ORRERY_TRY(const EvaluatedKernels evaluated, PredictMeasured(session, request));
    return ResultOf(evaluated);
  });
}

}  // namespace orrery::api
