#include "orrery/compat/echo/program.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/program.h"
#include "test_paths.h"

namespace orrery::compat::echo {

using workload::LaneId, workload::Phase, workload::Program, workload::TaskId;

namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr std::string_view kGraph = R"json([
  {"name": "late", "op": "torch.nn.modules.linear.Linear", "input_nodes": ["ids"]},
  {"name": "ids", "op": "ids", "input_nodes": []},
  {"name": "output", "op": "output", "input_nodes": ["late", "absent"]},
  {"name": "MmBackward00", "op": "MmBackward0", "input_nodes": ["output"], "attrs": {}},
  {"name": "AccumulateGrad0", "op": "AccumulateGrad", "input_nodes": ["MmBackward00"]},
  {"name": "ddp_pre_0", "op": "ddp_pre", "input_nodes": ["AccumulateGrad0"],
   "attrs": {"bucket_size": 10}},
  {"name": "ddp_Allreduce_0", "op": "ddp_Allreduce", "input_nodes": ["ddp_pre_0"],
   "attrs": {"bucket_size": 10}}
])json";

constexpr std::string_view kTimes =
    R"json({"late": 2, "ids": 0.5, "MmBackward00": 3.25, "AccumulateGrad0": 0.001,
            "AccumulateGrad7": 9, "optimizer_step": 4, "output": 0})json";

TracedProgram SmallProgram() {
  return MakeProgram(ParseGraph(kGraph).value(), ParseTimes(kTimes).value()).value();
}

std::vector<std::string> NamesOnLane(const Program& program, LaneId lane) {
  std::vector<std::string> names;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.lane[task] == lane) {
      names.emplace_back(program.strings.View(program.tasks.name[task]));
    }
  }
  return names;
}

TEST(EchoGraphTest, OperatorsRunInputsFirstAndBucketsWithThem) {
  const TracedProgram echo = SmallProgram();
  EXPECT_THAT(NamesOnLane(echo.program, 0), ElementsAre("ids", "late", "output", "MmBackward00",
                                                        "AccumulateGrad0", "optimizer_step"));
  EXPECT_THAT(NamesOnLane(echo.program, 1), ElementsAre("ddp_pre_0", "ddp_Allreduce_0"));
  EXPECT_EQ(echo.num_buckets, 1);
  EXPECT_THAT(
      echo.program.tasks.duration_ps,
      ElementsAre(500'000'000, 2'000'000'000, 0, 3'250'000'000, 1'000'000, 0, 0, 4'000'000'000));
}

// 10 elements of 4 bytes, behind the gradient and before the optimizer.
TEST(EchoGraphTest, ABucketIsReducedBetweenItsGradientsAndTheOptimizer) {
  const Program program = SmallProgram().program;
  ASSERT_EQ(program.communications.size(), 1U);
  EXPECT_EQ(program.communications.bytes[0], 40);
  EXPECT_EQ(program.RoleName(0), "dp");
  ASSERT_EQ(program.edges.size(), 2U);
  EXPECT_EQ(program.edges.from[0], 4U);  // AccumulateGrad0
  EXPECT_EQ(program.edges.to[0], 5U);    // ddp_pre_0
  EXPECT_EQ(program.edges.from[1], 6U);  // ddp_Allreduce_0
  EXPECT_EQ(program.edges.to[1], 7U);    // optimizer_step
}

TEST(EchoGraphTest, TheBackwardPassIsWhatFollowsTheOutput) {
  const Program program = SmallProgram().program;
  const auto phase = [&](TaskId task) { return program.parts.phase[program.tasks.part[task]]; };
  EXPECT_EQ(phase(1), Phase::kForward);
  EXPECT_EQ(phase(2), Phase::kForward);
  EXPECT_EQ(phase(3), Phase::kBackward);
  EXPECT_EQ(phase(6), Phase::kReduce);
  EXPECT_EQ(phase(7), Phase::kOptimizer);
}

TEST(EchoGraphTest, WhatDoesNotMatchIsListed) {
  const TracedProgram echo = SmallProgram();
  EXPECT_THAT(echo.nodes_without_time, IsEmpty());
  EXPECT_THAT(echo.times_without_node, ElementsAre("AccumulateGrad7"));
  EXPECT_THAT(echo.inputs_without_node, ElementsAre("absent"));

  const TracedProgram untimed = MakeProgram(ParseGraph(kGraph).value(), {}).value();
  EXPECT_EQ(untimed.nodes_without_time.size(), 5U);  // buckets are not timed
}

TEST(EchoGraphTest, BadFilesAreRejectedInASentence) {
  const auto graph_error = [](std::string_view json) {
    const auto graph = ParseGraph(json);
    return graph ? MakeProgram(*graph, {}).error().message() : graph.error().message();
  };
  EXPECT_EQ(graph_error("{}"), "an Echo graph is a JSON list of nodes");
  EXPECT_EQ(graph_error("[]"), "the graph has no nodes");
  EXPECT_EQ(graph_error(R"json([{"op": "x"}])json"), "node 0 has no name");
  EXPECT_EQ(graph_error(R"json([{"name": "a", "input_nodes": ["b"]},
                                {"name": "b", "input_nodes": ["a"]}])json"),
            "node 'a' depends on itself");
  EXPECT_EQ(graph_error(R"json([{"name": "a", "op": "ddp_Allreduce"}])json"),
            "node 'a' has no valid bucket_size");
  EXPECT_EQ(ParseTimes("[]").error().message(), "Echo's times are a JSON object of milliseconds");
  EXPECT_EQ(ParseTimes(R"json({"a": -1})json").error().message(),
            "the time of 'a' is not a number of milliseconds, or their sum exceeds a day");
}

struct SharedPair {
  std::string model;
  std::string setting;
  double forward_ms = 0;  // as the table beside the files prints them
  double backward_ms = 0;
  double optimizer_ms = 0;
  std::int64_t nodes = 0;
  std::int64_t buckets = 0;
  std::int64_t times_without_node = 0;
};

class EchoSharedTest : public testing::TestWithParam<SharedPair> {};

double MillisecondsOf(const Program& program, Phase phase) {
  std::int64_t sum_ps = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const bool is_of_phase = program.parts.phase[program.tasks.part[task]] == phase;
    sum_ps += is_of_phase ? program.tasks.duration_ps[task] : 0;
  }
  return static_cast<double>(sum_ps) / 1e9;
}

