#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/output.h"
#include "orrery/cli/run_options.h"

namespace orrery::cli {

/// Options of `fit overlap --from-traces`.
struct FitOverlapTracesArguments {
  std::vector<std::string> runs;  // without and with communication
  std::string counters;
  std::string output;
  RunArguments reading;
  OutputOptions delivery;
};

/// Derives pairs from two recordings, prints a summary and writes the tree.
[[nodiscard]] Result<int> FitOverlapFromTraces(const FitOverlapTracesArguments& arguments);

}  // namespace orrery::cli
