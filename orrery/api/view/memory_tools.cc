#include "orrery/api/view/memory_tools.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/api/memory/tool.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::api::view {
namespace {

using report::Document;

constexpr std::size_t kMostRanks = 8;  // of which each has pictures
constexpr std::array<std::string_view, 3> kShownTools = {"timeline", "heat", "working-set"};

MemoryInput InputOf(const ViewedRun& run, MemoryTool::Reads reads) {
  MemoryInput input;
  MemoryRun& ranks = input.runs.emplace_back();
  ranks.title = run.name();
  const std::size_t most = reads == MemoryTool::Reads::kOneRank ? 1 : kMostRanks;
  for (const std::uint32_t place : trace::PlacesInRankOrder(run.set())) {
    if (ranks.ranks.size() < most) {
      ranks.ranks.push_back(&run.set().ranks[place]);
    }
  }
  return input;
}

void Say(const MemoryInput& input, const ViewedRun& run, MemoryToolResult& result) {
  const std::size_t num_shown = input.runs.front().ranks.size();
  if (num_shown < run.set().ranks.size()) {
    result.sentences.push_back(fmt::format(
        "Of {} ranks the first {} shown; `orrery memory --rank` has the others.",
        run.set().ranks.size(), num_shown == 1 ? "is" : fmt::format("{} are", num_shown)));
  }
}

}  // namespace

std::vector<Document> MemoryDocuments(const ViewedRun& run) {
  std::vector<Document> documents;
  for (const MemoryTool& tool : AllMemoryTools()) {
    if (std::ranges::find(kShownTools, tool.name) == kShownTools.end()) {
      continue;
    }
    const MemoryInput input = InputOf(run, tool.reads);
    if (!CheckToolNeeds(tool, input)) {
      continue;
    }
    if (Result<MemoryToolResult> result = tool.Run(input)) {
      Say(input, run, *result);
      documents.push_back(MemoryDocument(tool.name, run.name(), *std::move(result)));
    }
  }
  return documents;
}

}  // namespace orrery::api::view
