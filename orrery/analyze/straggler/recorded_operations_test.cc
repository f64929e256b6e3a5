#include "orrery/analyze/straggler/recorded_operations.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::Optional;

constexpr std::string_view kGemm = "ampere_bf16_s16816gemm_bf16_128x128_tn";

trace::TraceSet SetOf(trace::Trace first, trace::Trace second) {
  trace::TraceSet set;
  set.ranks.push_back(std::move(first));
  set.ranks.push_back(std::move(second));
  return set;
}

// A GEMM, a normalisation, an all-reduce and a GEMM; the first GEMM takes `gemm_us`. All meet in
// the all-reduce at `met_us`, which takes 20 µs, on a stream of its own.
trace::Trace RankWith(std::int32_t number, std::int64_t gemm_us, std::int64_t met_us) {
  Rank rank(number);
  const RowId group = rank.Group("dp", "[0, 1]", 2);
  rank.Kernel(kGemm, {0, gemm_us})
      .Kernel("layer_norm_kernel", {gemm_us, gemm_us + 10})
      .Collective({.span = {gemm_us + 10, met_us + 20}, .group = group, .bytes = 1024})
      .Kernel(kGemm, {met_us + 20, met_us + 120});
  return rank.Finish();
}

// Rank 0 needs 100 µs for the first GEMM and rank 1 150, ideal are 125. As recorded 150 + 10 + 20 +
// 100 = 280 µs, ideal 255. The GEMMs are to blame, and rank 1: as it is, the other ideal, 280.
// Rank 0 is faster than ideal, so that with its times nothing changes: 255.
TEST(RecordedOperationsTest, ARankWithLongerKernelsHasTheBlame) {
  trace::TraceSet set = SetOf(RankWith(0, 100, 160), RankWith(1, 150, 160));
  const RunView view = ViewRun(set, {}, {});
  const RecordedOperations recorded = OperationsOf(view).value();
  const StragglerSlowdown slowdown = MeasureStragglers(recorded.operations, 1).value();

  EXPECT_TRUE(recorded.is_by_position);
  EXPECT_EQ(recorded.num_unmatched, 0);
  EXPECT_EQ(slowdown.measured_ns, 280e3);
  EXPECT_EQ(slowdown.nodelay_ns, 280e3);
  EXPECT_EQ(slowdown.ideal_ns, 255e3);
  EXPECT_DOUBLE_EQ(slowdown.slowdown, 280.0 / 255);
  EXPECT_THAT(slowdown.classes, ElementsAre("gemm", "normalisation", "all_reduce"));
  EXPECT_THAT(slowdown.by_class, ElementsAre(DoubleEq(280.0 / 255), 1.0, 1.0));
  EXPECT_THAT(slowdown.by_worker, ElementsAre(Optional(1.0), Optional(DoubleEq(280.0 / 255))));
  EXPECT_THAT(slowdown.worst_workers.workers, ElementsAre(1));
  EXPECT_THAT(slowdown.worst_workers.removed, Optional(1.0));
}

// Rank 1 runs one GEMM more after the first (50 µs), so places do not correspond. GEMMs sum to 200
// µs on rank 0 and 250 on rank 1, the mean is 225: factors 1.125 and 0.9. Ideal: rank 0 112.5 + 10,
// rank 1 (100 + 50) · 0.9 + 10 = 145 and the transfer 20; then rank 0 112.5: 277.5. Recorded: 160 +
// 20 + 100 = 280.
TEST(RecordedOperationsTest, WhereRanksDifferTheSumsOfAClassAreCompared) {
  Rank more(1);
  const RowId group = more.Group("dp", "[0, 1]", 2);
  more.Kernel(kGemm, {0, 100})
      .Kernel(kGemm, {100, 150})
      .Kernel("layer_norm_kernel", {150, 160})
      .Collective({.span = {160, 180}, .group = group, .bytes = 1024})
      .Kernel(kGemm, {180, 280});
  trace::TraceSet set = SetOf(RankWith(0, 100, 160), more.Finish());
  const RunView view = ViewRun(set, {}, {});
  const RecordedOperations recorded = OperationsOf(view).value();
  const StragglerSlowdown slowdown = MeasureStragglers(recorded.operations, 1).value();

  EXPECT_FALSE(recorded.is_by_position);
  EXPECT_EQ(slowdown.nodelay_ns, 280e3);
  EXPECT_EQ(slowdown.ideal_ns, 277.5e3);
}

TEST(RecordedOperationsTest, EqualRanksHaveNoSlowdown) {
  trace::TraceSet set = SetOf(RankWith(0, 100, 110), RankWith(1, 100, 110));
  const RunView view = ViewRun(set, {}, {});
  const StragglerSlowdown slowdown =
      MeasureStragglers(OperationsOf(view).value().operations, 1).value();

  EXPECT_EQ(slowdown.slowdown, 1);
  EXPECT_FALSE(slowdown.worst_workers.removed.has_value());
}

std::string ReasonOf(trace::TraceSet set) {
  const RunView view = ViewRun(set, {}, {});
  const auto recorded = OperationsOf(view);
  return recorded ? "" : recorded.error().message();
}

TEST(RecordedOperationsTest, WithoutAnotherRankOrACollectiveThereIsAReason) {
  trace::TraceSet alone;
  alone.ranks.push_back(RankWith(0, 100, 110));
  EXPECT_EQ(ReasonOf(std::move(alone)), "one rank: stragglers need another to compare with");
  Rank one(0);
  Rank two(1);
  one.Kernel(kGemm, {0, 10});
  two.Kernel(kGemm, {0, 20});
  EXPECT_EQ(ReasonOf(SetOf(one.Finish(), two.Finish())),
            "no collective could be matched across ranks");
}

}  // namespace
}  // namespace orrery::analyze
