#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/simulate/simulation.h"

namespace orrery::cli {

/// Options of `orrery simulate`.
struct SimulateArguments {
  std::vector<std::string> inputs;
  std::string from;  // folder of a traced job, or of Echo's tracer; then there are no inputs
  int world = 0;     // ranks of it; 0: as traced
  std::vector<std::string> settings;  // "plan.tp=4"
  std::string gpu;
  std::string cluster;
  int gpus = 0;  // of programs that do not say it
  std::vector<std::string> echo_times;
  std::string emulated;
  std::string emulated_settings;
  std::vector<std::string> kernel_models;
  bool no_fold = false;
  simulate::OverlapKind overlap = simulate::OverlapKind::kAnalytic;
  double jitter = 0;
  std::vector<std::string> slow;     // "rank=7:1.3"
  std::vector<std::string> gpu_of;   // "ranks=8-15:A100-80GB"
  std::vector<std::string> fail;     // "node=3:nic=2"
  std::vector<std::string> degrade;  // "node=3:0.5"
  std::string trace;
  OutputOptions output;
};

/// Adds them to the verb.
void AddSimulateOptions(Verb& verb, SimulateArguments& arguments);

/// Reads "rank=7:1.3": rank 7 takes 1.3 times as long.
[[nodiscard]] Result<simulate::SlowRank> ParseSlowRank(const std::string& text);

/// Reads "ranks=8-15:A100-80GB" and returns the key of a job that says the same:
/// "gpu_of.8-15=A100-80GB".
[[nodiscard]] Result<std::string> GpuOfSetting(const std::string& text);

/// Reads "node=3:nic=2": NIC 2 of node 3 is down.
[[nodiscard]] Result<simulate::FailedNic> ParseFailedNic(const std::string& text);

/// Reads "node=3:0.5": the NICs of node 3 carry half.
[[nodiscard]] Result<simulate::SlowNode> ParseSlowNode(const std::string& text);

/// What they mean for the engine.
[[nodiscard]] Result<simulate::SimulationOptions> EngineOptions(const SimulateArguments& arguments);

}  // namespace orrery::cli
