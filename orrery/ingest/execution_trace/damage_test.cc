#include <cstddef>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/execution_trace/reading_test.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/reading_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {

using ::testing::HasSubstr;
using trace::Trace;

const std::string kNodeA = R"({"name": "a", "id": 3, "parent": 1, "scope": 0})";
const std::string kNodeB = R"({"name": "b", "id": 4, "parent": 3, "scope": 0})";
const std::string kRoot =
    R"({"name": "[pytorch|profiler|execution_trace|process]", "id": 1, "parent": 1})";

std::string Document(const std::string& nodes) {
  return R"({"schema": "1.0.1", "nodes": [)" + nodes + R"(], "finish_ts": 9})";
}

TEST(DamagedExecutionTrace, KeepsTheNodesBeforeACut) {
  const std::string text = Document(kNodeA + "," + kNodeB + "," + kRoot);
  const std::size_t cut = text.find("\"b\"");
  const Trace trace = ReadText(text.substr(0, cut));
  EXPECT_EQ(trace.graph_nodes.size(), 1U);
  ASSERT_FALSE(trace.problems.all().empty());
  const trace::Problem& problem = trace.problems.all()[0];
  EXPECT_EQ(problem.what, "truncated JSON");
  EXPECT_EQ(problem.severity, trace::Severity::kLoss);
  EXPECT_EQ(problem.first, "byte " + std::to_string(cut) + ", 1 nodes kept");
}

TEST(DamagedExecutionTrace, CallsAFileWithoutItsEndClosedEarly) {
  const std::string text = R"({"schema": "1.0.1", "nodes": [)" + kNodeA + ",\n" + kRoot + ",\n";
  const Trace trace = ReadText(text);
  EXPECT_EQ(trace.graph_nodes.size(), 2U);
  EXPECT_EQ(ProblemCount(trace, "closed early"), 1);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(DamagedExecutionTrace, SaysThatAFinishedFileIsWhole) {
  EXPECT_TRUE(ReadText(Document(kRoot)).problems.all().empty());
  EXPECT_EQ(
      ProblemCount(ReadText(R"({"schema": "1.0.1", "nodes": [)" + kRoot + "]}"), "no finish_ts"),
      1);
}

TEST(DamagedExecutionTrace, HangsOrphansOnTheRoot) {
  const Trace trace = ReadText(
      Document(R"({"name": "o", "id": 5, "parent": 77}, {"name": "p", "id": 6},)" + kRoot));
  EXPECT_EQ(trace.graph_nodes.parent[1], 0U);
  EXPECT_EQ(trace.graph_nodes.parent[2], 0U);
  EXPECT_EQ(ProblemCount(trace, "graph node whose parent is missing"), 2);
}

TEST(DamagedExecutionTrace, BreaksCyclesOfParents) {
  // 3 -> 4 -> 5 -> 3 and 6 -> 6; 7 hangs on the first cycle and is no part of it.
  const Trace trace = ReadText(Document(
      R"({"name": "x", "id": 3, "parent": 4}, {"name": "y", "id": 4, "parent": 5},
         {"name": "z", "id": 5, "parent": 3}, {"name": "s", "id": 6, "parent": 6},
         {"name": "t", "id": 7, "parent": 4},)" +
      kRoot));
  EXPECT_EQ(ProblemCount(trace, "cycle of graph nodes"), 2);
  for (RowId row = 0; row < trace.graph_nodes.size(); ++row) {
    std::size_t steps = 0;
    for (RowId up = row; up != kNoRow && steps <= 6; up = trace.graph_nodes.parent[up]) {
      ++steps;
    }
    EXPECT_LE(steps, 6U) << "row " << row << " never reaches the root";
  }
  EXPECT_EQ(trace.graph_nodes.parent[RowOf(trace, 7)], RowOf(trace, 4));
}

TEST(DamagedExecutionTrace, NotesIdsThatRepeat) {
  const Trace trace = ReadText(Document(kNodeA + "," + kNodeA + "," + kRoot));
  EXPECT_EQ(trace.graph_nodes.size(), 3U);
  EXPECT_EQ(ProblemCount(trace, "graph nodes that share an id"), 1);
}

TEST(DamagedExecutionTrace, RepairsCharactersAndBareWords) {
  const Trace trace = ReadText(Document(
      "{\"name\": \"a\xFF\nb\", \"id\": 2, \"parent\": 1, \"inputs\": [NaN, -Infinity,]}, " +
      kRoot + ","));
  const auto node = trace.graph_nodes.At(RowOf(trace, 2));
  EXPECT_EQ(trace.Text(node.name), "a\xEF\xBF\xBD\nb");
  EXPECT_EQ(trace.Text(node.input_values), "[null,null]");
  EXPECT_EQ(ProblemCount(trace, "invalid UTF-8"), 1);
  EXPECT_EQ(ProblemCount(trace, "control character"), 1);
  EXPECT_EQ(ProblemCount(trace, "NaN or infinity"), 2);
  EXPECT_EQ(ProblemCount(trace, "stray comma"), 2) << "one in the node, one between nodes";
  EXPECT_FALSE(trace.problems.has_loss());
}

TEST(DamagedExecutionTrace, DropsAndCountsNodesThatCannotBeRead) {
  const Trace trace = ReadText(Document(R"({}, {"name": "no id"}, {"id": 4 "name"}, 17,)" + kRoot));
  EXPECT_EQ(trace.graph_nodes.size(), 1U);
  EXPECT_EQ(ProblemCount(trace, "empty object"), 1);
  EXPECT_EQ(ProblemCount(trace, "node without an id"), 1);
  EXPECT_EQ(ProblemCount(trace, "a node is not valid JSON"), 2);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(DamagedExecutionTrace, StopsAtTheDepthLimitAndKeepsWhatCameBefore) {
  const std::string deep =
      R"({"id": 9, "inputs": )" + std::string(70, '[') + std::string(70, ']') + "}";
  const Trace trace = ReadText(Document(kRoot + "," + deep + "," + kNodeA));
  EXPECT_EQ(trace.graph_nodes.size(), 1U);
  EXPECT_EQ(ProblemCount(trace, "reading stopped: byte"), 1);
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(DamagedExecutionTrace, RefusesAFileWithoutAnyNode) {
  const std::string text = Document("");
  const auto file = InputFile::FromMemory("empty.json", text);
  const auto content = kFormat.Read(*file, {});
  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(), HasSubstr("empty.json"));
}

}  // namespace
}  // namespace orrery::ingest::execution_trace
