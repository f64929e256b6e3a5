#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/report/document.h"

namespace orrery::cli {

/// A verb that runs inside another program, as the Python module runs those that are no functions
/// of the library yet: what it would print is kept for the caller. One for each thread at a time.
struct Embedding {
  // From the caller.
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

  /// The one of this thread; nullptr where the program itself runs.
  [[nodiscard]] static Embedding* Current();
};

/// Runs a command, `{"simulate", "job.yaml", "--set", "plan.tp=4"}`, as the program does.
void RunEmbedded(const std::vector<std::string>& words, Embedding& embedding);

}  // namespace orrery::cli
