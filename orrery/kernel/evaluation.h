#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::kernel {

/// A measured row and what was predicted for it.
struct JudgedRow {
  Measurement measured;
  Estimate predicted;
};

/// Predicts every row as it was timed; rows keep their order.
[[nodiscard]] std::vector<JudgedRow> Judge(const ModelSet& models,
                                           std::span<const Measurement> rows);

/// The same, each row by the models of all GPUs but its own.
[[nodiscard]] std::vector<JudgedRow> JudgeUnseen(const ModelSet& models,
                                                 std::span<const Measurement> rows);

/// The figures of the rows of one operator, GPU and type.
struct JudgedGroup {
  std::string operator_name;
  std::string gpu;
  std::string type;
  Timing timing = Timing::kKernels;
  learn::Evaluation figures;
};

struct KernelEvaluation {
  learn::Evaluation overall;
  std::vector<JudgedGroup> groups;  // by operator, GPU, timing, type
  std::vector<JudgedRow> worst;     // worst first
};

[[nodiscard]] KernelEvaluation Summarize(std::span<const JudgedRow> rows);

/// How rows are put together in a table.
enum class GroupBy { kOperatorGpuType, kOperatorGpu };

[[nodiscard]] std::vector<JudgedGroup> GroupsOf(std::span<const JudgedRow> rows, GroupBy by);

}  // namespace orrery::kernel
