#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "orrery/base/error.h"
#include "orrery/cli/run_options.h"
#include "orrery/memory/needs.h"
#include "orrery/report/memory_page.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {

/// One of the runs that a tool looks at: its ranks in order.
struct MemoryRun {
  std::string title;
  std::vector<const trace::Trace*> ranks = {};
};

/// What a tool is given. Its needs are met by each rank.
struct MemoryInput {
  std::vector<MemoryRun> runs = {};
  std::size_t top = 20;  // how many of what a list can grow long with
  int threads = 0;

  /// The trace of a tool for one rank.
  [[nodiscard]] const trace::Trace& trace() const { return *runs.front().ranks.front(); }
};

/// A tool of `orrery memory`: one file memory_NAME.cc each, listed in memory_tools.cc.
class MemoryTool {
 public:
  /// How the paths on the command line are taken.
  enum class Reads : std::uint8_t {
    kOneRank,  // one run, of which --rank chooses
    kRun,      // one run with all its ranks
    kRuns,     // each path is a run of its own
  };

  MemoryTool() = default;
  MemoryTool(const MemoryTool&) = delete;
  MemoryTool& operator=(const MemoryTool&) = delete;
  virtual ~MemoryTool() = default;

  [[nodiscard]] virtual std::string_view name() const = 0;

  /// What it says, in a line for --help.
  [[nodiscard]] virtual std::string_view line() const = 0;
  [[nodiscard]] virtual std::vector<memory::Need> needs() const = 0;

  [[nodiscard]] virtual Reads reads() const { return Reads::kOneRank; }

  /// Adds options of its own, bound to its members. Names must differ from those of other tools.
  virtual void AddOptions([[maybe_unused]] CLI::App& verb) {}

  /// Returns facts, tables and pictures; name, title and coverage are filled in by the verb.
  [[nodiscard]] virtual Result<report::MemoryPage> Run(const MemoryInput& input) const = 0;
};

using MemoryTools = std::vector<std::unique_ptr<MemoryTool>>;

/// All tools, in the order of --help.
[[nodiscard]] MemoryTools AllMemoryTools();

/// Fails where a rank of a run lacks what the tool needs; the sentence names run and tool.
[[nodiscard]] Status CheckToolNeeds(const MemoryTool& tool, const MemoryInput& input);

/// Returns one line for each run: how well its launches were seen.
[[nodiscard]] std::vector<std::string> CoverageLines(const MemoryInput& input);

/// What all tools together show of the recordings in a folder.
struct MemoryPaper {
  report::MemoryPage page;
  bool is_partial = false;  // something of a recording is lost
};

/// Runs each tool on each file of a folder, in the order of the paper whose tables and figures they
/// show. What cannot run is said in a sentence.
[[nodiscard]] Result<MemoryPaper> MakeMemoryPaper(const std::string& folder,
                                                  const RunArguments& arguments,
                                                  const MemoryTools& tools, std::size_t top);

/// What `orrery memory` says without a tool: what was recorded, and which tools can run on it.
[[nodiscard]] report::MemoryPage MemorySummary(const trace::Trace& trace, const MemoryTools& tools);

}  // namespace orrery::cli
