#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/metrics.h"

namespace orrery::calibrate {

/// The rows that are held out of training.
struct KernelSplitRule {
  enum class Kind : std::uint8_t {
    kRandom,  // a share of the shapes, duplicates together
    kGpu,     // a GPU, or each in turn if none is named
    kValue,   // a share of the values of one parameter
    kAbove,   // all rows whose parameter is above a value
  };

  Kind kind = Kind::kRandom;
  double share = 0.2;
  std::string gpu = {};
  std::string parameter = {};
  std::int64_t threshold = 0;
  std::uint64_t seed = 1;

  /// "random", "random:30", "gpu", "gpu:V100", "value:m", "value:m:20", "above:m:4096"; shares in
  /// percent, optionally with ":seed=7".
  [[nodiscard]] static Result<KernelSplitRule> Parse(std::string_view text);

  [[nodiscard]] std::string Text() const;
};

struct RowSplit {
  std::string name;
  std::vector<kernel::Measurement> train;
  std::vector<kernel::Measurement> test;
};

/// Makes the rounds of a rule: one, or one for each GPU. Shapes are drawn by a hash of their text
/// and the seed, so the same row is in the same part on every machine.
[[nodiscard]] Result<std::vector<RowSplit>> SplitRows(std::span<const kernel::Measurement> rows,
                                                      const KernelSplitRule& rule);

/// The text that duplicates share: a shape with warm and cold operands, and a GEMM with n and k
/// swapped.
[[nodiscard]] std::string DuplicateKey(const kernel::Operator& op);

struct EvaluatedOperator {
  kernel::Measurement measured;
  kernel::Estimate predicted;
};

/// Predicts every row as it was timed; rows keep their order.
[[nodiscard]] std::vector<EvaluatedOperator> EvaluateKernels(
    const kernel::ModelSet& models, std::span<const kernel::Measurement> rows);

/// The same, each row by the models of all other GPUs.
[[nodiscard]] std::vector<EvaluatedOperator> EvaluateKernelsHeldOut(
    const kernel::ModelSet& models, std::span<const kernel::Measurement> rows);

struct OperatorGroup {
  std::string operator_name;
  std::string gpu;
  std::string type;
  kernel::Timing timing = kernel::Timing::kKernels;
  bool is_sustained = false;
  learn::Evaluation figures;
};

struct KernelEvaluation {
  learn::Evaluation overall;
  std::vector<OperatorGroup> groups;     // by operator, GPU, timing, type
  std::vector<EvaluatedOperator> worst;  // worst first
};

[[nodiscard]] KernelEvaluation Summarize(std::span<const EvaluatedOperator> rows);

enum class GroupBy { kOperatorGpuType, kOperatorGpu };

[[nodiscard]] std::vector<OperatorGroup> GroupsOf(std::span<const EvaluatedOperator> rows,
                                                  GroupBy by);

}  // namespace orrery::calibrate
