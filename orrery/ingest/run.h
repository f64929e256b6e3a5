#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/ingest/format.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest {

/// A file that was given or found but is not part of the result.
struct SkippedFile {
  std::string file;
  std::string why;
};

/// Everything that was read from a run.
struct Run {
  trace::TraceSet set;
  std::vector<MeasurementTable> tables;
  std::vector<SkippedFile> skipped;

  /// Something of the input is not in the result (exit status 3).
  [[nodiscard]] bool is_partial() const;
};

struct RunOptions {
  ReadOptions read;
  /// Called after each file, from any thread.
  std::function<void(std::size_t done, std::size_t total, std::string_view file)> progress;
};

/// Reads files and folders (with all below them) as one run, files in parallel. A rank is what the
/// content says, else what the file's name says, else 0. An execution trace joins the Kineto trace
/// of its rank. Two files of one kind that claim one rank are an error that names both; a file of
/// its own that nothing can be read from is an error, in a folder it is skipped, as is a folder in
/// it that cannot be listed.
[[nodiscard]] Result<Run> ReadRun(const std::vector<std::string>& paths,
                                  const RunOptions& options = {});

}  // namespace orrery::ingest
