#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/compat/echo/program.h"
#include "orrery/compat/simai/program.h"
#include "orrery/compat/simai/workload.h"
#include "orrery/network/topology.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/ensembles_test.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "test_paths.h"

// Programs of other tools, simulated.

namespace orrery::simulate {
namespace {

/// Communication costs nothing.
class FreeTimes : public CommunicationTimes {
 public:
  [[nodiscard]] Result<std::int64_t> DurationPs(const workload::Communications::Row&,
                                                std::span<const network::GpuId>) override {
    return 0;
  }
};

/// All ranks run the program and reduce together; a single rank reduces nothing.
workload::Ensemble DataParallel(workload::Program program, workload::Rank num_ranks) {
  workload::Ensemble ensemble;
  ensemble.num_roles = static_cast<std::uint32_t>(program.roles.size());
  ensemble.programs.push_back(std::move(program));
  std::vector<workload::Rank> all;
  for (workload::Rank rank = 0; rank < num_ranks; ++rank) {
    all.push_back(rank);
    ensemble.program_of_rank.push_back(0);
    ensemble.gpu_of_rank.push_back(rank);
    ensemble.slowness_of_rank.push_back(1);
  }
  const workload::GroupId group = num_ranks > 1 ? ensemble.AddGroup(all) : workload::kNoGroup;
  ensemble.group_of_role.assign(static_cast<std::size_t>(num_ranks) * ensemble.num_roles, group);
  return ensemble;
}

std::int64_t StepPs(const workload::Ensemble& ensemble, CommunicationTimes& times) {
  const auto simulated = Simulate(Fold(ensemble, IslandLinkClass(8)), times);
  EXPECT_TRUE(simulated.has_value()) << (simulated ? "" : simulated.error().message());
  return simulated ? simulated->EndPs() : -1;
}

workload::Ensemble SimaiEnsembleOf(const std::string& keys) {
  const auto workload =
      compat::simai::ParseWorkload("HYBRID_TRANSFORMER_FWD_IN_BCKWD " + keys +
                                   "\n4\n"
                                   "embedding_layer -1 2 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"
                                   "a -1 2 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"
                                   "b -1 2 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n"
                                   "c -1 2 ALLREDUCE 8 1 NONE 0 1 NONE 0 1\n");
  return compat::simai::MakeEnsemble(*workload).value().ensemble;
}

// A micro-batch takes 8 ns forward and 8 ns backward: 1F1B is (m + p − 1) · 16, interleaved
// (m + (p − 1) / v) · 16.
TEST(ImportedProgramTest, ASimaiPipelineTakesWhatItsScheduleSays) {
  FreeTimes free;
  EXPECT_EQ(StepPs(SimaiEnsembleOf("ga: 6"), free), 6 * 16'000);
  EXPECT_EQ(StepPs(SimaiEnsembleOf("pp: 4 ga: 8"), free), (8 + 3) * 16'000);
  EXPECT_EQ(StepPs(SimaiEnsembleOf("pp: 4 vpp: 2 ga: 8"), free), 8 * 16'000 + 3 * 8'000);
}

// Four all-reduces of 8 bytes at a picosecond a byte in each forward pass, all waited for.
TEST(ImportedProgramTest, TensorCollectivesAreExposed) {
  PlainTimes times;
  EXPECT_EQ(StepPs(SimaiEnsembleOf("model_parallel_NPU_group: 2 ga: 3"), times),
            3 * (16'000 + 4 * 8));
}

TEST(ImportedProgramTest, TheExampleOfSimaiIsSimulated) {
  const std::string path = ORRERY_SHARED "/workloads/simai/workload_analytical.txt.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the shared workloads are not here: " << path;
  }
  const auto simai = compat::simai::MakeEnsemble(compat::simai::ReadWorkload(path).value()).value();
  FreeTimes free;
  // Without communication: computing, and a bubble that is not longer than that of unequal chunks.
  const std::int64_t step_us = StepPs(simai.ensemble, free) / 1'000'000;
  EXPECT_GT(step_us, 4'542'795);
  EXPECT_LT(step_us, 4'542'795 * 12 / 10);
}

// Gradients of a at 2 ms, of b at 4 ms; buckets of 1,000,000,000 and 500,000,000 elements take 4
// and 2 ms at a picosecond a byte: 2–6 and 6–8; the optimizer runs 8–9. Alone, nothing is reduced.
TEST(ImportedProgramTest, BucketsOfEchoHideBehindTheBackwardPass) {
  const auto graph = compat::echo::ParseGraph(R"json([
      {"name": "output", "op": "output", "input_nodes": []},
      {"name": "a", "op": "AccumulateGrad", "input_nodes": ["output"]},
      {"name": "b", "op": "AccumulateGrad", "input_nodes": ["a"]},
      {"name": "ddp_pre_0", "op": "ddp_pre", "input_nodes": ["a"]},
      {"name": "ddp_Allreduce_0", "op": "ddp_Allreduce", "input_nodes": ["ddp_pre_0"],
       "attrs": {"bucket_size": 1000000000}},
      {"name": "ddp_pre_1", "op": "ddp_pre", "input_nodes": ["b", "ddp_Allreduce_0"]},
      {"name": "ddp_Allreduce_1", "op": "ddp_Allreduce", "input_nodes": ["ddp_pre_1"],
       "attrs": {"bucket_size": 500000000}}])json");
  const compat::echo::OperatorTimes milliseconds{
      {"output", 0}, {"a", 2}, {"b", 2}, {"optimizer_step", 1}};
  const auto step_ms = [&](workload::Rank ranks) {
    PlainTimes times;
    auto echo = compat::echo::MakeProgram(*graph, milliseconds);
    return StepPs(DataParallel(std::move(echo->program), ranks), times) / 1'000'000'000;
  };
  EXPECT_EQ(step_ms(8), 9);
  EXPECT_EQ(step_ms(1), 5);
}

}  // namespace
}  // namespace orrery::simulate
