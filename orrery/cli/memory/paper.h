#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/cli/memory/input.h"
#include "orrery/cli/memory/tool.h"

namespace orrery::cli {

/// What all tools together show of the recordings in a folder.
struct MemoryPaper {
  report::Document document;
  bool is_partial = false;  // something of a recording is lost
};

/// Runs each tool on each file of a folder, in the order of the paper whose tables and figures they
/// show. What cannot run is said in a sentence. Times are those of the file with the same name in
/// the folder of `--times`, where it has one.
[[nodiscard]] Result<MemoryPaper> MakeMemoryPaper(const std::string& folder,
                                                  const MemorySources& sources,
                                                  const MemoryTools& tools);

}  // namespace orrery::cli
