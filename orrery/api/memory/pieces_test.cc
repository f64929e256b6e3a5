#include "orrery/memory/pieces_test.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/api/fields/documents.h"
#include "orrery/api/memory/tool.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/memory/random_recording_test.h"
#include "orrery/memory/recording_test.h"
#include "orrery/report/document.h"
#include "orrery/trace/trace.h"

namespace orrery::api {
namespace {

// Whatever a reader sees of a result.
std::string TextOf(const MemoryToolResult& result) {
  const Document document = MemoryDocument("tool", "recording", result);
  return report::RenderJson(document) + report::RenderText(document) + report::RenderHtml(document);
}

bool IsAboutPieces(const std::string& sentence) {
  return sentence.starts_with("The list of single launches is left out");
}

// Lists of single launches are for recordings that are whole.
MemoryToolResult WithoutLaunches(MemoryToolResult result) {
  std::erase_if(result.sentences, IsAboutPieces);
  std::erase_if(result.tables, [](const auto& table) { return table.key == "launches"; });
  return result;
}

MemoryToolResult PageOf(const MemoryTool& tool, const trace::Trace& trace,
                        const std::vector<std::int64_t>& cuts) {
  const MemoryAnalysis analysis = tool.begin({.top = 5});
  memory::ForEachPiece(trace, cuts, [&](const trace::Trace& piece) {
    const Status added = analysis.add(piece);
    RC_ASSERT(added.has_value());
  });
  return analysis.finish();
}

const MemoryTool* FindTool(const MemoryTools& tools, std::string_view name) {
  const auto found = std::ranges::find(tools, name, &MemoryTool::name);
  return found == tools.end() ? nullptr : &*found;
}

RC_GTEST_PROP(MemoryPieces, AnyCuttingGivesThePageOfTheWhole, ()) {
  const memory::RandomRecording recording(*rc::gen::inRange(0, 60));
  const auto cuts = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, recording.order() + 2));
  for (const MemoryTool& tool : AllMemoryTools()) {
    if (!tool.begin) {
      continue;
    }
    const MemoryToolResult whole =
        *tool.Run({.runs = {{.title = "whole", .ranks = {&recording.trace}}}, .top = 5});
    const MemoryToolResult pieces = PageOf(tool, recording.trace, cuts);
    RC_ASSERT(TextOf(WithoutLaunches(whole)) == TextOf(WithoutLaunches(pieces)));
  }
}

RC_GTEST_PROP(MemoryPieces, AnyCuttingHasTheCoverageAndTheNeedsOfTheWhole, ()) {
  const memory::RandomRecording recording(*rc::gen::inRange(0, 30));
  const auto cuts = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, recording.order() + 2));
  CoverageAndNeeds whole;
  whole.Add(recording.trace);
  CoverageAndNeeds pieces;
  memory::ForEachPiece(recording.trace, cuts,
                       [&](const trace::Trace& piece) { pieces.Add(piece); });
  RC_ASSERT(whole.Line("run") == pieces.Line("run"));
  for (const MemoryTool& tool : AllMemoryTools()) {
    const Status of_whole = whole.Check(tool, "run");
    const Status of_pieces = pieces.Check(tool, "run");
    RC_ASSERT(of_whole.has_value() == of_pieces.has_value());
    RC_ASSERT((of_whole || of_whole.error().message() == of_pieces.error().message()));
  }
}

TEST(MemoryPieces, SingleLaunchesAreListedForWholeRecordingsOnly) {
  memory::TestRecording recording;
  const RowId object = recording.Born(0x1000, 64);
  recording.Touched(recording.Launched("a"), object, 8, 0);  // order 2
  recording.Touched(recording.Launched("b"), object, 8, 0);
  const MemoryTools tools = AllMemoryTools();
  const MemoryTool* const tool = FindTool(tools, "working-set");
  ASSERT_NE(tool, nullptr);
  const MemoryToolResult whole = PageOf(*tool, recording.trace, {});
  EXPECT_EQ(whole.tables.back().key, "launches");
  EXPECT_EQ(whole.tables.back().rows.size(), 2U);
  EXPECT_FALSE(std::ranges::any_of(whole.sentences, IsAboutPieces));
  const MemoryToolResult pieces = PageOf(*tool, recording.trace, {3});
  EXPECT_EQ(pieces.tables.back().key, "operators");
  EXPECT_TRUE(std::ranges::any_of(pieces.sentences, IsAboutPieces));
}

TEST(MemoryPieces, ToolsThatNeedTheWholeSaySo) {
  const MemoryTools tools = AllMemoryTools();
  EXPECT_FALSE(FindTool(tools, "patterns")->begin);
  EXPECT_TRUE(FindTool(tools, "heat")->begin);
}

}  // namespace
}  // namespace orrery::api
