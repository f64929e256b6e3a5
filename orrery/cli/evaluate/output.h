#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/rejected_row.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/kernel/evaluation.h"
#include "orrery/report/document.h"

namespace orrery::cli {

/// What `evaluate kernels` found.
struct KernelEvaluationResult {
  std::string split;  // which rows were evaluated
  kernel::Measurements data;
  std::vector<kernel::EvaluatedRow> rows;
};

/// Errors by operator and GPU, their distribution, the worst rows and what was left out; the first
/// table of its CSV has one line for each evaluated row. JSON: docs/formats/evaluate-json.md.
[[nodiscard]] report::Document EvaluationDocument(const KernelEvaluationResult& evaluation);

/// Columns of `names` and of the error metrics of MetricCells.
[[nodiscard]] std::vector<report::Document::Column> MetricColumns(
    const std::vector<std::string>& names);

/// Cells of a row: `names`, then the error metrics.
[[nodiscard]] std::vector<Value> MetricCells(std::vector<Value> names,
                                             const learn::Evaluation& metrics);

/// Sets the keys of the error metrics in a JSON object.
void SetMetrics(Value& object, const learn::Evaluation& metrics);

/// Returns an object of the error metrics.
[[nodiscard]] Value MetricsData(const learn::Evaluation& metrics);

/// Lists rows that were not used; empty when all were.
[[nodiscard]] report::Document::List NotUsedList(std::span<const std::string> files,
                                                 std::span<const RejectedRow> rows);

/// Names rows that were not used: "FILE:LINE: reason", the first few of them.
[[nodiscard]] std::string RejectedText(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows);

/// The same for measurements of any kind.
template <typename Measurements>
[[nodiscard]] std::string RejectedText(const Measurements& data) {
  return RejectedText(data.files, data.rejected);
}

}  // namespace orrery::cli
