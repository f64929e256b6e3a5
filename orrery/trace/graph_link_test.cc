#include "orrery/trace/graph_link.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"

namespace orrery::trace {
namespace {

using ::testing::ElementsAre;

// A recording with one host operator for each name; external ids count from 100 in order of start.
class Recording {
 public:
  RowId AddTrack() { return trace.tracks.Append({.thread = next_id_}); }

  RowId AddOp(RowId track, std::string_view name, std::int64_t record_function_id = 0) {
    const std::int64_t id = next_id_++;
    return trace.host_ops.Append({.begin_ns = id,
                                  .duration_ns = 1,
                                  .name = trace.strings.Intern(name),
                                  .track = track,
                                  .external_id = id,
                                  .record_function_id = record_function_id});
  }

  RowId AddAnnotation(RowId track, std::string_view name) {
    const std::int64_t id = next_id_++;
    return trace.annotations.Append({.begin_ns = id,
                                     .duration_ns = 1,
                                     .name = trace.strings.Intern(name),
                                     .track = track,
                                     .external_id = id});
  }

  void AddOps(RowId track, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      AddOp(track, name);
    }
  }

  Trace trace;

 private:
  std::int64_t next_id_ = 100;
};

// An execution trace; row 0 is the root.
class Graph {
 public:
  Graph() {
    // A string that the recording does not have shifts the ids of all others.
    trace.strings.Intern("only in the graph");
    trace.graph_nodes.Append({.id = 1,
                              .name = trace.strings.Intern("[pytorch|root|process]"),
                              .kind = GraphNodeKind::kRoot});
  }

  RowId Add(std::int32_t thread, std::string_view name, std::int64_t record_function_id = 0,
            GraphNodeKind kind = GraphNodeKind::kOperator) {
    return trace.graph_nodes.Append({.id = next_id_++,
                                     .name = trace.strings.Intern(name),
                                     .kind = kind,
                                     .record_function_id = record_function_id,
                                     .thread = thread,
                                     .parent = 0});
  }

  void AddAll(std::int32_t thread, const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      Add(thread, name);
    }
  }

  Trace trace;

 private:
  std::int64_t next_id_ = 2;
};

std::int64_t ProblemCount(const Trace& trace, std::string_view what) {
  std::int64_t count = 0;
  for (const Problem& problem : trace.problems.all()) {
    count += problem.what.starts_with(what) ? problem.count : 0;
  }
  return count;
}

TEST(LinkGraph, MovesNodesWithTheirNamesAndParents) {
  Recording recording;
  Graph graph;
  graph.Add(1, "aten::add");
  graph.trace.metadata.Append({.key = graph.trace.strings.Intern("pid"),
                               .value = graph.trace.strings.Intern("42"),
                               .is_json = 1});
  graph.trace.info.rank = 3;
  graph.trace.info.files = {"et.json"};
  recording.trace.info.files = {"kineto.json"};
  LinkGraph(recording.trace, std::move(graph.trace));
  const Trace& trace = recording.trace;
  ASSERT_EQ(trace.graph_nodes.size(), 2U);
  EXPECT_EQ(trace.Text(trace.graph_nodes.name[1]), "aten::add");
  EXPECT_EQ(trace.graph_nodes.parent[1], 0U);
  EXPECT_EQ(trace.Text(trace.metadata.key[0]), "execution_trace.pid");
  EXPECT_EQ(trace.Text(trace.metadata.value[0]), "42");
  EXPECT_EQ(trace.info.rank, 3);
  EXPECT_THAT(trace.info.files, ElementsAre("kineto.json", "et.json"));
}

TEST(LinkGraph, LinksByRecordFunctionIdWhateverTheOrder) {
  Recording recording;
  const RowId track = recording.AddTrack();
  const RowId add = recording.AddOp(track, "aten::add", 7);
  const RowId mul = recording.AddOp(track, "aten::mul", 6);
  Graph graph;
  const RowId mul_node = graph.Add(1, "aten::mul", 6);
  const RowId add_node = graph.Add(1, "aten::add", 7);
  graph.Add(1, "aten::relu", 8);
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kRecordFunctionId);
  EXPECT_EQ(summary.linked, 2);
  EXPECT_EQ(summary.unlinked, 1);
  EXPECT_EQ(recording.trace.graph_nodes.host_op[mul_node], mul);
  EXPECT_EQ(recording.trace.graph_nodes.host_op[add_node], add);
  EXPECT_EQ(recording.trace.host_ops.graph_node[add], add_node);
  EXPECT_EQ(ProblemCount(recording.trace, "graph node without a row"), 1);
}

