#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/output.h"

namespace orrery::cli {

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
