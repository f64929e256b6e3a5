#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "orrery/base/error.h"
#include "orrery/export/torch_snapshot/torch_snapshot.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api {

enum class TraceFormat { kOrr, kChrome, kPerfetto, kTorchSnapshot };

/// The format of a file by its name. An error lists the known ones.
[[nodiscard]] Result<TraceFormat> TraceFormatOf(std::string name);

struct TraceOutputOptions {
  int threads = 0;
  trace::AlignClocks align = trace::AlignClocks::kIfItMatters;  // viewers only
  bool smallest = false;                                        // .orr only
};

/// Extras for a viewer, and rows that the format has no place for.
struct TraceOutput {
  std::size_t num_spans = 0;  // collectives that were matched over the ranks
  bool is_for_viewer = false;
  bool is_aligned = false;
  std::optional<exporting::SnapshotLeftOut> left_out_of_snapshot = {};
};

/// Writes traces in the format of the file name.
[[nodiscard]] Result<TraceOutput> WriteTraceFile(trace::TraceSet& set, const std::string& path,
                                                 const TraceOutputOptions& options = {});

}  // namespace orrery::api