TEST(LinkGraph, DoesNotTrustIdsWhoseNamesDisagree) {
  // The ids of another step: they are the same numbers and mean other operators.
  Recording recording;
  const RowId track = recording.AddTrack();
  recording.AddOp(track, "aten::add", 6);
  recording.AddOp(track, "aten::mul", 7);
  Graph graph;
  graph.Add(1, "aten::mul", 6);
  graph.Add(1, "aten::relu", 7);
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kNone);
  EXPECT_EQ(summary.linked, 0);
  EXPECT_EQ(summary.unlinked, 2);
  EXPECT_EQ(ProblemCount(recording.trace, "execution trace not linked"), 2);
  EXPECT_THAT(recording.trace.host_ops.graph_node, ElementsAre(kNoRow, kNoRow));
}

TEST(LinkGraph, LinksByOrderBehindRowsThatBeganBeforeTheObserver) {
  Recording recording;
  const RowId track = recording.AddTrack();
  recording.AddAnnotation(track, "ProfilerStep#5");
  recording.AddOp(track, "aten::empty");
  const RowId forward = recording.AddAnnotation(track, "forward");
  const RowId add = recording.AddOp(track, "aten::add");
  Graph graph;
  graph.Add(0, "## process_group:init ##", 0, GraphNodeKind::kAnnotation);
  const RowId forward_node = graph.Add(1, "forward", 0, GraphNodeKind::kAnnotation);
  const RowId add_node = graph.Add(1, "aten::add");
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kThreadOrder);
  EXPECT_EQ(summary.linked, 2);
  EXPECT_EQ(summary.unlinked, 0);
  EXPECT_EQ(recording.trace.graph_nodes.annotation[forward_node], forward);
  EXPECT_EQ(recording.trace.annotations.graph_node[forward], forward_node);
  EXPECT_EQ(recording.trace.graph_nodes.host_op[add_node], add);
}

TEST(LinkGraph, PairsThreadsByWhatTheyRan) {
  // The thread that starts first in the recording is the second of the graph.
  Recording recording;
  const RowId backward = recording.AddTrack();
  const RowId forward = recording.AddTrack();
  recording.AddOps(backward, {"b1", "b2"});
  recording.AddOps(forward, {"f1", "f2", "f3"});
  Graph graph;
  graph.AddAll(1, {"f1", "f2", "f3"});
  graph.AddAll(2, {"b1", "b2"});
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.linked, 5);
  EXPECT_THAT(recording.trace.host_ops.graph_node, ElementsAre(4, 5, 1, 2, 3));
}

TEST(LinkGraph, LinksOneStepWithEveryRepetition) {
  Recording recording;
  const RowId track = recording.AddTrack();
  for (const char* step : {"ProfilerStep#3", "ProfilerStep#4"}) {
    recording.AddAnnotation(track, step);
    recording.AddOps(track, {"aten::add", "aten::add", "aten::mul"});
  }
  Graph graph;
  graph.Add(1, "ProfilerStep#9", 0, GraphNodeKind::kAnnotation);
  graph.AddAll(1, {"aten::add", "aten::add", "aten::mul"});
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kStepOrder);
  EXPECT_EQ(summary.linked, 4);
  EXPECT_THAT(recording.trace.annotations.graph_node, ElementsAre(1, 1));
  EXPECT_THAT(recording.trace.host_ops.graph_node, ElementsAre(2, 3, 4, 2, 3, 4));
  EXPECT_THAT(recording.trace.graph_nodes.host_op, ElementsAre(kNoRow, kNoRow, 0, 1, 2));
}

// A thread of 200 operators, of which the first `different` from the middle on have other names.
void FillAlmostEqual(int different, Recording& recording, Graph& graph) {
  const RowId track = recording.AddTrack();
  for (int i = 0; i < 200; ++i) {
    const std::string name = "op" + std::to_string(i);
    const bool differs = i >= 100 && i < 100 + different;
    recording.AddOp(track, differs ? "other" : name);
    graph.Add(1, name);
  }
}

TEST(LinkGraph, AcceptsOnePerCentOfOtherNamesAndNoMore) {
  Recording recording;
  Graph graph;
  FillAlmostEqual(2, recording, graph);
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kThreadOrder);
  EXPECT_EQ(summary.linked, 198);
  EXPECT_EQ(recording.trace.host_ops.graph_node[100], kNoRow);

  Recording worse_recording;
  Graph worse_graph;
  FillAlmostEqual(3, worse_recording, worse_graph);
  const auto refused = LinkGraph(worse_recording.trace, std::move(worse_graph.trace));
  EXPECT_EQ(refused.rule, GraphLinkRule::kNone);
  EXPECT_EQ(refused.linked, 0);
}

