#pragma once

#include <string>

#include "orrery/memory/timeline/history.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::timeline {

/// Where memory was asked for; empty: not known.
struct Site {
  std::string operators;  // "aten::linear > aten::addmm", the outermost first
  std::string region;     // ranges of the program around them, the outermost first
  std::string frame;      // of the call stack, the innermost that is not the framework's own

  auto operator<=>(const Site&) const = default;
};

[[nodiscard]] Site SiteOf(const trace::Trace& trace, const Life& life);

/// Returns the one line that names a site: operators, else the frame, else the region or the name.
[[nodiscard]] std::string SiteText(const trace::Trace& trace, const Life& life);

}  // namespace orrery::memory::timeline
