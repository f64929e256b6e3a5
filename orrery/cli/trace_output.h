#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/error.h"
#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::cli {

enum class TraceFormat { kOrr, kChrome, kPerfetto };

/// Which format the name of a file asks for. An error lists those that there are.
[[nodiscard]] Result<TraceFormat> TraceFormatOf(std::string name);

struct TraceOutputOptions {
  int threads = 0;
  trace::AlignClocks align = trace::AlignClocks::kIfItMatters;  // viewers only
};

/// What was done for a viewer.
struct TraceOutput {
  std::size_t num_spans = 0;  // collectives that were matched over the ranks
  bool is_for_viewer = false;
  bool is_aligned = false;
};

/// Writes traces in the format that the name asks for.
[[nodiscard]] Result<TraceOutput> WriteTraceFile(trace::TraceSet& set, const std::string& path,
                                                 const TraceOutputOptions& options = {});

}  // namespace orrery::cli