TEST(LinkGraph, RefusesWhenAThreadIsMissing) {
  Recording recording;
  recording.AddOps(recording.AddTrack(), {"f1", "f2", "f3"});
  Graph graph;
  graph.AddAll(1, {"f1", "f2", "f3"});
  graph.AddAll(2, {"b1", "b2"});
  EXPECT_EQ(LinkGraph(recording.trace, std::move(graph.trace)).rule, GraphLinkRule::kNone);
}

// A recording whose collective knows its kind only, and an execution trace that knows the rest.
struct CollectiveCase {
  Recording recording;
  Graph graph;

  void AddCall(RowId track, CollectiveKind kind) {
    const RowId op = recording.AddOp(track, "record_param_comms");
    recording.trace.collectives.Append({.kind = kind, .host_op = op, .num_kernels = 1});
  }

  void AddNode(CollectiveKind kind) {
    Trace& trace = graph.trace;
    const RowId group = trace.process_groups.Append(
        {.name = trace.strings.Intern("tp"), .num_ranks = 8, .communicator = 77});
    trace.collectives.Append({.name = trace.strings.Intern("allreduce"),
                              .kind = kind,
                              .group = group,
                              .data_type = DataType::kFp16,
                              .in_elements = 10,
                              .out_elements = 10,
                              .in_bytes = 20,
                              .out_bytes = 20,
                              .sequence = 337,
                              .graph_node = graph.Add(1, "record_param_comms")});
  }
};

TEST(LinkGraph, TellsCollectivesWhatTheyDidNotKnow) {
  CollectiveCase both;
  both.recording.trace.process_groups.Append({.communicator = 5});
  both.recording.trace.process_groups.Append({.communicator = 77});
  both.AddCall(both.recording.AddTrack(), CollectiveKind::kAllReduce);
  both.recording.trace.collectives.in_elements[0] = 4;
  both.AddNode(CollectiveKind::kAllReduce);
  LinkGraph(both.recording.trace, std::move(both.graph.trace));
  const Trace& trace = both.recording.trace;
  const auto call = trace.collectives.At(0);
  EXPECT_EQ(trace.Text(call.name), "allreduce");
  EXPECT_EQ(call.data_type, DataType::kFp16);
  EXPECT_EQ(call.in_elements, 4) << "what the recording says stays";
  EXPECT_EQ(call.out_elements, 10);
  EXPECT_EQ(call.in_bytes, 20);
  EXPECT_EQ(call.sequence, 337);
  EXPECT_EQ(call.graph_node, 1U);
  EXPECT_EQ(call.group, 1U) << "the pointer names the group in both";
  EXPECT_EQ(trace.process_groups.size(), 2U);
  EXPECT_EQ(trace.process_groups.num_ranks[1], 8);
}

TEST(LinkGraph, DoesNotCarryNumbersFromOneStepToAnother) {
  for (const CollectiveKind kind : {CollectiveKind::kAllReduce, CollectiveKind::kAllToAll}) {
    CollectiveCase both;
    const RowId track = both.recording.AddTrack();
    both.AddCall(track, kind);
    both.AddCall(track, kind);
    both.AddNode(kind);
    const auto summary = LinkGraph(both.recording.trace, std::move(both.graph.trace));
    ASSERT_EQ(summary.rule, GraphLinkRule::kStepOrder);
    const Collectives& calls = both.recording.trace.collectives;
    EXPECT_THAT(calls.sequence, ElementsAre(-1, -1));
    EXPECT_THAT(calls.graph_node, ElementsAre(1, 1));
    // The bytes of an all-to-all depend on the data of its step.
    const std::int64_t bytes = kind == CollectiveKind::kAllToAll ? -1 : 20;
    EXPECT_THAT(calls.in_bytes, ElementsAre(bytes, bytes));
  }
}

TEST(LinkGraph, KeepsNodesThatItCannotLink) {
  Recording recording;
  Graph graph;
  graph.AddAll(1, {"f1", "f2"});
  const auto summary = LinkGraph(recording.trace, std::move(graph.trace));
  EXPECT_EQ(summary.rule, GraphLinkRule::kNone);
  EXPECT_EQ(recording.trace.graph_nodes.size(), 3U);
  EXPECT_EQ(summary.rule, GraphLinkRule::kNone);
}

}  // namespace
}  // namespace orrery::trace