TEST_P(EchoSharedTest, TheSumsAreThoseOfTheTracer) {
  const std::string echo = ORRERY_SHARED "/workloads/echo/";
  if (!std::filesystem::exists(echo)) {
    GTEST_SKIP() << "the shared workloads are not here: " << echo;
  }
  const SharedPair& pair = GetParam();
  const auto path = [&](const char* folder, const char* kind) {
    return echo + folder + pair.model + "/" + kind + "_profiling_" + pair.setting + ".json.gz";
  };
  std::vector<std::string> graphs{path("graphs/", "forward_graph"),
                                  path("graphs/", "backward_graph")};
  if (pair.buckets > 0) {
    graphs.push_back(path("graphs/", "ddp_graph"));
  }
  const auto graph = ReadGraphs(graphs).value();
  const auto times = ReadTimes({{path("ops/", "global_ops")}}).value();
  const TracedProgram program = MakeProgram(graph, times).value();
  EXPECT_NEAR(MillisecondsOf(program.program, Phase::kForward), pair.forward_ms, 0.05);
  EXPECT_NEAR(MillisecondsOf(program.program, Phase::kBackward), pair.backward_ms, 0.05);
  EXPECT_NEAR(MillisecondsOf(program.program, Phase::kOptimizer), pair.optimizer_ms, 0.05);
  EXPECT_EQ(program.num_nodes, pair.nodes);
  EXPECT_EQ(program.num_buckets, pair.buckets);
  EXPECT_THAT(program.nodes_without_time, IsEmpty());
  EXPECT_THAT(program.inputs_without_node, IsEmpty());
  EXPECT_EQ(program.times_without_node.size(), static_cast<std::size_t>(pair.times_without_node));
}

// Sums and nodes: the table of the folder. The tracer counted gradients on from one repetition to
// the next, so some times have no node: (entries of the file) − (nodes) − 1.
INSTANTIATE_TEST_SUITE_P(
    Pairs, EchoSharedTest,
    testing::Values(
        SharedPair{"gpt2", "bs16_seq512", 238.9, 459.2, 5.64, 1245 + 827, 0, 2221 - 2072 - 1},
        SharedPair{"gpt2", "bs1_seq512_pytorch_ddp", 15.2, 23.1, 5.63, 1245 + 841, 25, 0},
        SharedPair{"facebook/opt-350m", "bs16_seq512", 412.2, 742.4, 4.55, 1601 + 1648, 0, 0},
        SharedPair{"deepseek-ai/deepseek-coder-1.3b-base", "bs2_seq32", 89.2, 86.4, 10.8,
                   2678 + 1906, 0, 4803 - 4584 - 1},
        SharedPair{"meta-llama/Llama-2-7b-hf", "bs1_seq64", 104.9, 175.8, 68.9, 3494 + 2538, 0,
                   6323 - 6032 - 1},
        SharedPair{"meta-llama/Llama-2-7b-hf", "bs2_seq32", 124.6, 199.0, 68.1, 3494 + 2538, 0,
                   6323 - 6032 - 1}));

// Reference TV2: PyTorch's buckets of GPT-2 at a cap of 10 MiB.
TEST(EchoGraphTest, TheBucketsAreThoseOfPytorch) {
  const std::string folder = ORRERY_SHARED "/workloads/echo/graphs/gpt2/";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "the shared workloads are not here: " << folder;
  }
  const std::string setting = "_graph_profiling_bs1_seq512_pytorch_ddp.json.gz";
  const auto graph =
      ReadGraphs({{folder + "forward" + setting, folder + "backward" + setting}}).value();
  const Program program = MakeProgram(graph, {}).value().program;
  ASSERT_EQ(program.communications.size(), 25U);
  EXPECT_EQ(program.communications.bytes.front(), 4 * 2'364'672);
  EXPECT_EQ(program.communications.bytes[1], 4 * 2'953'728);
  EXPECT_EQ(program.communications.bytes.back(), 4 * 38'597'376);
}

}  // namespace
}  // namespace orrery::compat::echo
