#include "orrery/compat/simai/program.h"

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/compat/simai/workload.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/program.h"
#include "test_paths.h"

namespace orrery::compat::simai {

using workload::Ensemble, workload::GroupId, workload::GroupRole, workload::kNoGroup;
using workload::Program, workload::Rank, workload::TaskId, workload::TaskKind;

namespace {

using ::testing::ElementsAre;

constexpr std::string_view kLayers =
    "6\n"
    "grads           -1 0 NONE 0        0 NONE 0        7 REDUCESCATTER 64 100\n"
    "embedding_layer -1 1 ALLREDUCE 8   0 NONE 0        2 NONE 0        100\n"
    "attention       -1 3 ALLREDUCE 8   4 ALLREDUCE 8   5 ALLREDUCE 16  100\n"
    "embedding_layer -1 1 ALLREDUCE 8   0 NONE 0        2 NONE 0        100\n"
    "attention       -1 3 ALLREDUCE 8   4 ALLREDUCE 8   5 ALLREDUCE 16  100\n"
    "optimizer1      -1 9 NONE 0        0 NONE 0        0 NONE 0        100\n";

WorkloadEnsemble EnsembleOf(std::string_view keys) {
  const std::string text = fmt::format("HYBRID_TRANSFORMER_FWD_IN_BCKWD {}\n{}", keys, kLayers);
  return MakeEnsemble(ParseWorkload(text).value()).value();
}

std::vector<Rank> MembersOf(const Ensemble& ensemble, Rank rank, GroupRole role) {
  const GroupId group = ensemble.GroupOf(rank, static_cast<std::uint32_t>(role));
  if (group == kNoGroup) {
    return {};
  }
  const auto members = ensemble.Members(group);
  return {members.begin(), members.end()};
}

// Forward 1 and 3, backward of the last row first: 4 and 5, then 2; twice; then the gradients and
// the optimizer.
TEST(SimaiProgramTest, AStageComputesItsRowsInOrder) {
  const WorkloadEnsemble simai = EnsembleOf("model_parallel_NPU_group: 2 ga: 2 all_gpus: 4");
  EXPECT_EQ(simai.microbatches, 2);
  ASSERT_EQ(simai.ensemble.programs.size(), 1U);
  const Program& program = simai.ensemble.programs[0];
  std::vector<std::int64_t> compute_ns;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.kind[task] == TaskKind::kKernel) {
      compute_ns.push_back(program.tasks.duration_ps[task] / 1000);
    }
  }
  EXPECT_THAT(compute_ns, ElementsAre(1, 3, 4, 5, 2, 1, 3, 4, 5, 2, 7, 9));
  // 2 · (two forward, one of the input gradient, one of the weights), and the scatter.
  EXPECT_EQ(program.communications.size(), 9U);
}

TEST(SimaiProgramTest, OneMicrobatchIsRepeated) {
  const auto workload = ParseWorkload(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD ga: 3\n2\n"
      "embedding_layer -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n"
      "attention -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
  const WorkloadEnsemble simai = MakeEnsemble(*workload).value();
  EXPECT_EQ(simai.microbatches, 3);
  EXPECT_EQ(simai.ensemble.programs[0].tasks.size(), 3U * 6 + 1);  // and the join
  EXPECT_TRUE(simai.problems.all().empty());
}

TEST(SimaiProgramTest, AnotherNumberOfMicrobatchesIsNoted) {
  const WorkloadEnsemble simai = EnsembleOf("ga: 5");
  EXPECT_EQ(simai.microbatches, 2);
  ASSERT_EQ(simai.problems.all().size(), 1U);
  EXPECT_EQ(simai.problems.all()[0].first, "ga 5");
}

// 16 ranks: tensor 2, data 4 with experts 2, stages 2. Rank = tensor + 2 · (data + 4 · stage).
TEST(SimaiProgramTest, RanksJoinTheGroupsOfThePlan) {
  const Ensemble ensemble =
      EnsembleOf("model_parallel_NPU_group: 2 ep: 2 pp: 2 ga: 2 all_gpus: 16").ensemble;
  EXPECT_EQ(ensemble.num_ranks(), 16U);
  EXPECT_EQ(ensemble.programs.size(), 2U);
  EXPECT_EQ(ensemble.program_of_rank[11], 1U);
  EXPECT_THAT(MembersOf(ensemble, 11, GroupRole::kTensor), ElementsAre(10, 11));
  EXPECT_THAT(MembersOf(ensemble, 11, GroupRole::kData), ElementsAre(9, 11, 13, 15));
  EXPECT_THAT(MembersOf(ensemble, 11, GroupRole::kExperts), ElementsAre(9, 11));
  EXPECT_THAT(MembersOf(ensemble, 11, GroupRole::kExpertData), ElementsAre(11, 15));
  EXPECT_THAT(MembersOf(ensemble, 11, GroupRole::kPreviousForwardIn), ElementsAre(3, 11));
  EXPECT_EQ(MembersOf(ensemble, 3, GroupRole::kNextForwardOut),
            MembersOf(ensemble, 11, GroupRole::kPreviousForwardIn));
}

TEST(SimaiProgramTest, PlansThatDoNotDivideAreRejected) {
  const auto workload = ParseWorkload(
      "HYBRID_TRANSFORMER_FWD_IN_BCKWD ep: 3 all_gpus: 8\n1\n"
      "attention -1 1 NONE 0 1 NONE 0 1 NONE 0 1\n");
  EXPECT_EQ(MakeEnsemble(*workload).error().message(),
            "ep 3 does not divide the 8 data-parallel ranks of all_gpus 8; choose one that does");
}

// 24 micro-batches on 12 stages of 8 chunks, written as SimAI's example.
TEST(SimaiProgramTest, TheExampleOfSimaiHasAProgramForEachStage) {
  const std::string path = ORRERY_SHARED "/workloads/simai/workload_analytical.txt.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the shared workloads are not here: " << path;
  }
  const WorkloadEnsemble simai = MakeEnsemble(ReadWorkload(path).value()).value();
  EXPECT_EQ(simai.microbatches, 24);
  EXPECT_EQ(simai.ensemble.num_ranks(), 9216U);
  ASSERT_EQ(simai.ensemble.programs.size(), 12U);
  EXPECT_TRUE(simai.problems.all().empty());
  std::int64_t compute_ps = 0;
  for (const std::int64_t duration_ps : simai.ensemble.programs[5].tasks.duration_ps) {
    compute_ps += duration_ps;
  }
  EXPECT_EQ((compute_ps + 500'000) / 1'000'000, 4'542'795);  // as SimAI counts it
}

}  // namespace
}  // namespace orrery::compat::simai
