#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::cli {

struct FitOverlapPairsArguments {
  std::vector<std::string> paths;     // tables of `orrery measure overlap`
  std::vector<std::string> counters;  // and of counters
  std::string output;
  std::uint64_t seed = 1;
};

/// Fits the model of overlap to measured pairs and writes it; returns the exit status.
[[nodiscard]] Result<int> FitOverlapPairs(const FitOverlapPairsArguments& arguments);

}  // namespace orrery::cli
