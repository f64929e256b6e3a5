#pragma once

#include <string>

#include "orrery/base/error.h"

namespace orrery::cli {

/// What `evaluate overlap --echo` was asked.
struct EvaluateEchoArguments {
  std::string folder;
  std::string predictions;
  std::string plot;
  int repeats = 10;
  bool as_json = false;
};

/// Evaluates Echo's slowdown model as shipped and fed correctly, and ours, and prints it.
[[nodiscard]] Result<int> EvaluateEchoFolder(const EvaluateEchoArguments& arguments);

}  // namespace orrery::cli
