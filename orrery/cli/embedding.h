#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/shared_run.h"
#include "orrery/ingest/run.h"
#include "orrery/report/document.h"
#include "orrery/trace/clock_alignment.h"

namespace orrery::cli {

/// A run that the caller of a verb has read.
using EmbeddedRun = api::SharedRun;

/// A verb that runs inside another program, as the Python module runs it: what it would print is
/// kept for the caller, and runs that the caller has read are found under their names. One for each
/// thread at a time.
struct Embedding {
  // From the caller.
  std::map<std::string, EmbeddedRun, std::less<>> runs = {};
  /// Reports the progress of long work; called from any thread. Empty: no reports.
  std::function<void(std::int64_t done, std::int64_t total, std::string_view what)> progress = {};

  /// Set by another thread to end the verb soon.
  std::atomic<bool> stop = false;

  // From the verb.
  int status = 0;  // ExitStatus
  std::optional<report::Document> document = {};
  std::string text = {};                  // the output of a verb without a document
  std::vector<std::string> notices = {};  // sentences beside the output
  std::string error = {};                 // the sentence where there is no result

  /// A run that the caller has read, where it is the only path; else none.
  [[nodiscard]] static api::SharedRun FindRun(const std::vector<std::string>& paths);

  /// The one of this thread; nullptr where the program itself runs.
  [[nodiscard]] static Embedding* Current();
};

/// Runs a command, `{"simulate", "job.yaml", "--set", "plan.tp=4"}`, as the program does.
void RunEmbedded(const std::vector<std::string>& words, Embedding& embedding);

}  // namespace orrery::cli
