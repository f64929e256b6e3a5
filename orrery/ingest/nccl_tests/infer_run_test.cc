#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/ingest/nccl_tests/run.h"

namespace orrery::ingest::nccl_tests {
namespace {

// A run of one row with bandwidths as they are printed.
Run RunOf(double algbw, double busbw, std::string redop, std::optional<std::int64_t> root) {
  Run run;
  run.rows.push_back({.size_bytes = 1 << 30,
                      .count = 1 << 28,
                      .data_type = "float",
                      .redop = std::move(redop),
                      .root = root,
                      .timing = {},
                      .timestamp = {}});
  run.rows[0].timing[kOutOfPlace].algbw = algbw;
  run.rows[0].timing[kOutOfPlace].busbw = busbw;
  return run;
}

// 483.05 / 276.03 = 1.75 = 2 * 7/8: nothing else exceeds 1, and no other n gives 1.75.
TEST(InferRunTest, AFactorAboveOneIsAnAllReduceAndGivesItsRanks) {
  const Inferred inferred = InferRun(RunOf(276.03, 483.05, "sum", -1));

  EXPECT_EQ(inferred.test, "all_reduce");
  EXPECT_EQ(inferred.num_ranks, 8);
}

// 2 * 511/512 = 1.99609 and 2 * 512/513 = 1.99610: two decimals cannot tell them apart.
TEST(InferRunTest, ManyRanksCannotBeCounted) {
  const Inferred inferred = InferRun(RunOf(50.00, 99.80, "sum", -1));

  EXPECT_EQ(inferred.test, "all_reduce");
  EXPECT_EQ(inferred.num_ranks, std::nullopt);
}

// 0.75 = 3/4.
TEST(InferRunTest, AReductionWithAFactorBelowOneIsAReduceScatter) {
  const Inferred inferred = InferRun(RunOf(400.00, 300.00, "sum", -1));

  EXPECT_EQ(inferred.test, "reduce_scatter");
  EXPECT_EQ(inferred.num_ranks, 4);
}

TEST(InferRunTest, AllGatherAndAllToAllLookTheSameButShareTheirRanks) {
  const Inferred inferred = InferRun(RunOf(400.00, 300.00, "none", -1));

  EXPECT_EQ(inferred.test, "");
  EXPECT_EQ(inferred.num_ranks, 4);
}

TEST(InferRunTest, RootedTestsWithFactorOneAreToldApartByTheReduction) {
  auto copies = RunOf(100.00, 100.00, "none", 0);
  copies.num_ranks = 8;
  auto reduces = RunOf(100.00, 100.00, "sum", 0);
  reduces.num_ranks = 8;

  EXPECT_EQ(InferRun(copies).test, "broadcast");
  EXPECT_EQ(InferRun(reduces).test, "reduce");
}

// On two ranks an all-reduce has the factor 1, as send-receive and reduce have.
TEST(InferRunTest, OnTwoRanksAnAllReduceIsNotCertain) {
  auto run = RunOf(100.00, 100.00, "sum", std::nullopt);
  run.num_ranks = 2;

  EXPECT_EQ(InferRun(run).test, "");
}

TEST(InferRunTest, KnownRanksMustFit) {
  auto run = RunOf(276.03, 483.05, "sum", -1);
  run.num_ranks = 16;

  EXPECT_EQ(InferRun(run).test, "");
}

TEST(InferRunTest, AKnownTestGivesItsRanks) {
  auto run = RunOf(400.00, 300.00, "none", -1);
  run.test = "all_gather";

  EXPECT_EQ(InferRun(run).num_ranks, 4);
}

TEST(InferRunTest, OneRankMovesNothingAndSaysNothing) {
  auto run = RunOf(662.63, 0.00, "sum", -1);
  run.num_ranks = 1;

  EXPECT_EQ(InferRun(run).test, "");
}

}  // namespace
}  // namespace orrery::ingest::nccl_tests
