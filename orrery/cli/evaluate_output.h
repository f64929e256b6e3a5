#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/table.h"
#include "orrery/kernel/evaluation.h"

namespace orrery::cli {

/// What `evaluate kernels` found.
struct KernelJudgement {
  std::string split;  // which rows were judged
  kernel::Measurements data;
  std::vector<kernel::JudgedRow> rows;
};

/// A table by operator and GPU, the distribution of errors, the worst rows, what was left out.
[[nodiscard]] std::string JudgementText(const KernelJudgement& judgement);

/// One JSON document; docs/formats/evaluate-json.md.
[[nodiscard]] std::string JudgementJson(const KernelJudgement& judgement);

/// One line for each judged row: operator, GPU, timing, measured and predicted time.
[[nodiscard]] Table PredictionTable(std::span<const kernel::JudgedRow> rows);

/// Names rows that were not used: "FILE:LINE: reason", the first few of them.
[[nodiscard]] std::string RejectedText(const kernel::Measurements& data);

}  // namespace orrery::cli
