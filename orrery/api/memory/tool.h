#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory.h"
#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/trace.h"

namespace orrery::api {

/// One of the runs that a tool looks at: its ranks in order.
struct MemoryRun {
  std::string title;
  std::vector<const trace::Trace*> ranks = {};
  std::vector<const trace::Trace*> times = {};  // of ranks, from --times; empty, or some nullptr
};

/// The input of a tool. Its needs are met by each rank.
struct MemoryInput {
  std::vector<MemoryRun> runs = {};
  std::size_t top = 20;  // the length of lists that can grow long
  int threads = 0;

  /// The trace of a tool for one rank.
  [[nodiscard]] const trace::Trace& trace() const { return *runs.front().ranks.front(); }
};

/// The result of a tool, and the coverage of the recording.
struct MemoryToolResult {
  std::vector<Document::Fact> facts = {};
  std::vector<Document::Picture> pictures = {};
  std::vector<Document::Table> tables = {};
  std::vector<std::string> sentences = {};  // the result in words and the rules that were used
  std::vector<std::string> coverage = {};   // one line for each rank or run
  Value coverage_parts = Value::List();     // the same in numbers
  std::vector<std::string> times = {};      // sources of the times, if from another run
};

/// Returns the document of a tool's result.
[[nodiscard]] Document MemoryDocument(std::string_view tool, const std::string& title,
                                      MemoryToolResult result);

/// A tool at work on one rank, which takes a recording in pieces, so that memory is bounded by the
/// piece and by what the tool keeps. A piece is a trace of a part of the recording, in the order
/// of events: its device work with all that is known of it, and every object that exists at some
/// time in it, in the order in which a trace of the whole has them. What an object lies in is the
/// innermost of those around it that the piece has. A trace that is whole is one piece.
struct MemoryAnalysis {
  /// Pieces come in the order of events and are valid during the call only.
  std::function<Status(const trace::Trace& piece)> add;

  /// After the last piece. The result does not depend on where the recording was divided.
  std::function<MemoryToolResult()> finish;
};

/// A tool of `orrery memory`: one function in its own file each, listed in tools.cc.
struct MemoryTool {
  /// The way in which the paths on the command line are taken.
  enum class Reads : std::uint8_t {
    kOneRank,  // one run, of which --rank chooses
    kRun,      // one run with all its ranks
    kRuns,     // each path is a run of its own
  };

  std::string_view name;
  std::string_view line;              // its result, for --help
  std::string_view first_field = {};  // of its own in MemoryRequest
  std::string_view last_field = {};
  std::vector<memory::Need> needs;
  Reads reads = Reads::kOneRank;

  /// If true, --times gives the launches of its runs times. Else runs stay on their own clocks, and
  /// the tool looks into MemoryRun::times itself.
  bool joins_times = true;

  /// Empty for tools that need a recording whole. Of the input only `top` and `threads` are used.
  std::function<MemoryAnalysis(const MemoryInput& input)> begin = {};

  /// Returns fields, tables and pictures; name, title and coverage are filled in by the verb. Empty
  /// for tools that take pieces: they are given each rank of the first run as one.
  std::function<Result<MemoryToolResult>(const MemoryInput& input)> run_whole = {};

  [[nodiscard]] Result<MemoryToolResult> Run(const MemoryInput& input) const;
};

using MemoryTools = std::vector<MemoryTool>;

/// All tools, in the order of --help. A request has checked choices (FromValue, the command line).
[[nodiscard]] MemoryTools AllMemoryTools(const MemoryRequest& request = {});

/// The coverage of launches in a recording that comes in pieces, and whether the needs of a tool
/// are met.
class CoverageAndNeeds {
 public:
  void Add(const trace::Trace& piece) { parts_.Add(piece); }

  /// Fails where the recording lacks what the tool needs; the sentence names recording and tool.
  [[nodiscard]] Status Check(const MemoryTool& tool, std::string_view title) const;

  /// Returns how well launches were seen, behind the title if there is one.
  [[nodiscard]] std::string Line(std::string_view title) const;

  /// Adds the same in numbers to a list.
  void AddParts(std::string_view title, Value& parts) const;

 private:
  memory::RecordedParts parts_;
};

/// Fails where a rank of a run lacks what the tool needs; the sentence names run and tool.
[[nodiscard]] Status CheckToolNeeds(const MemoryTool& tool, const MemoryInput& input);

/// Returns one line for each run: how well its launches were seen.
[[nodiscard]] std::vector<std::string> CoverageLines(const MemoryInput& input);

/// Adds the same in numbers to a list.
void AddCoverageParts(const MemoryInput& input, Value& parts);

/// The result of `orrery memory` without a tool: what was recorded, and which tools can run on it.
[[nodiscard]] MemoryToolResult MemorySummary(const trace::Trace& trace, const MemoryTools& tools);

}  // namespace orrery::api
