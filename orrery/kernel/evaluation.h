#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/measurement.h"
#include "orrery/kernel/model_set.h"
#include "orrery/learn/metrics.h"

namespace orrery::kernel {

struct FitOptions {
  std::uint64_t seed = 1;
  double validation_share = 0.1;  // for early stopping; trained on afterwards
  int threads = 2;
};

struct MeasurementGroup {
  OperatorKind kind = OperatorKind::kGemm;
  const hardware::Gpu* gpu = nullptr;
  Timing timing = Timing::kKernels;
  std::vector<const Measurement*> rows;
};

/// Sorts rows into groups, in order of GPU name, timing and kind.
[[nodiscard]] std::vector<MeasurementGroup> GroupMeasurements(std::span<const Measurement> rows);
inline constexpr std::size_t kFewestRows = 30;

/// Learns the efficiency of a group of at least `kFewestRows` rows. The number of trees is chosen
/// on validation rows (shapes that are not in training); the returned model is trained on all rows.
[[nodiscard]] Result<EfficiencyModel> FitEfficiency(const MeasurementGroup& group,
                                                    const FitOptions& options);

/// Called with the number of finished groups and of all groups.
using FitProgress = std::function<void(std::size_t, std::size_t)>;

[[nodiscard]] Result<ModelSet> FitModels(std::span<const Measurement> rows,
                                         const FitOptions& options, const FitProgress& progress);

/// The rows that are held out of training.
struct SplitRule {
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
  [[nodiscard]] static Result<SplitRule> Parse(std::string_view text);

  [[nodiscard]] std::string Text() const;
};

struct RowSplit {
  std::string name;
  std::vector<Measurement> train;
  std::vector<Measurement> test;
};

/// Makes the rounds of a rule: one, or one for each GPU. Shapes are drawn by a hash of their text
/// and the seed, so the same row is in the same part on every machine.
[[nodiscard]] Result<std::vector<RowSplit>> SplitRows(std::span<const Measurement> rows,
                                                      const SplitRule& rule);

/// The text that duplicates share: a shape with warm and cold operands, and a GEMM with n and k
/// swapped.
[[nodiscard]] std::string DuplicateKey(const Operator& op);

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

struct EvaluatedGroup {
  std::string operator_name;
  std::string gpu;
  std::string type;
  Timing timing = Timing::kKernels;
  bool is_sustained = false;
  learn::Evaluation figures;
};

struct KernelEvaluation {
  learn::Evaluation overall;
  std::vector<EvaluatedGroup> groups;  // by operator, GPU, timing, type
  std::vector<EvaluatedRow> worst;     // worst first
};

[[nodiscard]] KernelEvaluation Summarize(std::span<const EvaluatedRow> rows);

enum class GroupBy { kOperatorGpuType, kOperatorGpu };

[[nodiscard]] std::vector<EvaluatedGroup> GroupsOf(std::span<const EvaluatedRow> rows, GroupBy by);

}  // namespace orrery::kernel
