#include "orrery/ingest/execution_trace/collectives.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/json_value.h"
#include "orrery/ingest/execution_trace/reading_test.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::execution_trace {
namespace {
using trace::Trace;

std::string Flat(const std::string& nodes) {
  return R"json({"schema": "1.0.1", "nodes": [)json" + nodes + R"json(], "finish_ts": 9})json";
}

std::string FlatCall(int id, const std::string& inputs, const std::string& types,
                     const std::string& outputs) {
  return R"json({"name": "record_param_comms", "id": )json" + std::to_string(id) +
         R"json(, "parent": 1, "scope": 0, "inputs": )json" + inputs +
         R"json(, "input_types": )json" + types + R"json(, "outputs": )json" + outputs + "}";
}

TEST(ExecutionTraceCollectives, ReadsTheInputsOf2023) {
  const Trace trace = ReadText(Flat(
      FlatCall(9, R"json([141, 0, 3, "wait", [], []])json", R"json(["Int"])json", "[]") + "," +
      FlatCall(12, R"json([[717,714,0,6144,4,"cuda:1"], 147, 94428220485728, 3, "all_to_allv",
                    [768, 5376], [6000, 144]])json",
               R"json(["Tensor(float)", "Int"])json", R"json([[352,723,0,6144,4,"cuda:1"]])json")));
  ASSERT_EQ(trace.collectives.size(), 1U) << "a wait is not a collective";
  const auto call = trace.collectives.At(0);
  EXPECT_EQ(trace.Text(call.name), "all_to_allv");
  EXPECT_EQ(call.kind, CollectiveKind::kAllToAll);
  EXPECT_EQ(call.data_type, DataType::kFp32);
  EXPECT_EQ(call.in_elements, 6144);
  EXPECT_EQ(call.in_bytes, 24576);
  EXPECT_EQ(call.out_bytes, 24576);
  EXPECT_EQ(trace.Text(call.in_splits), "[768,5376]");
  EXPECT_EQ(trace.Text(call.out_splits), "[6000,144]");
  EXPECT_EQ(call.sequence, 147);
  EXPECT_EQ(call.graph_node, RowOf(trace, 12));
  EXPECT_EQ(call.peer, -1);
  EXPECT_EQ(trace.process_groups.communicator[call.group], 94428220485728U);
  EXPECT_EQ(trace.process_groups.num_ranks[call.group], -1);
  EXPECT_EQ(trace.info.rank, 3);
}

TEST(ExecutionTraceCollectives, ReadsTheGroupSizeOf2024AndKeepsPointersApart) {
  const std::string types = R"json(["GenericList[Tensor(c10::Half),Tensor(c10::Half)]"])json";
  const std::string tensors = R"json([[[1,2,0,100,2,"cuda:0"],[1,2,0,20,2,"cuda:0"]])json";
  const Trace trace = ReadText(Flat(
      FlatCall(9, tensors + R"json(, 337, 111, 1, "allreduce", [], [], 8])json", types, "[]") +
      "," + FlatCall(10, tensors + R"json(, 5, 222, 0, "allreduce", [], [], 2])json", types, "[]") +
      "," +
      FlatCall(11, tensors + R"json(, 338, 111, 1, "allreduce", [], [], 8])json", types, "[]")));
  ASSERT_EQ(trace.process_groups.size(), 2U);
  EXPECT_EQ(trace.process_groups.num_ranks[0], 8);
  EXPECT_EQ(trace.process_groups.num_ranks[1], 2);
  EXPECT_EQ(trace.collectives.group, (std::vector<RowId>{0, 1, 0}));
  EXPECT_EQ(trace.collectives.in_elements[0], 120) << "lists are summed";
  EXPECT_EQ(trace.collectives.in_bytes[0], 240);
  EXPECT_EQ(trace.collectives.data_type[0], DataType::kFp16);
  EXPECT_EQ(trace.info.rank, -1) << "ranks in two groups of unknown members say nothing";
}

