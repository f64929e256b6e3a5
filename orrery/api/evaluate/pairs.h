#pragma once

#include <string>

#include "orrery/api/fields/documents.h"
#include "orrery/calibrate/overlap/evaluation.h"
#include "orrery/overlap/pair_table.h"

namespace orrery::api {

/// Predictions of measured pairs.
struct EvaluatedPairs {
  std::string rows;  // the model and the rows that were evaluated
  calibrate::OverlapEvaluation evaluation;
};

/// The first table of its CSV has one line for each evaluated row of `data`.
[[nodiscard]] Document DocumentOf(const EvaluatedPairs& evaluated, const overlap::PairTable& data);

}  // namespace orrery::api
