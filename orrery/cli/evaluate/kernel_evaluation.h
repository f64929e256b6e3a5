#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/evaluate/output.h"
#include "orrery/cli/verb.h"

namespace orrery::cli {

/// Which models evaluate which measured rows.
struct KernelEvaluationArguments {
  std::vector<std::string> paths;
  std::vector<std::string> models;  // empty: the shipped ones
  std::string split;                // empty: evaluate all rows
  double largest_spread_percent = 100;
  bool is_gpu_unseen = false;  // evaluate each row by the models of other GPUs
};

/// Adds DATA, --model, --split, --unseen-gpu and --max-spread to a verb; returns the option DATA.
Option AddEvaluationOptions(Verb& verb, KernelEvaluationArguments& evaluation);

/// The measured tables of the source tree that the running program was built in (data/measured).
[[nodiscard]] Result<std::vector<std::string>> OwnTables();

/// Reads the rows and predicts them: all of them, or those that a split holds out, by models that
/// were fitted on the rest. Fails when no row can be used.
[[nodiscard]] Result<KernelEvaluationResult> EvaluateKernels(
    const KernelEvaluationArguments& evaluation);

}  // namespace orrery::cli
