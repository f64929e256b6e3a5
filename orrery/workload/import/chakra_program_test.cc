#include "orrery/workload/import/chakra_program.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/import/chakra_trace.h"
#include "orrery/workload/program.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {
using ::testing::ElementsAre;

ChakraNode Compute(std::uint64_t id, std::int64_t duration_us, std::vector<std::uint64_t> inputs) {
  ChakraNode node{.id = id, .name = fmt::format("n{}", id), .type = ChakraType::kCompute};
  node.duration_us = duration_us;
  node.data_inputs = std::move(inputs);
  return node;
}

ChakraNode Collective(std::uint64_t id, std::int64_t type, std::int64_t size, std::string group) {
  ChakraNode node{.id = id, .name = "c", .type = ChakraType::kCollective};
  node.attributes = {{"comm_type", type}, {"comm_size", size}};
  if (!group.empty()) {
    node.attributes.emplace("pg_name", std::move(group));
  }
  return node;
}

ChakraTrace TraceOf(std::vector<ChakraNode> nodes) {
  ChakraTrace trace;
  trace.nodes = std::move(nodes);
  return trace;
}

TEST(ChakraProgramTest, NodesRunInputsFirstAndLowIdsBefore) {
  const std::vector<ChakraTrace> traces{
      TraceOf({Compute(9, 1, {}), Compute(2, 3, {9}), Compute(5, 2, {})})};
  const ChakraEnsemble chakra = EnsembleOfChakra(traces).value();
  const Program& program = chakra.ensemble.programs[0];
  EXPECT_THAT(program.tasks.duration_ps, ElementsAre(2'000'000, 1'000'000, 3'000'000));
  EXPECT_EQ(program.lanes.size(), 1U);
  EXPECT_TRUE(program.edges.empty());  // all on one stream
}

TEST(ChakraProgramTest, CommunicationHasAStreamAndEqualRanksShareAProgram) {
  ChakraNode gather = Collective(2, 2, 100, "");
  gather.data_inputs = {1};
  const ChakraTrace trace = TraceOf({Compute(1, 1, {}), gather});
  const std::vector<ChakraTrace> traces{trace, trace, trace};
  const Ensemble ensemble = EnsembleOfChakra(traces).value().ensemble;
  ASSERT_EQ(ensemble.programs.size(), 1U);
  EXPECT_THAT(ensemble.program_of_rank, ElementsAre(0, 0, 0));
  const Program& program = ensemble.programs[0];
  EXPECT_EQ(program.tasks.kind[1], TaskKind::kCollective);
  EXPECT_EQ(program.communications.kind[0], CollectiveKind::kAllGather);
  EXPECT_EQ(program.communications.bytes[0], 300);  // three ranks give 100 each
  EXPECT_EQ(program.edges.size(), 1U);
  EXPECT_THAT(ensemble.Members(ensemble.GroupOf(2, 0)), ElementsAre(0, 1, 2));
}

TEST(ChakraProgramTest, AGroupHasTheRanksThatSpeakInItOrThoseGiven) {
  const std::vector<ChakraTrace> traces{TraceOf({Collective(1, 0, 8, "left")}),
                                        TraceOf({Collective(1, 0, 8, "right")}),
                                        TraceOf({Collective(1, 0, 8, "left")})};
  const Ensemble found = EnsembleOfChakra(traces).value().ensemble;
  EXPECT_EQ(found.num_roles, 2U);
  EXPECT_THAT(found.Members(found.GroupOf(0, 0)), ElementsAre(0, 2));
  EXPECT_THAT(found.Members(found.GroupOf(1, 1)), ElementsAre(1));
  EXPECT_EQ(found.GroupOf(1, 0), kNoGroup);
  const Ensemble given = EnsembleOfChakra(traces, {{"left", {2, 0, 1}}}).value().ensemble;
  EXPECT_THAT(given.Members(given.GroupOf(0, 0)), ElementsAre(0, 1, 2));
  EXPECT_EQ(EnsembleOfChakra(traces, {{"left", {7}}}).error().message(),
            "group 'left' has rank 7 of 3 ranks");
}

