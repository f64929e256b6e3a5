#include "orrery/api/memory.h"

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
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/cancellation.h"
#include "orrery/api/errors.h"
#include "orrery/api/fields.h"
#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/input.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/ingest/pieces.h"
#include "orrery/memory/coverage.h"
#include "orrery/trace/finish.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

using Reads = MemoryTool::Reads;

/// A tool's result, and whether something of the recording is lost.
struct PieceResult {
  MemoryToolResult result;
  bool is_partial = false;
};

// Below it a recording fits into memory many times over, and all lists can be shown.
constexpr std::uintmax_t kLargeBytes = 64 << 20;

ingest::PiecesOptions OptionsOf(const MemoryTool& tool, const MemoryRequest& request) {
  ingest::PiecesOptions options;
  options.read.threads = request.run.threads;
  options.read.step_marker = request.run.step_marker;
  options.with_touches = std::ranges::find(tool.needs, memory::Need::kTouches) != tool.needs.end();
  if (request.piece) {
    options.piece_bytes = static_cast<std::uint64_t>(*request.piece);
  }
  return options;
}

bool TakesPieces(const MemoryTool& tool, const MemoryRequest& request) {
  const RunInput& run = request.run;
  if (request.whole || run.paths.size() != 1 || !tool.begin) {
    return false;
  }
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(run.paths.front(), error);
  return !error && (request.piece || bytes >= kLargeBytes) && ingest::HasPieces(run.paths.front());
}

Result<PieceResult> RunInPieces(const MemoryTool& tool, const MemoryRequest& request,
                                std::size_t top) {
  const RunInput& run = request.run;
  ORRERY_TRY_STATUS(trace::CheckStepMarker(run.step_marker));
  const std::string& path = run.paths.front();
  ORRERY_TRY(const std::unique_ptr<ingest::Pieces> pieces,
             ingest::OpenPieces(path, OptionsOf(tool, request)));
  const MemoryAnalysis analysis = tool.begin({.top = top, .threads = run.threads});
  CoverageAndNeeds seen;
  std::int64_t done = 0;
  while (true) {
    ORRERY_TRY(const trace::Trace* const piece, pieces->Next());
    if (piece == nullptr) {
      break;
    }
    seen.Add(*piece);
    ORRERY_TRY_STATUS(analysis.add(*piece));
    if (request.call.progress) {
      request.call.progress(++done, static_cast<std::int64_t>(pieces->size()), path);
    }
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

Result<const MemoryTool*> FindTool(const MemoryTools& tools, const std::string& name) {
  for (const MemoryTool& tool : tools) {
    if (tool.name == name) {
      return &tool;
    }
  }
  return NotFound("no such memory tool: {}{} (orrery memory --help lists them)", name,
                  DidYouMean(name, NamesOf(tools)));
}

std::string TitleOf(const MemoryInput& input) {
  std::string title;
  for (const MemoryRun& run : input.runs) {
    title += (title.empty() ? "" : ", ") + run.title;
  }
  return title;
}

Result<MemoryToolResult> ResultOf(const MemoryTools& tools, const MemoryTool* tool,
                                  const MemoryInput& input) {
  MemoryToolResult result;
  if (tool == nullptr) {
    result = MemorySummary(input.trace(), tools);
  } else {
    ORRERY_TRY_STATUS(CheckToolNeeds(*tool, input));
    ORRERY_TRY(result, tool->Run(input));
  }
  result.coverage = CoverageLines(input);
  AddCoverageParts(input, result.coverage_parts);
  return result;
}

MemorySources SourcesOf(const MemoryRequest& request) {
  MemorySources sources{.run = request.run,
                        .times = request.times,
                        .top = std::max<std::size_t>(1, request.top),
                        .progress = request.call.progress};
  if (request.rank) {
    sources.rank = static_cast<std::int32_t>(*request.rank);
  }
  return sources;
}

// Data of the sections of a key, for programs.
Value DataOf(const Document& document, std::string_view key) {
  Value data = Value::Object();
  for (const Document::Section& section : document.sections) {
    for (const Document::Block& block : section.blocks) {
      if (section.key != key) {
        continue;
      }
      if (const auto* const fact = std::get_if<Document::Fact>(&block);
          fact != nullptr && !fact->key.empty()) {
        data.Set(fact->key, fact->value);
      } else if (const auto* const table = std::get_if<Document::Table>(&block);
                 table != nullptr && !table->key.empty()) {
        data.Set(table->key, Value::ListOf(RowsOf(*table)));
      }
    }
  }
  return data;
}

MemoryResult MakeResult(std::string_view tool, const std::string& title,
                        const MemoryToolResult& found, Document document) {
  return {.tool = std::string(tool),
          .title = title,
          .coverage = found.coverage,
          .coverage_parts = found.coverage_parts,
          .times = found.times,
          .facts = DataOf(document, "facts"),
          .tables = DataOf(document, "tables"),
          .notes = found.sentences,
          .document = std::make_shared<const Document>(std::move(document))};
}

MemoryResult MakeResult(std::string_view tool, const std::string& title,
                        const MemoryToolResult& found, bool is_partial) {
  MemoryResult result = MakeResult(tool, title, found, MemoryDocument(tool, title, found));
  result.is_partial = is_partial;
  return result;
}

Result<MemoryResult> RunPaper(const MemoryRequest& request, const MemoryTools& tools) {
  ORRERY_TRY(MemoryPaper paper, MakeMemoryPaper(request.paper, SourcesOf(request), tools));
  MemoryResult result = MakeResult("paper", paper.name, paper.result, std::move(paper.document));
  result.is_partial = paper.is_partial;
  return result;
}

Result<MemoryResult> RunTool(const MemoryRequest& request) {
  if (request.run.paths.empty() == request.paper.empty()) {
    return InvalidInput("either PATH or --paper is required");
  }
  const MemoryTools tools = AllMemoryTools(request);
  if (!request.paper.empty()) {
    return RunPaper(request, tools);
  }
  const MemoryTool* tool = nullptr;
  if (!request.tool.empty()) {
    ORRERY_TRY(tool, FindTool(tools, request.tool));
  }
  const MemorySources sources = SourcesOf(request);
  // Launches are aligned with those of another run as a whole.
  const bool is_whole = sources.rank || !sources.times.empty();
  if (tool != nullptr && !is_whole && TakesPieces(*tool, request)) {
    ORRERY_TRY(PieceResult result, RunInPieces(*tool, request, sources.top));
    return MakeResult(tool->name, MemoryTitle(request.run.paths.front()), result.result,
                      result.is_partial);
  }
  const Reads reads = tool == nullptr ? Reads::kOneRank : tool->reads;
  const bool joins_times = tool == nullptr || tool->joins_times;
  ORRERY_TRY(const ReadMemory read, ReadMemoryRuns(sources, reads, joins_times));
  ORRERY_TRY(const MemoryInput input, MemoryInputOf(sources, read, reads));
  ORRERY_TRY(MemoryToolResult result, ResultOf(tools, tool, input));
  if (!read.joins.empty()) {
    AddTimes(read.joins, result);
  }
  return MakeResult(tool == nullptr ? "summary" : tool->name, TitleOf(input), result,
                    read.is_partial());
}

}  // namespace

Result<MemoryResult> Memory(const Session& /*session*/, const MemoryRequest& request) {
  return RunCancellable(request.call, [&] { return RunTool(request); });
}

report::Document MakeDocument(const MemoryResult& result) {
  report::Document document = *result.document;
  document.data = ToObject(result);
  return document;
}

}  // namespace orrery::api
