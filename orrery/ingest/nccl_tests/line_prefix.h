#pragma once

#include <string_view>

namespace orrery::ingest::nccl_tests {

/// A line of a log without what the launcher put in front: "[1,0]<stdout>:" (Open MPI), "0:"
/// (srun), "host:", "[pod/worker]" (kubectl), "worker-1 |" (compose), a time stamp.
struct PrefixedLine {
  std::string_view prefix;   // the same for all lines of a process; empty: none
  std::string_view content;  // keeps its leading blanks, so that columns stay aligned
};

[[nodiscard]] PrefixedLine SplitPrefix(std::string_view line);

}  // namespace orrery::ingest::nccl_tests
