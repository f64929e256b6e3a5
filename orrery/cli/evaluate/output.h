#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/api/evaluate/error_tables.h"
#include "orrery/base/error.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"

namespace orrery::cli {

using api::ErrorSpread;
using api::kSpreadCaption;
using api::MetricCells;
using api::MetricColumns;
using api::NotUsedList;
using api::WithMetrics;

/// The result of `evaluate kernels`.
struct KernelEvaluationResult {
  std::string split;  // the rows that were evaluated
  kernel::Measurements data;
  std::vector<calibrate::EvaluatedOperator> rows;
};

/// Errors by operator and GPU, their distribution, the worst rows and what was left out; the first
/// table of its CSV has one line for each evaluated row. JSON: docs/formats/evaluate-json.md.
[[nodiscard]] Document EvaluationDocument(const KernelEvaluationResult& evaluation);

struct EvaluateOverlapPairsArguments {
  std::vector<std::string> paths;
  std::vector<std::string> counters;
  std::string model;     // evaluate this one on all rows
  std::string held_out;  // fit on a part and evaluate the rest
  std::string folder;    // for predictions, metrics and the pictures
  std::uint64_t seed = 7;
  OutputOptions output;
};

/// Evaluates a model of overlap on measured pairs; returns the exit status.
[[nodiscard]] Result<int> EvaluateOverlapPairs(const EvaluateOverlapPairsArguments& arguments);

}  // namespace orrery::cli
