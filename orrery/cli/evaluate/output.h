#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/rejected_row.h"
#include "orrery/base/table.h"
#include "orrery/base/value.h"
#include "orrery/draw/text_table.h"
#include "orrery/kernel/evaluation.h"

namespace orrery::cli {

/// What `evaluate kernels` found.
struct KernelEvaluationResult {
  std::string split;  // which rows were evaluated
  kernel::Measurements data;
  std::vector<kernel::EvaluatedRow> rows;
};

/// A table by operator and GPU, the distribution of errors, the worst rows, what was left out.
[[nodiscard]] std::string EvaluationText(const KernelEvaluationResult& evaluation);

/// One JSON document; docs/formats/evaluate-json.md.
[[nodiscard]] std::string EvaluationJson(const KernelEvaluationResult& evaluation);

/// One line for each evaluated row: operator, GPU, timing, measured and predicted time.
[[nodiscard]] Table PredictionTable(std::span<const kernel::EvaluatedRow> rows);

/// A table whose first columns are `names` and whose others are the figures of AddFigures.
[[nodiscard]] draw::TextTable FigureTable(std::vector<draw::TextTable::Column> names);

/// Adds a row; `cells` are those of the names.
void AddFigures(draw::TextTable& table, std::vector<std::string> cells,
                const learn::Evaluation& figures);

/// Sets the keys of the figures in a JSON object.
void SetFigures(Value& object, const learn::Evaluation& figures);

/// Says how many rows were not used and names the first; empty when all were.
[[nodiscard]] std::string NotUsedText(const kernel::Measurements& data);

/// Names rows that were not used: "FILE:LINE: reason", the first few of them.
[[nodiscard]] std::string RejectedText(std::span<const std::string> files,
                                       std::span<const RejectedRow> rows);
[[nodiscard]] std::string RejectedText(const kernel::Measurements& data);

}  // namespace orrery::cli
