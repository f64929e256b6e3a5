#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::kernel {

/// A measured row and its prediction.
struct EvaluatedRow {
  Measurement measured;
  Estimate predicted;
};

/// Predicts every row as it was timed; rows keep their order.
[[nodiscard]] std::vector<EvaluatedRow> Evaluate(const ModelSet& models,
                                                 std::span<const Measurement> rows);

/// The same, each row by the models of all other GPUs.
[[nodiscard]] std::vector<EvaluatedRow> EvaluateHeldOut(const ModelSet& models,
                                                        std::span<const Measurement> rows);

/// The errors of the rows of one operator, GPU and type.
struct EvaluatedGroup {
  std::string operator_name;
  std::string gpu;
  std::string type;
  Timing timing = Timing::kKernels;
  learn::Evaluation figures;
};

struct KernelEvaluation {
  learn::Evaluation overall;
  std::vector<EvaluatedGroup> groups;  // by operator, GPU, timing, type
  std::vector<EvaluatedRow> worst;     // worst first
};

[[nodiscard]] KernelEvaluation Summarize(std::span<const EvaluatedRow> rows);

/// The grouping of rows in a table.
enum class GroupBy { kOperatorGpuType, kOperatorGpu };

[[nodiscard]] std::vector<EvaluatedGroup> GroupsOf(std::span<const EvaluatedRow> rows, GroupBy by);

}  // namespace orrery::kernel