TEST(ChakraProgramTest, MessagesJoinSenderAndReceiver) {
  ChakraNode send{.id = 1, .name = "s", .type = ChakraType::kSend};
  send.attributes = {{"comm_dst", std::int64_t{1}}, {"comm_size", std::int64_t{64}}};
  ChakraNode receive{.id = 1, .name = "r", .type = ChakraType::kReceive};
  receive.attributes = {{"comm_src", std::int64_t{0}}, {"comm_size", std::int64_t{64}}};
  const std::vector<ChakraTrace> traces{TraceOf({send}), TraceOf({receive})};
  const Ensemble ensemble = EnsembleOfChakra(traces).value().ensemble;
  const auto group_of = [&](Rank rank) {
    const Program& program = ensemble.programs[ensemble.program_of_rank[rank]];
    return ensemble.GroupOf(rank, program.communications.role[0]);
  };
  EXPECT_NE(group_of(0), kNoGroup);
  EXPECT_EQ(group_of(0), group_of(1));
  EXPECT_THAT(ensemble.Members(group_of(0)), ElementsAre(0, 1));
}

TEST(ChakraProgramTest, TracesThatCannotRunAreRefused) {
  const auto error = [](std::vector<ChakraNode> nodes) {
    const std::vector<ChakraTrace> traces{TraceOf(std::move(nodes))};
    return EnsembleOfChakra(traces).error().message();
  };
  EXPECT_EQ(error({Compute(1, 1, {2}), Compute(2, 1, {1})}),
            "rank 0: node 1 ('n1') is part of a dependency cycle");
  EXPECT_EQ(error({Compute(1, 1, {}), Compute(1, 1, {})}),
            "rank 0: node 1 ('n1') has a duplicate id");
  EXPECT_EQ(error({Compute(1, -4, {})}),
            "rank 0: node 1 ('n1') takes -4 us, and a day is the most");
  EXPECT_EQ(error({ChakraNode{.id = 3, .name = "s", .type = ChakraType::kSend}}),
            "rank 0: node 3 ('s') does not state its source and destination ranks");
}

TEST(ChakraProgramTest, WhatACollectiveDoesNotSayIsALoss) {
  ChakraNode silent{.id = 1, .name = "c", .type = ChakraType::kCollective};
  silent.duration_us = 5;
  const std::vector<ChakraTrace> traces{TraceOf({silent, Compute(2, 1, {77})})};
  const ChakraEnsemble chakra = EnsembleOfChakra(traces).value();
  EXPECT_EQ(chakra.ensemble.programs[0].tasks.kind[0], TaskKind::kKernel);
  ASSERT_EQ(chakra.problems.all().size(), 2U);
  EXPECT_TRUE(chakra.problems.has_loss());
}

// One collective of 1 MiB in each; all-gathers give 1 MiB a rank.
TEST(ChakraProgramTest, TheTracesOfAstraSimAreRead) {
  const std::string folder = ORRERY_SHARED "/workloads/astra-sim/";
  if (!std::filesystem::exists(folder)) {
    GTEST_SKIP() << "the shared workloads are not here: " << folder;
  }
  const std::vector<std::pair<std::string, CollectiveKind>> kinds{
      {"all_reduce", CollectiveKind::kAllReduce},
      {"all_gather", CollectiveKind::kAllGather},
      {"reduce_scatter", CollectiveKind::kReduceScatter},
      {"all_to_all", CollectiveKind::kAllToAll}};
  for (const auto& [name, kind] : kinds) {
    for (const int npus : {4, 8}) {
      std::vector<ChakraTrace> traces;
      for (int rank = 0; rank < npus; ++rank) {
        traces.push_back(
            ReadChakra(fmt::format("{0}{1}/{2}npus_1MB/{1}.{3}.et", folder, name, npus, rank))
                .value());
      }
      const ChakraEnsemble chakra = EnsembleOfChakra(traces).value();
      EXPECT_TRUE(chakra.problems.all().empty());
      ASSERT_EQ(chakra.ensemble.programs.size(), 1U);
      const Program& program = chakra.ensemble.programs[0];
      ASSERT_EQ(program.communications.size(), 1U);
      EXPECT_EQ(program.communications.kind[0], kind);
      EXPECT_EQ(program.communications.bytes[0],
                (1 << 20) * (kind == CollectiveKind::kAllGather ? npus : 1));
      EXPECT_EQ(chakra.ensemble.Members(chakra.ensemble.GroupOf(0, 0)).size(),
                static_cast<std::size_t>(npus));
    }
  }
}

}  // namespace
}  // namespace orrery::workload
