#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/overlap/from_traces/derived_pairs.h"
#include "orrery/trace/trace.h"

namespace orrery::overlap::from_traces {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Worked out in the reference: overlapped time 489,128 ns, work done in it 443,016 ns.
TEST(Slowdown, TheConsistentMeasureMapsBack) {
  const double alone = 1'989'218;
  const double together = 2'035'330;
  const double ratio = 0.240318768946559;
  const double slowdown = ConsistentSlowdown(alone, together, ratio);
  EXPECT_NEAR(slowdown, 0.1040865341, 1e-9);
  EXPECT_NEAR(EchoSlowdown(alone, together, ratio), 0.0964592516, 1e-9);
}

TEST(Slowdown, ALittleOverlapMakesEchosMeasureWild) {
  EXPECT_NEAR(EchoSlowdown(3'817'538, 2'295'655, 0.0108731495), -36.6642274, 1e-5);
}

// Alone 100; together 300 of which 10 % overlap: 270 outside is more than all of it alone.
TEST(Slowdown, MoreTimeOutsideThanAloneHasNoSolution) {
  EXPECT_TRUE(std::isnan(ConsistentSlowdown(100, 300, 0.1)));
}

TEST(FunctionName, LeavesNamespacesTemplatesAndParametersOut) {
  EXPECT_EQ(FunctionName("ampere_sgemm_128x64_tn"), "ampere_sgemm_128x64_tn");
  EXPECT_EQ(FunctionName("void at::native::(anonymous namespace)::layer_norm<float, T<int>>(int)"),
            "layer_norm");
  EXPECT_EQ(FunctionName("void native::<unnamed>::layer_norm<float>(int, T2)"), "layer_norm");
  EXPECT_EQ(FunctionName("(int)"), "(int)");
}

/// Kernels of one stream from names; each takes 100 us and begins where the last one ended.
RunKernels RunOf(const std::vector<std::string>& names, std::int64_t stream = 7) {
  RunKernels run;
  for (const std::string& name : names) {
    run.kernels.push_back({.name = name,
                           .grid = {8, 1, 1},
                           .block = {128, 1, 1},
                           .stream = stream,
                           .begin_ns = static_cast<std::int64_t>(run.kernels.size()) * 100'000,
                           .duration_ns = 100'000});
  }
  return run;
}

std::vector<std::string> Repeated(const std::vector<std::string>& names, int times) {
  std::vector<std::string> all;
  for (int i = 0; i < times; ++i) {
    all.insert(all.end(), names.begin(), names.end());
  }
  return all;
}

// The kernel that is lost at place 10 shifts nothing: 10 goes with 11, and so on.
TEST(Join, AKernelThatIsMissingShiftsNothing) {
  const RunKernels alone = RunOf(Repeated({"a", "b", "c"}, 10));
  RunKernels together = alone;
  together.kernels.erase(together.kernels.begin() + 10);
  const auto join = JoinKernels(alone, together, JoinBy::kWholeName);
  ASSERT_TRUE(join.has_value()) << join.error().message();
  EXPECT_EQ(join->matched.size(), 29);
  EXPECT_THAT(join->only_alone, ElementsAre(10));
  EXPECT_EQ(join->matched[10], (IndexPair{11, 10}));
  EXPECT_DOUBLE_EQ(join->MatchedShare(), 58.0 / 59);
}

TEST(Join, AnotherGridIsAnotherKernel) {
  const RunKernels alone = RunOf(Repeated({"a", "b"}, 20));
  RunKernels together = alone;
  together.kernels[5].grid = {9, 1, 1};
  const auto join = JoinKernels(alone, together, JoinBy::kWholeName);
  ASSERT_TRUE(join.has_value()) << join.error().message();
  EXPECT_THAT(join->only_alone, ElementsAre(5));
  EXPECT_THAT(join->only_together, ElementsAre(5));
}

TEST(Join, StreamsOfOtherNumbersAreJoinedByLength) {
  RunKernels alone = RunOf(Repeated({"a", "b"}, 10), 7);
  const RunKernels side = RunOf(Repeated({"x"}, 5), 9);
  alone.kernels.insert(alone.kernels.end(), side.kernels.begin(), side.kernels.end());
  RunKernels together = alone;
  for (RunKernel& kernel : together.kernels) {
    kernel.stream += 100;
  }
  const auto join = JoinKernels(alone, together, JoinBy::kWholeName);
  ASSERT_TRUE(join.has_value()) << join.error().message();
  EXPECT_EQ(join->matched.size(), 25);
}

TEST(Join, TooLittleInCommonIsRejectedWithNames) {
  const auto join = JoinKernels(RunOf(Repeated({"a", "b"}, 10)), RunOf(Repeated({"a", "z"}, 10)),
                                JoinBy::kWholeName);
  ASSERT_FALSE(join.has_value());
  EXPECT_THAT(join.error().message(), HasSubstr("50.0 % of the kernels of both runs match"));
  EXPECT_THAT(join.error().message(), HasSubstr("only together: z grid 8x1x1, number 2"));
}

RunCommunication Communication(std::int64_t begin_ns, std::int64_t end_ns) {
  return {.name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL",
          .channels = 24,
          .begin_ns = begin_ns,
          .duration_ns = end_ns - begin_ns};
}

// Kernel 1 runs from 100 to 200 us beside two communications, 90 to 160 and 140 to 180 us: their
// union covers 80 us of it, their sum 100 us. The first overlaps it most, 60 us, since 10 us.
TEST(TracePairs, CommunicationIsUnited) {
  const RunKernels alone = RunOf({"a", "b", "c"});
  RunKernels together = alone;
  together.communications = {Communication(90'000, 160'000), Communication(140'000, 180'000)};
  const auto join = JoinKernels(alone, together, JoinBy::kWholeName);
  const TracePairs pairs = MakePairs(alone, together, *join);
  EXPECT_EQ(pairs.pairs[1].overlap_ns, 80'000);
  EXPECT_EQ(pairs.pairs[1].communication, 0);
  EXPECT_EQ(pairs.pairs[1].since_ns, 10'000);
  EXPECT_EQ(pairs.pairs[1].rejection, Rejection::kKept);
  EXPECT_EQ(pairs.pairs[0].overlap_ns, 10'000);
  EXPECT_EQ(pairs.pairs[2].rejection, Rejection::kNoOverlap);
  EXPECT_TRUE(pairs.segments.empty()) << "one kernel without overlap tells nothing of the clock";
}

TEST(TracePairs, ShortOverlapsAreLeftOut) {
  const RunKernels alone = RunOf({"a", "b"});
  RunKernels together = alone;
  together.communications = {Communication(97'000, 100'000)};
  const TracePairs pairs =
      MakePairs(alone, together, *JoinKernels(alone, together, JoinBy::kWholeName));
  EXPECT_EQ(pairs.pairs[0].rejection, Rejection::kShortOverlap);
}

// Kernels 20 to 39 of the second run take 0.6 of their time; the middle of nine changes between
// kernels 19 and 20, where five of the nine are of the other clock.
TEST(TracePairs, AChangedClockIsASegmentAndItsPairsAreLeftOut) {
  const RunKernels alone = RunOf(Repeated({"a"}, 60));
  RunKernels together = alone;
  for (std::size_t at = 20; at < 40; ++at) {
    together.kernels[at].duration_ns = 60'000;
  }
  together.communications = {Communication(3'000'000, 3'060'000),
                             Communication(5'000'000, 5'100'000)};
  const TracePairs pairs =
      MakePairs(alone, together, *JoinKernels(alone, together, JoinBy::kWholeName));
  ASSERT_EQ(pairs.segments.size(), 3);
  EXPECT_EQ(pairs.segments[1].first, 20);
  EXPECT_EQ(pairs.segments[1].last, 39);
  EXPECT_DOUBLE_EQ(pairs.segments[1].ratio, 0.6);
  EXPECT_EQ(pairs.pairs[30].rejection, Rejection::kClock);
  EXPECT_EQ(pairs.pairs[50].rejection, Rejection::kKept);
}

// s* of 0.2 with 100 us and of 0.5 with 50 us overlapped: two thirds of the time lie at 0.2.
TEST(DerivedPairs, MediansWeighByOverlappedTime) {
  const RunKernels alone = RunOf({"a", "a", "a"});
  RunKernels together = alone;
  together.kernels[0].duration_ns = 120'000;
  together.kernels[1].begin_ns = 200'000;
  together.kernels[1].duration_ns = 120'000;
  together.kernels[2].begin_ns = 400'000;
  together.kernels[2].duration_ns = 150'000;
  together.communications = {Communication(0, 600'000)};
  const auto rank = JoinRank(0, alone, together, JoinBy::kWholeName);
  ASSERT_TRUE(rank.has_value()) << rank.error().message();
  const std::vector<KernelMedian> medians = MediansOf({*rank});
  ASSERT_EQ(medians.size(), 1);
  EXPECT_EQ(medians[0].pairs, 3);
  EXPECT_DOUBLE_EQ(medians[0].slowdown, 0.2);
}

TEST(DerivedPairs, ARunWithoutCommunicationIsRejected) {
  const auto rank = JoinRank(0, RunOf({"a"}), RunOf({"a"}), JoinBy::kWholeName);
  ASSERT_FALSE(rank.has_value());
  EXPECT_THAT(rank.error().message(), HasSubstr("without communication first"));
}

trace::Trace NcclTrace() {
  trace::Trace trace;
  const RowId shape = trace.launch_shapes.Append({.grid_x = 24,
                                                  .grid_y = 1,
                                                  .grid_z = 1,
                                                  .block_x = 544,
                                                  .block_y = 1,
                                                  .block_z = 1,
                                                  .registers_per_thread = 96});
  trace.activities.Append(
      {.begin_ns = 5,
       .duration_ns = 10,
       .name = trace.strings.Intern(
           "ncclDevKernel_AllReduce_Sum_f32_TREE_LL128(ncclDevKernelArgsStorage<4096ul>)"),
       .shape = shape});
  trace.activities.Append({.begin_ns = 7, .duration_ns = 3, .name = trace.strings.Intern("gemm")});
  return trace;
}

TEST(RunKernels, TheNameOfACommunicationTellsAlgorithmAndProtocol) {
  const RunKernels run = KernelsOf(NcclTrace());
  ASSERT_EQ(run.communications.size(), 1);
  ASSERT_EQ(run.kernels.size(), 1);
  const RunCommunication& communication = run.communications[0];
  EXPECT_EQ(communication.collective, "all_reduce");
  EXPECT_EQ(communication.algorithm, "TREE");
  EXPECT_EQ(communication.protocol, "LL128");
  EXPECT_EQ(communication.channels, 24);
  EXPECT_EQ(communication.threads, 544);
  EXPECT_FALSE(run.kernels[0].shape.IsKnown());
}

}  // namespace
}  // namespace orrery::overlap::from_traces
