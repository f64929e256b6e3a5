#pragma once

#include <set>
#include <string>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Whose runs the scalars of frameworks were fitted to.
struct FittedRuns {
  std::set<std::string> stacks;
  std::set<std::string> teams;

  /// Returns true if the fit has seen runs of this stack or of this team: then a prediction of
  /// another such run is no test.
  [[nodiscard]] bool HaveSeen(const std::string& stack, const std::string& team) const {
    return stacks.contains(stack) || teams.contains(team);
  }
};

/// Reads the lists of a file of `orrery fit frameworks`.
[[nodiscard]] Result<FittedRuns> ReadFittedRuns(const std::string& yaml);

/// Those of the shipped scalars.
[[nodiscard]] const FittedRuns& ShippedFittedRuns();

}  // namespace orrery::workload
