#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <malloc.h>

#include "orrery/base/error.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/progress.h"
#include "orrery/cli/inputs.h"
#include "orrery/cli/memory/input.h"
#include "orrery/cli/memory/tool.h"
#include "orrery/cli/output.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/pieces.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::cli {
namespace {

using Reads = MemoryTool::Reads;

/// Options of reading large recordings.
struct PieceArguments {
  bool whole = false;                            // at once, whatever the size
  std::optional<std::int64_t> piece_bytes = {};  // in pieces, whatever the size
};

/// A tool's result, and whether something of the recording is lost.
struct PieceResult {
  MemoryResult result;
  bool is_partial = false;
};

// Below it a recording fits into memory many times over, and all lists can be shown.
constexpr std::uintmax_t kLargeBytes = 64 << 20;

// Pieces are alike, so the next one allocates what one has freed. The allocator would hand it to
// the system in between, page by page: more than a quarter of the time.
void KeepFreedMemory() {
  constexpr int kKeptBytes = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
}

ingest::PiecesOptions OptionsOf(const MemoryTool& tool, const RunArguments& run,
                                const PieceArguments& arguments) {
  ingest::PiecesOptions options;
  options.read.threads = run.threads;
  options.read.step_marker = run.step_marker;
  options.with_touches = std::ranges::find(tool.needs, memory::Need::kTouches) != tool.needs.end();
  if (arguments.piece_bytes) {
    options.piece_bytes = static_cast<std::uint64_t>(*arguments.piece_bytes);
  }
  return options;
}

void AddPieceOptions(Verb& verb, PieceArguments& arguments) {
  verb.AddFlag("--whole", arguments.whole,
               "read a large stream at once, for all lists; takes eight times its size in memory");
  verb.AddOption("--piece", arguments.piece_bytes,
                 "read a stream in pieces of about so many bytes, whatever its size")
      .Range(std::int64_t{1}, std::int64_t{1} << 40)
      .Excludes("--whole");
}

bool TakesPieces(const MemoryTool& tool, const RunArguments& run, const PieceArguments& arguments) {
  if (arguments.whole || run.paths.size() != 1 || !tool.begin) {
    return false;
  }
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(run.paths.front(), error);
  return !error && (arguments.piece_bytes || bytes >= kLargeBytes) &&
         ingest::HasPieces(run.paths.front());
}

Result<PieceResult> RunInPieces(const MemoryTool& tool, const RunArguments& run,
                                const PieceArguments& arguments, std::size_t top) {
  ORRERY_TRY_STATUS(trace::CheckStepMarker(run.step_marker));
  KeepFreedMemory();
  const std::string& path = run.paths.front();
  ORRERY_TRY(const std::unique_ptr<ingest::Pieces> pieces,
             ingest::OpenPieces(path, OptionsOf(tool, run, arguments)));
  const MemoryAnalysis analysis = tool.begin({.top = top, .threads = run.threads});
  CoverageAndNeeds seen;
  ProgressLine line(TerminalProgress(), path);
  std::int64_t done = 0;
  while (true) {
    ORRERY_TRY(const trace::Trace* const piece, pieces->Next());
    if (piece == nullptr) {
      break;
    }
    seen.Add(*piece);
    ORRERY_TRY_STATUS(analysis.add(*piece));
    line.Update(++done, static_cast<std::int64_t>(pieces->size()), path);
  }
  const std::string title = std::filesystem::path(path).filename().string();
  ORRERY_TRY_STATUS(seen.Check(tool, title));
  PieceResult result;
  result.is_partial = pieces->is_partial();
  result.result = analysis.finish();
  result.result.coverage = {seen.Line("")};
  seen.AddParts(title, result.result.coverage_parts);
  return result;
}

struct MemoryArguments {
  MemorySources sources;
  PieceArguments pieces;
  MemoryTools tools = AllMemoryTools();
  std::string tool;
  std::string paper;  // a folder of recordings; empty: none
  OutputOptions output;
};

Result<const MemoryTool*> FindTool(const MemoryArguments& arguments) {
  for (const MemoryTool& tool : arguments.tools) {
    if (tool.name == arguments.tool) {
      return &tool;
    }
  }
  return NotFound("no such memory tool: {}{} (orrery memory --help lists them)", arguments.tool,
                  DidYouMean(arguments.tool, NamesOf(arguments.tools)));
}

std::string TitleOf(const MemoryInput& input) {
  std::string title;
  for (const MemoryRun& run : input.runs) {
    title += (title.empty() ? "" : ", ") + run.title;
  }
  return title;
}

Result<MemoryResult> ResultOf(const MemoryArguments& arguments, const MemoryTool* tool,
                              const MemoryInput& input) {
  MemoryResult result;
  if (tool == nullptr) {
    result = MemorySummary(input.trace(), arguments.tools);
  } else {
    ORRERY_TRY_STATUS(CheckToolNeeds(*tool, input));
    ORRERY_TRY(result, tool->Run(input));
  }
  result.coverage = CoverageLines(input);
  AddCoverageParts(input, result.coverage_parts);
  return result;
}

Result<int> Paper(const MemoryArguments& arguments) {
  ORRERY_TRY(const MemoryPaper paper,
             MakeMemoryPaper(arguments.paper, arguments.sources, arguments.tools));
  return Deliver(paper.document, arguments.output, paper.is_partial);
}

Result<int> MemoryInPieces(const MemoryArguments& arguments, const MemoryTool& tool) {
  ORRERY_TRY(PieceResult result,
             RunInPieces(tool, arguments.sources.run, arguments.pieces, arguments.sources.top));
  const std::string title = MemoryTitle(arguments.sources.run.paths.front());
  return Deliver(MemoryDocument(tool.name, title, std::move(result.result)), arguments.output,
                 result.is_partial);
}

Result<int> Memory(const MemoryArguments& arguments) {
  if (arguments.sources.run.paths.empty() == arguments.paper.empty()) {
    return InvalidInput("either PATH or --paper is required");
  }
  if (!arguments.paper.empty()) {
    return Paper(arguments);
  }
  const MemoryTool* tool = nullptr;
  if (!arguments.tool.empty()) {
    ORRERY_TRY(tool, FindTool(arguments));
  }
  // Launches are aligned with those of another run as a whole.
  const bool is_whole = arguments.sources.rank || !arguments.sources.times.empty();
  if (tool != nullptr && !is_whole && TakesPieces(*tool, arguments.sources.run, arguments.pieces)) {
    return MemoryInPieces(arguments, *tool);
  }
  const Reads reads = tool == nullptr ? Reads::kOneRank : tool->reads;
  const bool joins_times = tool == nullptr || tool->joins_times;
  ORRERY_TRY(const ReadMemory read, ReadMemoryRuns(arguments.sources, reads, joins_times));
  ORRERY_TRY(const MemoryInput input, MemoryInputOf(arguments.sources, read, reads));
  ORRERY_TRY(MemoryResult result, ResultOf(arguments, tool, input));
  if (!read.joins.empty()) {
    AddTimes(read.joins, result);
  }
  return Deliver(
      MemoryDocument(tool == nullptr ? "summary" : tool->name, TitleOf(input), std::move(result)),
      arguments.output, read.is_partial());
}

std::string Footer(const MemoryTools& tools) {
  std::string text = "Tools:\n";
  for (const MemoryTool& tool : tools) {
    text += fmt::format("  {:<18} {}\n", tool.name, tool.line);
  }
  return text +
         "\nWithout --tool: what was recorded, and which tools can run on it. Each result says how "
         "completely\nlaunches were observed; accesses known only from arguments are never "
         "counted.\n\nExamples:\n  orrery memory run.orrs\n  orrery memory run.orrs --tool "
         "kernel-frequency --top 10\n  orrery memory run.orrs --tool working-set --html "
         "page.html\n  orrery memory accesses.orrs --times coarse.orrs --tool kernel-frequency";
}

void AddToolOptions(Verb& verb, MemoryTools& tools) {
  for (const MemoryTool& tool : tools) {
    verb.AddGroup(fmt::format("--tool {}", tool.name),
                  [&](Verb& group) { tool.add_options(group); });
  }
}

}  // namespace