// The nested layout; `attributes` come after the common ones.
std::string Nested(const std::string& inputs, const std::string& attributes) {
  return R"json({"schema": "1.1.0-chakra.0.0.4", "nodes": [
    {"id": 2, "name": "## process_group:init ##", "ctrl_deps": 1, "inputs": {"values":
      ["[{\"pg_name\": \"0\", \"pg_desc\": \"default_pg\", \"backend_config\": \"cuda:nccl\", \"ranks\": [], \"group_size\": 4, \"group_count\": 2}, {\"pg_name\": \"7\", \"pg_desc\": \"mesh_tp\", \"backend_config\": \"cuda:nccl\", \"ranks\": [1, 3], \"group_size\": 2, \"group_count\": 2}]"]}},
    {"id": 5, "name": "record_param_comms", "ctrl_deps": 1, "inputs": {"values": )json" +
         inputs + R"json(, "types": ["GenericList[Tensor(float)]"]},
     "attrs": [{"name": "rf_id", "type": "uint64", "value": 115})json" +
         attributes + R"json(]}], "finish_ts": 9})json";
}

TEST(ExecutionTraceCollectives, ReadsDeclaredGroups) {
  const Trace trace = ReadText(Nested("[]", ""));
  ASSERT_EQ(trace.process_groups.size(), 2U);
  EXPECT_EQ(trace.Text(trace.process_groups.ranks[0]), "[0,1,2,3]") << "[] is the whole world";
  EXPECT_EQ(trace.info.world_size, 4);
  EXPECT_EQ(trace.info.backend, "cuda:nccl");
  EXPECT_EQ(trace.Text(trace.process_groups.description[1]), "mesh_tp");
  EXPECT_EQ(trace.Text(trace.process_groups.ranks[1]), "[1,3]");
  EXPECT_EQ(trace.process_groups.num_ranks[1], 2);
}

TEST(ExecutionTraceCollectives, ReadsNamedGroupsAndTheRankInsideThem) {
  const Trace trace = ReadText(Nested(
      R"json([[[4,5,0,50,4,"cuda:1"]], 35, ["7", "mesh_tp"], 1, "allreduce", [], [], 1, 2, 2])json",
      ""));
  const auto call = trace.collectives.At(0);
  EXPECT_EQ(call.group, 1U);
  EXPECT_EQ(call.sequence, 35);
  EXPECT_EQ(trace.process_groups.rank_start[1], 1);
  EXPECT_EQ(trace.process_groups.rank_stride[1], 2);
  EXPECT_EQ(trace.info.rank, 3) << "member 1 of [1, 3]";
}

TEST(ExecutionTraceCollectives, DoesNotTakeTheRootOfABroadcastForItsOwnRank) {
  const Trace trace = ReadText(Nested(
      R"json([[[4,5,0,50,4,"cuda:1"]], 35, ["0", "default_pg"], 0, "broadcast", [], [], 0, 1, 4])json",
      ""));
  EXPECT_EQ(trace.collectives.kind[0], CollectiveKind::kBroadcast);
  EXPECT_EQ(trace.info.rank, -1);
}

TEST(ExecutionTraceCollectives, PrefersTheAttributes) {
  // The sequence number of newer writers is a pair that they cannot print.
  const Trace trace = ReadText(Nested(
      R"json(["<Object>", "<Object>", ["0", "default_pg"], 2, "_allgather_base", [], [], 0, 1, 4])json",
      R"json(, {"name": "collective_name", "type": "string", "value": "_allgather_base"},
         {"name": "dtype", "type": "string", "value": "BFloat16"},
         {"name": "in_msg_nelems", "type": "uint64", "value": 10},
         {"name": "out_msg_nelems", "type": "uint64", "value": 40},
         {"name": "in_split_size", "type": "string", "value": "[]"},
         {"name": "out_split_size", "type": "string", "value": "[1, 2]"},
         {"name": "pg_name", "type": "string", "value": "0"},
         {"name": "pg_size", "type": "uint64", "value": 4},
         {"name": "is_asynchronized_op", "type": "bool", "value": true})json"));
  const auto call = trace.collectives.At(0);
  EXPECT_EQ(call.kind, CollectiveKind::kAllGather);
  EXPECT_EQ(call.data_type, DataType::kBf16);
  EXPECT_EQ(call.in_bytes, 20);
  EXPECT_EQ(call.out_elements, 40);
  EXPECT_EQ(call.out_bytes, 80);
  EXPECT_EQ(trace.Text(call.in_splits), "");
  EXPECT_EQ(trace.Text(call.out_splits), "[1, 2]");
  EXPECT_EQ(call.sequence, -1);
  EXPECT_EQ(call.is_async, 1);
  EXPECT_EQ(call.group, 0U);
  EXPECT_EQ(trace.info.rank, 2);
}

TEST(ExecutionTraceCollectives, ReadsABarrierWithoutTensorsAndThePeerOfASend) {
  const Trace barrier =
      ReadText(Nested(R"json([7, ["0", "default_pg"], 2, "barrier", [], [], 0, 1, 4])json", ""));
  EXPECT_EQ(barrier.collectives.kind[0], CollectiveKind::kBarrier);
  EXPECT_EQ(barrier.collectives.sequence[0], 7);
  EXPECT_EQ(barrier.collectives.in_bytes[0], -1);
  const Trace send = ReadText(Nested(
      R"json([[[4,5,0,50,4,"cuda:1"]], 35, ["0", "default_pg"], 3, "send", [], [], 0, 1, 4])json",
      ""));
  EXPECT_EQ(send.collectives.peer[0], 3);
  EXPECT_EQ(send.info.rank, -1);
}

TEST(ExecutionTraceCollectives, ReadsOperatorsWhereNothingWasRecorded) {
  // The functional operator calls the other: one collective. Its schema names outputs first.
  const Trace trace = ReadText(Flat(
      R"json({"name": "_c10d_functional::all_reduce", "id": 3, "parent": 1, "op_schema":
          "_c10d_functional::all_reduce(Tensor input, str reduce_op, str group_name) -> Tensor",
          "inputs": [[1,2,0,8,2,"cuda:0"], "sum", "tp"],
          "input_types": ["Tensor(c10::BFloat16)"], "outputs": [[1,2,0,8,2,"cuda:0"]]},
         {"name": "c10d::allreduce_", "id": 4, "parent": 3, "op_schema":
          "c10d::allreduce_(Tensor[] tensors, __torch__.ProcessGroup process_group, bool async_op=True, int timeout=-1) -> (Tensor[], Work)",
          "inputs": [[[1,2,0,8,2,"cuda:0"]], "<Object>", true, -1],
          "input_types": ["GenericList[Tensor(c10::BFloat16)]"]},
         {"name": "_c10d_functional::wait_tensor", "id": 5, "parent": 1, "inputs": [[1,2,0,8,2,"cuda:0"]]},
         {"name": "c10d::_allgather_base_", "id": 6, "parent": 1, "op_schema":
          "c10d::_allgather_base_(Tensor output_tensor, Tensor input_tensor, ProcessGroup process_group) -> (Tensor, Work)",
          "inputs": [[1,2,0,64,2,"cuda:0"], [1,2,0,8,2,"cuda:0"], "<Object>"]})json"));
  ASSERT_EQ(trace.collectives.size(), 2U);
  const auto reduce = trace.collectives.At(0);
  EXPECT_EQ(trace.Text(reduce.name), "_c10d_functional::all_reduce");
  EXPECT_EQ(reduce.graph_node, RowOf(trace, 3));
  EXPECT_EQ(reduce.data_type, DataType::kBf16);
  EXPECT_EQ(reduce.in_bytes, 16);
  EXPECT_EQ(reduce.out_bytes, 16);
  ASSERT_NE(reduce.group, kNoRow);
  EXPECT_EQ(trace.Text(trace.process_groups.name[reduce.group]), "tp");
  const auto gather = trace.collectives.At(1);
  EXPECT_EQ(gather.in_elements, 8);
  EXPECT_EQ(gather.out_elements, 64);
}

TEST(Tensors, AreSummedThroughNestedLists) {
  JsonText text;
  EXPECT_EQ(SumTensors(text.Parse(R"json([[[[19,20,0,3,4,"cuda:0"],[5,23,0,1,8,"cuda:0"]]]])json")),
            (TensorSize{.elements = 4, .bytes = 20}));
  EXPECT_EQ(SumTensors(text.Parse(R"json([1,2,3,4,5,6])json")), TensorSize{}) << "six numbers";
  EXPECT_EQ(SumTensors(text.Parse(R"json("<None>")json")), TensorSize{});
  EXPECT_EQ(SumTensors(text.Parse(R"json([1,2,0,0,4,"cpu"])json")),
            (TensorSize{.elements = 0, .bytes = 0}));
}

TEST(Tensors, TellTheirElementType) {
  EXPECT_EQ(TensorElementType("Tensor(long int)"), DataType::kInt64);
  EXPECT_EQ(TensorElementType("GenericList[GenericList[Tensor(c10::Half)]]"), DataType::kFp16);
  EXPECT_EQ(TensorElementType("GenericList[Int]"), DataType::kUnknown);
}

}  // namespace
}  // namespace orrery::ingest::execution_trace
