#include "orrery/workload/import/chakra_trace.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "test_paths.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using namespace std::string_view_literals;

// Written out by hand: metadata of version 0.0.4, then a collective of 1 MiB ("comm_size" is field
// 9 of an attribute: 1,048,576 is the varint 80 80 40).
constexpr std::string_view kAllReduce =
    "\x07\x0a\x05"
    "0.0.4"
    "\x37\x08\x01\x12\x01"
    "a"
    "\x18\x07"
    "\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00"
    "\x52\x0d\x0a\x09"
    "comm_type\x48\x00"
    "\x52\x0f\x0a\x09"
    "comm_size\x48\x80\x80\x40"sv;

TEST(ChakraTraceTest, ANodeIsReadFromItsBytes) {
  const ChakraTrace trace = ParseChakra(kAllReduce).value();
  EXPECT_EQ(trace.version, "0.0.4");
  EXPECT_TRUE(trace.problems.all().empty());
  ASSERT_EQ(trace.nodes.size(), 1U);
  const ChakraNode& node = trace.nodes[0];
  EXPECT_EQ(node.id, 1U);
  EXPECT_EQ(node.name, "a");
  EXPECT_EQ(node.type, ChakraType::kCollective);
  EXPECT_EQ(node.Integer("comm_type"), 0);
  EXPECT_EQ(node.Integer("comm_size"), 1 << 20);
  EXPECT_EQ(node.Integer("is_cpu_op"), std::nullopt);
  EXPECT_FALSE(*node.Find<bool>("is_cpu_op"));
}

TEST(ChakraTraceTest, ACutFileGivesTheNodesBeforeTheCut) {
  std::string bytes(kAllReduce);
  bytes += "\x37\x08\x02";
  const ChakraTrace trace = ParseChakra(bytes).value();
  EXPECT_EQ(trace.nodes.size(), 1U);
  EXPECT_TRUE(trace.problems.has_loss());
  EXPECT_EQ(trace.problems.all()[0].first, "byte 64");
  EXPECT_EQ(ParseChakra("").error().message(), "no Chakra execution trace: it has no nodes");
}

// A message of the protobuf form, written by protozero with the field numbers of the schema.
std::string Message(const std::function<void(protozero::pbf_writer&)>& write) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  write(writer);
  std::string message;
  protozero::write_varint(std::back_inserter(message), bytes.size());
  return message + bytes;
}

TEST(ChakraTraceTest, AttributesOfAllKindsAreRead) {
  const auto attribute = [](protozero::pbf_writer& node, const std::string& name, auto add) {
    protozero::pbf_writer writer(node, 10);
    writer.add_string(1, name);
    add(writer);
  };
  const std::vector<std::int64_t> list{1, -2, 300};
  const std::vector<std::uint64_t> inputs{7, 1000};
  const std::string bytes =
      Message([](auto& metadata) { metadata.add_string(1, "0.0.4"); }) + Message([&](auto& node) {
        node.add_uint64(1, 300);
        node.add_string(2, "second");
        node.add_enum(3, 5);
        node.add_packed_uint64(5, inputs.begin(), inputs.end());
        node.add_uint64(6, 12);
        node.add_uint64(7, 300);
        attribute(node, "number", [](auto& a) { a.add_int64(9, -5); });
        attribute(node, "ratio", [](auto& a) { a.add_double(3, 0.25); });
        attribute(node, "flag", [](auto& a) { a.add_bool(27, true); });
        attribute(node, "text", [](auto& a) { a.add_string(29, "words"); });
        attribute(node, "list", [&](auto& a) {
          protozero::pbf_writer(a, 10).add_packed_int64(1, list.begin(), list.end());
        });
      });
  ChakraNode expected{.id = 300, .name = "second", .type = ChakraType::kSend};
  expected.data_inputs = {7, 1000};
  expected.begin_us = 12;
  expected.duration_us = 300;
  expected.attributes = {{"number", std::int64_t{-5}},
                         {"ratio", 0.25},
                         {"flag", true},
                         {"text", std::string("words")},
                         {"list", list}};
  EXPECT_THAT(ParseChakra(bytes).value().nodes, ElementsAre(expected));
}

TEST(ChakraTraceTest, TheJsonFormMayBeSpelledTwoWays) {
  const ChakraTrace trace = ParseChakraJson(R"json({"workload_graph": [
      {"Id": 216, "Name": "cat", "NodeType": 4, "ctrlDeps": [3], "data_deps": [], "runtime": 318,
       "is_cpu_op": true},
      {"id": 217, "name": "reduce", "type": 7, "ctrl_deps": [], "data_deps": [216],
       "comm_type": 0, "comm_size": 64}]})json")
                                .value();
  ASSERT_EQ(trace.nodes.size(), 2U);
  EXPECT_EQ(trace.nodes[0].duration_us, 318);
  EXPECT_TRUE(*trace.nodes[0].Find<bool>("is_cpu_op"));
  EXPECT_THAT(trace.nodes[0].control_inputs, ElementsAre(3));
  EXPECT_EQ(trace.nodes[1].type, ChakraType::kCollective);
  EXPECT_THAT(trace.nodes[1].data_inputs, ElementsAre(216));
  EXPECT_EQ(trace.nodes[1].Integer("comm_size"), 64);
  EXPECT_EQ(ParseChakraJson("{}").error().message(),
            "no Chakra execution trace: a JSON object with a list \"workload_graph\"");
  EXPECT_EQ(ParseChakraJson(R"json({"workload_graph": [{}]})json").error().message(),
            "node 0 has no id");
}

// Counts by a few lines of Python that decode the same fields.
TEST(ChakraTraceTest, ARecordedTraceIsReadInBothForms) {
  const std::string folder = ORRERY_SHARED "/traces/chakra/";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "the shared traces are not here: " << folder;
  }
  const ChakraTrace trace = ReadChakra(folder + "chakra.0.et.gz").value();
  EXPECT_EQ(trace.nodes.size(), 3664U);
  EXPECT_FALSE(trace.problems.has_loss());
  std::int64_t collectives = 0;
  std::int64_t bytes = 0;
  for (const ChakraNode& node : trace.nodes) {
    collectives += node.type == ChakraType::kCollective ? 1 : 0;
    bytes += node.Integer("comm_size").value_or(0);
  }
  EXPECT_EQ(collectives, 21);
  EXPECT_EQ(bytes, 8'196'000 + 424 + 212'480 + 31'502'336 + 9'724'160 + 26'550'272 + 26'255'360);
  EXPECT_EQ(ReadChakra(folder + "small_chakra.0.json").value().nodes.size(), 7U);
}

}  // namespace
}  // namespace orrery::workload
