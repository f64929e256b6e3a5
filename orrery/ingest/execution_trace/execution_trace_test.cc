#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/execution_trace/reading_test.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

namespace orrery::ingest::execution_trace {
namespace {

using ::testing::ElementsAre;
using trace::GraphNodeKind;
using trace::Trace;

bool Matches(std::string_view text) {
  return kFormat.matches(*InputFile::FromMemory("memory", text));
}

std::string Fixture(std::string_view name) {
  return std::string(ORRERY_TEST_DATA "/execution_trace/").append(name);
}

// The fixtures are in exit order, as the observer writes: child before parent, roots last.
TEST(ExecutionTrace, ReadsFlatNodesInOrderOfId) {
  const Trace trace = ReadPath(Fixture("flat.json"));
  EXPECT_THAT(trace.graph_nodes.id, ElementsAre(1, 2, 5, 7));
  EXPECT_THAT(trace.graph_nodes.kind,
              ElementsAre(GraphNodeKind::kRoot, GraphNodeKind::kRoot, GraphNodeKind::kAnnotation,
                          GraphNodeKind::kOperator));
  EXPECT_THAT(trace.graph_nodes.parent, ElementsAre(kNoRow, 0, 1, 2));
  EXPECT_EQ(trace.problems.all().size(), 0U);
}

TEST(ExecutionTrace, FillsTheColumnsOfAFlatNode) {
  const Trace trace = ReadPath(Fixture("flat.json"));
  const auto copy = trace.graph_nodes.At(RowOf(trace, 7));
  EXPECT_EQ(trace.Text(copy.name), "aten::copy_");
  EXPECT_EQ(copy.record_function_id, 3);
  EXPECT_EQ(copy.thread, 1);
  EXPECT_EQ(trace.Text(copy.op_schema), "aten::copy_(Tensor self) -> Tensor");
  EXPECT_EQ(trace.Text(copy.input_values), "[[3,4,0,8,4,\"cpu\"],1.5,\"<None>\"]");
  EXPECT_EQ(trace.Text(copy.input_shapes), "[[2,4],[],[]]");
  EXPECT_EQ(trace.Text(copy.output_types), "[\"Tensor(float)\"]");
  EXPECT_EQ(copy.begin_ns, -1);
  const auto forward = trace.graph_nodes.At(RowOf(trace, 5));
  EXPECT_EQ(forward.sequence, 12);
  EXPECT_EQ(forward.forward_parent, 9);
  EXPECT_EQ(forward.forward_thread, 3);
  EXPECT_EQ(forward.scope, 7);
  EXPECT_EQ(trace.Text(forward.attributes), "\"weight\":{\"a\":1}");
}

TEST(ExecutionTrace, KeepsWhatTheFileSaysAboutItself) {
  const Trace trace = ReadPath(Fixture("flat.json"));
  EXPECT_EQ(trace.info.format, "PyTorch execution trace");
  EXPECT_EQ(trace.info.format_version, "1.0.1");
  EXPECT_EQ(trace.info.rank, -1);
  EXPECT_THAT(trace.info.files, ElementsAre(Fixture("flat.json")));
  ASSERT_EQ(trace.metadata.size(), 5U);
  EXPECT_EQ(trace.Text(trace.metadata.key[1]), "pid");
  EXPECT_EQ(trace.Text(trace.metadata.value[1]), "42");
  EXPECT_EQ(trace.metadata.is_json[1], 1);
  EXPECT_EQ(trace.Text(trace.metadata.value[2]), "2024-02-01 21:01:28");
  EXPECT_EQ(trace.metadata.is_json[2], 0);
}

TEST(ExecutionTrace, FillsTheColumnsOfANestedNode) {
  const Trace trace = ReadPath(Fixture("nested.json"));
  const auto node = trace.graph_nodes.At(RowOf(trace, 4));
  EXPECT_EQ(node.record_function_id, 17);
  EXPECT_EQ(node.sequence, 5);
  EXPECT_EQ(node.thread, 2);
  EXPECT_EQ(node.parent, 0U);
  EXPECT_EQ(trace.Text(node.op_schema), "aten::add(\"x\")");
  EXPECT_EQ(trace.Text(node.input_values), "[[3,4,0,8,4,\"cpu\"]]");
  EXPECT_EQ(trace.Text(node.input_strides), "[[1]]");
  EXPECT_EQ(trace.Text(node.output_values), "[]");
  // Attributes without a column, or that do not fit theirs, are kept as they are.
  EXPECT_EQ(trace.Text(node.attributes),
            R"("inputs.device":"x","tensor_range":"{\"0\":[1,2]}","fw_tid":18446744073709551615)");
}

TEST(ExecutionTrace, TakesTheLastOfTwoEqualKeys) {
  const Trace trace =
      ReadText(R"({"schema": "1.0.1", "nodes": [{"id": 1, "name": "a", "name": "b"}]})");
  EXPECT_EQ(trace.Text(trace.graph_nodes.name[0]), "b");
}

TEST(ExecutionTrace, GivesTheNodesOfAMergedTraceTheirTimes) {
  const Trace trace = ReadPath(Fixture("merged.json"));
  EXPECT_EQ(trace.graph_nodes.begin_ns[RowOf(trace, 5)], 1694128201426750500);
  EXPECT_EQ(trace.graph_nodes.duration_ns[RowOf(trace, 5)], 7000);
  EXPECT_EQ(trace.graph_nodes.kind[RowOf(trace, 6)], GraphNodeKind::kDeviceWork);
  EXPECT_EQ(trace.graph_nodes.parent[RowOf(trace, 6)], RowOf(trace, 5));
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
}

TEST(ExecutionTrace, TurnsTheGpuNodesOfAMergedTraceIntoActivities) {
  const Trace trace = ReadPath(Fixture("merged.json"));
  // In order of time: the copy first.
  ASSERT_EQ(trace.activities.size(), 2U);
  const auto copy = trace.activities.At(0);
  EXPECT_EQ(copy.kind, trace::ActivityKind::kMemcpy);
  EXPECT_EQ(copy.copy_kind, trace::CopyKind::kHostToDevice);
  EXPECT_EQ(copy.bytes, 832);
  const auto kernel = trace.activities.At(1);
  EXPECT_EQ(kernel.begin_ns, 1694128201428003000);
  EXPECT_EQ(kernel.duration_ns, 2000);
  EXPECT_EQ(kernel.correlation, 41);
  EXPECT_EQ(kernel.external_id, 40);
  EXPECT_EQ(kernel.track, copy.track);
  EXPECT_EQ(trace.tracks.thread[kernel.track], 22);
  EXPECT_EQ(trace.tracks.device[kernel.track], 0);
  EXPECT_EQ(trace.launch_shapes.grid_x[kernel.shape], 3);
  EXPECT_EQ(trace.launch_shapes.block_x[kernel.shape], 128);
  EXPECT_EQ(trace.launch_shapes.occupancy_percent[kernel.shape], 12);
}

TEST(ExecutionTrace, IsRecognisedByItsKeys) {
  EXPECT_TRUE(Matches(R"({"schema": "1.0.1", "pid": 1, "nodes": [)"));
  EXPECT_TRUE(Matches(R"({"finish_ts": 1, "nodes": [{"id": 1, "ctrl_deps": 1}], "schema": "x"})"));
  EXPECT_FALSE(Matches(R"({"nodes": [{"id": 1, "label": "a graph of something else"}]})"));
  EXPECT_FALSE(Matches(R"({"schemaVersion": 1, "traceEvents": [{"name": "nodes"}]})"));
  EXPECT_FALSE(Matches(R"({"workload_graph": []})"));
  EXPECT_FALSE(Matches(R"([{"schema": 1, "nodes": []}])"));
  EXPECT_FALSE(Matches(R"({"schema": 1, "nodes": {}})"));
  EXPECT_FALSE(Matches("SQLite format 3"));
  EXPECT_FALSE(Matches(""));
}

TEST(ExecutionTrace, ReadsARecordingOfNothing) {
  const Trace trace = ReadPath(Fixture("fake-ddp64.et.json"));
  EXPECT_EQ(trace.info.format_version, "1.1.1-chakra.0.0.4");
  EXPECT_THAT(trace.graph_nodes.kind, ElementsAre(GraphNodeKind::kRoot));
  EXPECT_THAT(trace.graph_nodes.parent, ElementsAre(kNoRow));
  EXPECT_TRUE(trace.problems.all().empty());
}

}  // namespace
}  // namespace orrery::ingest::execution_trace
