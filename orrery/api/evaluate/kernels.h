#pragma once

#include <string>
#include <vector>

#include "orrery/api/evaluate.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/session.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/kernel/measured/measurement.h"

namespace orrery::api {

/// Predictions of measured operators.
struct EvaluatedKernels {
  std::string split;  // the rows that were evaluated
  kernel::Measurements data;
  std::vector<calibrate::EvaluatedOperator> rows;
};

[[nodiscard]] Result<EvaluatedKernels> PredictMeasured(const Session& session,
                                                       const EvaluateKernelsRequest& request);

/// Errors by operator and GPU, their distribution, the worst rows and what was left out; the first
/// table of its CSV has one line for each evaluated row. There must be a row.
[[nodiscard]] Document DocumentOf(const EvaluatedKernels& evaluated);

}  // namespace orrery::api
