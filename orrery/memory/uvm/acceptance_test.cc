#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/memory/uvm/collect.h"
#include "orrery/memory/uvm/net_test.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/simulation.h"
#include "orrery/memory/uvm/workload.h"

// The rules that the reference on memory profiling sets before any number is quoted (section 15):
// (1) to (3) on two training steps; (4) to (6) are properties in oracle_test.cc.

namespace orrery::memory::uvm {
namespace {

using Kind = Policy::Kind;

Comparison PlayAll(const LayerSizes& sizes, double factor,
                   const Parameters& parameters = DefaultParameters()) {
  const hardware::Gpu& gpu = *hardware::FindGpu("A100");
  const Workload workload = Collect(TrainingStep(sizes), parameters, gpu).workload;
  return Compare(workload, parameters, RatesOn(gpu, parameters),
                 {.capacity_bytes = CapacityOf(workload, factor), .iterations = 2});
}

double Relative(const Comparison& comparison, Kind kind) {
  return RelativeTime(comparison, comparison.Of(kind).total_ns);
}

// (1) The levels are alike: object level touches a few blocks more, with calls of their own.
void ExpectBothLevelsHelp(const Parameters& parameters) {
  for (const LayerSizes& sizes : {PooledNet(), FullNet()}) {
    const Comparison comparison = PlayAll(sizes, 1, parameters);

    EXPECT_EQ(comparison.Of(Kind::kNone).Moved().evictions, 0);
    EXPECT_EQ(comparison.Of(Kind::kObject).Moved().evictions, 0);
    EXPECT_LT(Relative(comparison, Kind::kTensor), 0.95);
    EXPECT_LT(Relative(comparison, Kind::kObject), Relative(comparison, Kind::kTensor) + 0.05);
  }
}

// (2)
void ExpectObjectLevelHurts(const Parameters& parameters) {
  const Comparison comparison = PlayAll(PooledNet(), 3, parameters);

  EXPECT_GT(Relative(comparison, Kind::kObject), 1.5);
  EXPECT_GT(Relative(comparison, Kind::kObject), 1.5 * Relative(comparison, Kind::kTensor));
}

// (3)
void ExpectObjectLevelGains(const Parameters& parameters) {
  const Comparison comparison = PlayAll(FullNet(), 3, parameters);

  EXPECT_LT(Relative(comparison, Kind::kObject), 1);
  EXPECT_LT(Relative(comparison, Kind::kTensor), 1);
}

TEST(UvmAcceptanceTest, WithEnoughMemoryBothLevelsHelpAndObjectLevelAtLeastAsMuch) {
  ExpectBothLevelsHelp(DefaultParameters());
}

TEST(UvmAcceptanceTest, WithAThirdOfTheMemoryObjectLevelHurtsWhereSegmentsAreUsedInPart) {
  ExpectObjectLevelHurts(DefaultParameters());
}

TEST(UvmAcceptanceTest, WithAThirdOfTheMemoryObjectLevelGainsWhereSegmentsAreUsedInFull) {
  ExpectObjectLevelGains(DefaultParameters());
}

// The costs fit what was measured to about a fifth (docs/validation/uvm.md): so much of each may be
// wrong.
TEST(UvmAcceptanceTest, TheOrdersDoNotHangOnTheErrorOfSingleCosts) {
  for (const double factor : {0.8, 1.25}) {
    const auto scaled = [&](std::int64_t& value) {
      value = static_cast<std::int64_t>(static_cast<double>(value) * factor);
    };
    Parameters fitted = DefaultParameters();
    fitted.max_lookahead = 0;
    std::vector<Parameters> changed(11, fitted);
    scaled(changed[0].wake_ns);
    scaled(changed[1].batch_latency_ns);
    scaled(changed[2].block_service_ns);
    scaled(changed[3].prefetch_wake_ns);
    scaled(changed[4].prefetch_call_ns);
    scaled(changed[5].prefetch_move_ns);
    scaled(changed[6].prefetch_block_ns);
    changed[7].prefetch_share *= factor;
    changed[8].fault_share *= factor;
    changed[9].eviction_share *= factor;
    changed[10].fault_population_gbps *= factor;
    for (const Parameters& parameters : changed) {
      ExpectBothLevelsHelp(parameters);
      ExpectObjectLevelHurts(parameters);
      ExpectObjectLevelGains(parameters);
    }
  }
}

// A forward layer of the pooled net touches 58 MiB of segments of 80 MiB each; tensors of the
// other net fill theirs.
TEST(UvmAcceptanceTest, TheNetsUseTheirSegmentsInPartAndInFull) {
  const hardware::Gpu& gpu = *hardware::FindGpu("A100");
  const auto use = [&](const LayerSizes& sizes) {
    return SegmentUse(Collect(TrainingStep(sizes), DefaultParameters(), gpu).workload);
  };

  EXPECT_LT(use(PooledNet()), 0.5);
  EXPECT_GT(use(FullNet()), 0.8);
}

// An operator touches a segment of 2 MiB, another none.
TEST(UvmAcceptanceTest, SegmentsOfOperatorsAreAveragedOverAll) {
  WorkloadBuilder builder(4096, 2 * kMiB);
  const AddressRange segment{.address = 0, .bytes = 2 * kMiB};
  const std::size_t root = builder.AddRoot(segment);
  const std::size_t object = *builder.AddObject(root, segment);
  const std::size_t tensor = *builder.AddObject(root, {.address = 0, .bytes = 4096});
  builder.SetContainer(tensor, object);
  builder.AddWork(builder.AddOperator("uses"), 1);
  builder.AddTouch(tensor);
  builder.AddWork(builder.AddOperator("blind"), 1);

  EXPECT_EQ(MeanSegmentBytes(builder.Finish()), kMiB);
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