void AddMemoryCommand(Verb& app) {
  auto arguments = std::make_shared<MemoryArguments>();
  Verb verb = app.AddVerb("memory", "Memory tools on a recording: --tool NAME");
  verb.Footer(Footer(arguments->tools));
  verb.AddOption("PATH", arguments->sources.run.paths,
                 "files and folders, as orrery info reads them");
  verb.AddOption("--paper", arguments->paper,
                 "all tools on each recording in a folder: the tables and figures of PASTA");
  verb.AddOption("--tool", arguments->tool, "one of the tools below");
  verb.AddOption("--times", arguments->sources.times,
                 "another run of the same program, recorded with times (orrery capture without "
                 "--accesses, Kineto, nsys), which the launches of PATH take over; for several "
                 "recordings one for all or one for each; for --paper a folder with the same names")
      .OneValueEach();
  verb.AddOption("--rank", arguments->sources.rank, "only this rank");
  verb.AddOption("--top", arguments->sources.top, "how many rows of a long list")
      .ShowDefault()
      .Positive();
  AddOutputOptions(verb, arguments->output);
  AddCsvOptions(verb, arguments->output);
  verb.AddOption("--svg", arguments->output.svg_file, "write the pictures to this file");
  AddPieceOptions(verb, arguments->pieces);
  verb.FindOption("--piece").Excludes("--times");
  AddRunOptions(verb, arguments->sources.run);
  AddToolOptions(verb, arguments->tools);
  verb.OnRun([arguments] { return Memory(*arguments); });
}

}  // namespace orrery::cli
