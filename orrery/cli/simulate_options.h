#pragma once

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "orrery/base/error.h"
#include "orrery/simulate/simulation.h"

namespace orrery::cli {

/// What a user asks of `orrery simulate`.
struct SimulateArguments {
  std::vector<std::string> inputs;
  std::vector<std::string> settings;  // "plan.tp=4"
  std::string gpu;
  std::string cluster;
  int gpus = 0;  // of programs that do not say it
  std::vector<std::string> echo_times;
  std::string played;
  std::string played_settings;
  std::vector<std::string> kernel_models;
  bool no_fold = false;
  bool overlaps = true;
  double jitter = 0;
  std::vector<std::string> slow;  // "rank=7:1.3"
  std::string html;
  std::string trace;
  bool as_json = false;
};

/// Adds them to the verb.
void AddSimulateOptions(CLI::App& verb, SimulateArguments& arguments);

/// Reads "rank=7:1.3": rank 7 takes 1.3 times as long.
[[nodiscard]] Result<simulate::SlowRank> ParseSlowRank(const std::string& text);

/// What they mean for the engine.
[[nodiscard]] Result<simulate::SimulationOptions> EngineOptions(const SimulateArguments& arguments);

}  // namespace orrery::cli
