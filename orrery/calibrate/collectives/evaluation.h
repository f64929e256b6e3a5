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

namespace orrery::calibrate {

struct CollectiveSplitRule {
  enum class Kind : std::uint8_t {
    kRandom,     // a share of the sizes of each machine, collective and number of GPUs
    kAboveGpus,  // rows of more GPUs
  };

  Kind kind = Kind::kRandom;
  double share = 0.2;
  int most_gpus = 0;
  std::uint64_t seed = 1;

  /// "random:20", "above:gpus:16", each optionally with ":seed=7".
  [[nodiscard]] static Result<CollectiveSplitRule> Parse(std::string_view text);
};

struct EvaluatedCollective {
  const collective::Measurement* row = nullptr;
  double seconds = 0;
  collective::ModelMatch match = collective::ModelMatch::kNearest;
};

struct CollectiveGroup {
  std::string source;
  std::string machine;
  std::string collective;
  int gpus = 0;
  learn::Evaluation figures;
};

struct CollectiveEvaluation {
  std::vector<EvaluatedCollective> rows;
  learn::Evaluation overall;
  std::vector<CollectiveGroup> groups;
};

/// `is_unseen`: each row by the models of other machines.
[[nodiscard]] Result<CollectiveEvaluation> EvaluateCollectives(
    std::span<const collective::Measurement> rows, std::int64_t min_bytes,
    const collective::MachineModels& models, bool is_unseen = false);

/// Fits each machine to a part of its rows and evaluates the rest.
[[nodiscard]] Result<CollectiveEvaluation> EvaluateCollectivesHeldOut(
    std::span<const collective::Measurement> rows, std::int64_t min_bytes,
    const CollectiveSplitRule& rule);

}  // namespace orrery::calibrate
