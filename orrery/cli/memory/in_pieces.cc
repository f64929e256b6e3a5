#include "orrery/cli/memory/in_pieces.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include <malloc.h>

#include "orrery/base/progress.h"
#include "orrery/cli/terminal.h"
#include "orrery/cli/verb.h"
#include "orrery/ingest/pieces.h"
#include "orrery/trace/steps.h"

namespace orrery::cli {
namespace {

// Below it a recording fits into memory many times over, and all lists can be shown.
constexpr std::uintmax_t kLargeBytes = 64 << 20;

// Pieces are alike, so what one gives back the next asks for. The allocator would hand it to the
// system in between, page by page: more than a quarter of the time.
void KeepFreedMemory() {
  constexpr int kKeptBytes = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_MMAP_THRESHOLD, kKeptBytes);
}

bool NeedsTouches(const MemoryTool& tool) {
  const std::vector<memory::Need> needs = tool.needs();
  return std::ranges::find(needs, memory::Need::kTouches) != needs.end();
}

ingest::PiecesOptions OptionsOf(const MemoryTool& tool, const RunArguments& run,
                                const PieceArguments& arguments) {
  ingest::PiecesOptions options;
  options.read.threads = run.threads;
  options.read.step_marker = run.step_marker;
  options.with_touches = NeedsTouches(tool);
  if (arguments.piece_bytes) {
    options.piece_bytes = static_cast<std::uint64_t>(*arguments.piece_bytes);
  }
  return options;
}

}  // namespace

void AddPieceOptions(Verb& verb, PieceArguments& arguments) {
  verb.AddFlag("--whole", arguments.whole,
                "read a large stream at once, for all lists; takes eight times its size in memory");
  verb.AddOption("--piece", arguments.piece_bytes,
                  "read a stream in pieces of about so many bytes, whatever its size")
      .Range(std::int64_t{1}, std::int64_t{1} << 40)
      .Excludes("--whole");
}

bool TakesPieces(const MemoryTool& tool, const RunArguments& run, const PieceArguments& arguments) {
  if (arguments.whole || run.paths.size() != 1 || tool.Begin({}) == nullptr) {
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
  const std::unique_ptr<MemoryAnalysis> analysis = tool.Begin({.top = top, .threads = run.threads});
  CoverageAndNeeds seen;
  ProgressLine line(TerminalProgress());
  std::int64_t done = 0;
  while (true) {
    ORRERY_TRY(const trace::Trace* const piece, pieces->Next());
    if (piece == nullptr) {
      break;
    }
    seen.Add(*piece);
    ORRERY_TRY_STATUS(analysis->Add(*piece));
    line.Update(++done, static_cast<std::int64_t>(pieces->size()), path);
  }
  const std::string title = std::filesystem::path(path).filename().string();
  ORRERY_TRY_STATUS(seen.Check(tool, title));
  PieceResult result;
  result.is_partial = pieces->is_partial();
  ORRERY_TRY(result.page, analysis->Finish());
  result.page.coverage = {seen.Line("")};
  result.page.coverage_parts = seen.Parts(title);
  return result;
}

}  // namespace orrery::cli
