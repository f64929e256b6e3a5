#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"

namespace orrery::workload {

/// Training code that one party wrote and several run (data/workload/stacks.yaml).
struct Stack {
  std::string name;
  hardware::MatchWords match;  // in what tables of published runs call the framework
  std::string reason;
};

/// The team that measured collectives to which the program's constants were fitted.
struct CollectiveSource {
  std::string source;  // as data/models/collectives.yaml has it
  std::string measured_by;
};

struct StackFile {
  std::vector<Stack> stacks;
  std::vector<CollectiveSource> collectives;
};

/// Reads a file of stacks; an error is one sentence.
[[nodiscard]] Result<StackFile> ReadStacks(const std::string& yaml);

/// The one that is part of the program; of stacks the first match counts.
[[nodiscard]] const StackFile& Stacks();

/// Sources of collectives that a stack's author or a team measured.
[[nodiscard]] std::vector<std::string> CollectivesMeasuredBy(std::string_view stack,
                                                             std::string_view team);

/// The stack of a run: what its table states, else the first whose words occur in its framework,
/// else one of its own, named after who measured it.
[[nodiscard]] std::string StackName(std::string_view stated, std::string_view framework,
                                    std::string_view team);

}  // namespace orrery::workload
