#pragma once

#include <string>
#include <string_view>

#include "orrery/ingest/nccl_tests/run.h"
#include "orrery/trace/problems.h"

namespace orrery::ingest::nccl_tests {

/// Kinds of lines that start with '#'.
enum class HeaderLine {
  kStart,    // opens the header of a run: versions, the program, its options
  kDetail,   // continues it: devices
  kClosing,  // comes after the last row
  kOther,
};

[[nodiscard]] HeaderLine ClassifyHeaderLine(std::string_view text);

/// Adds a header line to `run`; `text` is without the '#'.
void ReadHeaderLine(std::string_view text, Run& run, trace::ProblemLog& problems);

/// Versions that the libraries print between the lines of the tests ("NCCL version 2.29.3").
[[nodiscard]] bool IsVersionLine(std::string_view line);
void ReadVersionLine(std::string_view line, Run& run);

/// Returns the test that a command line runs ("mpirun … /opt/bin/all_reduce_perf -b 8"), or
/// nothing.
[[nodiscard]] std::string TestOfCommand(std::string_view line);

/// A line of a log without what the launcher put in front: "[1,0]<stdout>:" (Open MPI), "0:"
/// (srun), "host:", "[pod/worker]" (kubectl), "worker-1 |" (compose), a time stamp.
struct PrefixedLine {
  std::string_view prefix;   // the same for all lines of a process; empty: none
  std::string_view content;  // keeps its leading blanks, so that columns stay aligned
};

[[nodiscard]] PrefixedLine SplitPrefix(std::string_view line);

}  // namespace orrery::ingest::nccl_tests
