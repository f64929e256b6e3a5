#include "orrery/cli/run_options.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/base/progress.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/steps.h"

namespace orrery::cli {

void AddRunOptions(Verb& verb, RunArguments& arguments) {
  verb.AddOption("--threads", arguments.threads, "threads to use (default: one for each core)")
      .Range(0, 1024);
  verb.AddOption("--max-unpack-ratio", arguments.max_unpack_ratio,
                  "refuse packed files that grow by more than this factor")
      .ShowDefault()
      .Positive();
  verb.AddOption("--step-marker", arguments.step_marker,
                  "regular expression for the names of ranges that are steps");
}

Result<ingest::Run> ReadRunWithProgress(const RunArguments& arguments) {
  ORRERY_TRY_STATUS(trace::CheckStepMarker(arguments.step_marker));
  ProgressLine line(TerminalProgress());
  ingest::RunOptions options;
  options.read.threads = arguments.threads;
  options.read.unpack.max_ratio = arguments.max_unpack_ratio;
  options.read.step_marker = arguments.step_marker;
  options.progress = [&](std::size_t done, std::size_t total, std::string_view file) {
    line.Update(static_cast<std::int64_t>(done), static_cast<std::int64_t>(total), file);
  };
  return ingest::ReadRun(arguments.paths, options);
}

}  // namespace orrery::cli
