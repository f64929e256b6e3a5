#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/collective/machine_models.h"
#include "orrery/collective/measurement.h"
#include "orrery/learn/metrics.h"

namespace orrery::collective {

/// The rows that are held out of the fit.
struct SplitRule {
  enum class Kind : std::uint8_t {
    kRandom,     // a share of the sizes of each machine, collective and number of GPUs
    kAboveGpus,  // rows of more GPUs
  };

  Kind kind = Kind::kRandom;
  double share = 0.2;
  int most_gpus = 0;
  std::uint64_t seed = 1;

  /// "random:20", "above:gpus:16", each optionally with ":seed=7".
  [[nodiscard]] static Result<SplitRule> Parse(std::string_view text);
};

/// A row with its prediction.
struct EvaluatedRow {
  const Measurement* row = nullptr;
  double seconds = 0;
  ModelMatch match = ModelMatch::kNearest;
};

struct EvaluatedGroup {
  std::string source;
  std::string machine;
  std::string collective;
  int gpus = 0;
  learn::Evaluation figures;
};

struct EvaluationResult {
  std::vector<EvaluatedRow> rows;
  learn::Evaluation overall;
  std::vector<EvaluatedGroup> groups;
};

/// Evaluates models on rows of at least `min_bytes`.
[[nodiscard]] Result<EvaluationResult> Evaluate(std::span<const Measurement> rows,
                                                std::int64_t min_bytes,
                                                const MachineModels& models);

/// Fits each machine to a part of its rows and evaluates the rest.
[[nodiscard]] Result<EvaluationResult> EvaluateHeldOut(std::span<const Measurement> rows,
                                                       std::int64_t min_bytes,
                                                       const SplitRule& rule);

}  // namespace orrery::collective
