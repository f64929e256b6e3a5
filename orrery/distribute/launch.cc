#include "orrery/distribute/launch.h"

#include <array>
#include <optional>

#include "orrery/base/text/decimal.h"

namespace orrery::distribute {
namespace {

struct LaunchVariables {
  const char* processes;
  const char* rank;
};

// srun sets the last two whatever the plugin, but only an MPI plugin sets PMIX_RANK.
constexpr std::array<LaunchVariables, 3> kVariables{{
    {"OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"},
    {"PMI_SIZE", "PMI_RANK"},
    {"SLURM_STEP_NUM_TASKS", "PMIX_RANK"},
}};

std::optional<int> NumberIn(const Environment& environment, const char* name) {
  const char* const text = environment(name);
  const auto number = text == nullptr ? std::nullopt : ParseInteger(text);
  constexpr int kMost = 1 << 24;
  if (!number || *number < 0 || *number > kMost) {
    return std::nullopt;
  }
  return static_cast<int>(*number);
}

}  // namespace

Launch ReadLaunch(const Environment& environment) {
  for (const LaunchVariables& variables : kVariables) {
    const std::optional<int> processes = NumberIn(environment, variables.processes);
    const std::optional<int> rank = NumberIn(environment, variables.rank);
    if (processes && rank && *rank < *processes) {
      return {.processes = *processes, .rank = *rank};
    }
  }
  return {};
}

}  // namespace orrery::distribute
