#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::cli {

struct EvaluateOverlapPairsArguments {
  std::vector<std::string> paths;
  std::vector<std::string> counters;
  std::string model;     // evaluate this one on all rows
  std::string held_out;  // fit on a part and evaluate the rest
  std::string output;    // a folder for predictions, figures and the picture
  std::string predictions;
  std::string plot;
  std::uint64_t seed = 7;
  bool as_json = false;
};

/// Evaluates a model of overlap on measured pairs; returns the exit status.
[[nodiscard]] Result<int> EvaluateOverlapPairs(const EvaluateOverlapPairsArguments& arguments);

}  // namespace orrery::cli
