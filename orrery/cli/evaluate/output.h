#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/csv.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/calibrate/kernels/evaluation.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/output.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::cli {

/// The result of `evaluate kernels`.
struct KernelEvaluationResult {
  std::string split;  // the rows that were evaluated
  kernel::Measurements data;
  std::vector<calibrate::EvaluatedOperator> rows;
};

/// Errors by operator and GPU, their distribution, the worst rows and what was left out; the first
/// table of its CSV has one line for each evaluated row. JSON: docs/formats/evaluate-json.md.
[[nodiscard]] Document EvaluationDocument(const KernelEvaluationResult& evaluation);

/// Columns of `names` and of the error metrics of MetricCells.
[[nodiscard]] std::vector<Document::Column> MetricColumns(const std::vector<std::string>& names);

/// Cells of a row: `names`, then the error metrics.
[[nodiscard]] std::vector<Value> MetricCells(std::vector<Value> names,
                                             const learn::Evaluation& metrics);

/// Returns an object with the error metrics added.
[[nodiscard]] Value WithMetrics(Value object, const learn::Evaluation& metrics);

/// Lists rows that were not used; empty when all were.
[[nodiscard]] Document::List NotUsedList(std::span<const std::string> files,
                                         std::span<const RejectedRow> rows);

/// The caption of a chart of ErrorSpread.
inline constexpr std::string_view kSpreadCaption =
    "|error|: the bar ends at the median, the thick line spans the middle half of the rows, the "
    "thin one nine of ten";

/// The spread of errors in per cent, at least one: from the 5th to the 95th of a hundred, with
/// their mean in the note.
[[nodiscard]] draw::Spread ErrorSpread(draw::Series series, std::vector<double> errors);

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
