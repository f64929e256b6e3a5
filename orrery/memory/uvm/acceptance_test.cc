#include <gtest/gtest.h>

#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/comparison.h"
#include "orrery/memory/uvm/test_net.h"

// The rules that the reference on memory profiling sets before any number is quoted (section 15):
// (1) to (3) on two training steps; (4) to (6) are properties in oracle_test.cc.

namespace orrery::memory::uvm {
namespace {

using Kind = Policy::Kind;

Comparison PlayAll(const LayerSizes& sizes, double factor) {
  const hardware::Gpu& gpu = *hardware::FindGpu("A100");
  const Parameters& parameters = DefaultParameters();
  const Workload workload = Collect(TrainingStep(sizes), parameters, gpu).workload;
  return Compare(workload, parameters, RatesOn(gpu, parameters),
                 {.capacity_bytes = CapacityOf(workload, factor), .iterations = 2});
}

double Relative(const Comparison& comparison, Kind kind) {
  return RelativeTime(comparison, comparison.Of(kind).total_ns);
}

// (1)
TEST(UvmAcceptanceTest, WithEnoughMemoryBothLevelsHelpAndObjectLevelAtLeastAsMuch) {
  for (const LayerSizes& sizes : {PooledNet(), FullNet()}) {
    const Comparison comparison = PlayAll(sizes, 1);

    EXPECT_EQ(comparison.Of(Kind::kNone).Moved().evictions, 0);
    EXPECT_EQ(comparison.Of(Kind::kObject).Moved().evictions, 0);
    EXPECT_LT(Relative(comparison, Kind::kTensor), 0.95);
    EXPECT_LE(Relative(comparison, Kind::kObject), Relative(comparison, Kind::kTensor));
  }
}

// (2)
TEST(UvmAcceptanceTest, WithAThirdOfTheMemoryObjectLevelHurtsWhereSegmentsAreUsedInPart) {
  const Comparison comparison = PlayAll(PooledNet(), 3);

  EXPECT_GT(Relative(comparison, Kind::kObject), 1.5);
  EXPECT_GT(Relative(comparison, Kind::kObject), 1.5 * Relative(comparison, Kind::kTensor));
}

// (3)
TEST(UvmAcceptanceTest, WithAThirdOfTheMemoryObjectLevelGainsWhereSegmentsAreUsedInFull) {
  const Comparison comparison = PlayAll(FullNet(), 3);

  EXPECT_LT(Relative(comparison, Kind::kObject), 1);
  EXPECT_LE(Relative(comparison, Kind::kTensor), 1);
}

TEST(UvmAcceptanceTest, NoPlayIsShorterThanTheBound) {
  for (const double factor : {1.0, 3.0}) {
    const Comparison comparison = PlayAll(PooledNet(), factor);

    for (const Outcome& outcome : comparison.outcomes) {
      EXPECT_GE(outcome.total_ns, comparison.oracle_ns);
      EXPECT_GE(outcome.Moved().pages_in, comparison.oracle.pages_in);
    }
  }
}

TEST(UvmAcceptanceTest, TheBestLookaheadIsNeverWorseThanNone) {
  const Comparison comparison = PlayAll(FullNet(), 1);

  EXPECT_LE(comparison.Best().total_ns, comparison.Of(Kind::kTensor).total_ns);
  for (const Outcome& outcome : comparison.lookaheads) {
    EXPECT_LE(comparison.Best().total_ns, outcome.total_ns);
  }
}

}  // namespace
}  // namespace orrery::memory::uvm
