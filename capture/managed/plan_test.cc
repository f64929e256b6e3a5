#include <algorithm>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/managed/experiment.h"

namespace managed {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

Experiment Pages(const char* order, int64_t blocks, int64_t pages_per_block) {
  Experiment experiment;
  experiment.order = order;
  experiment.blocks = blocks;
  experiment.pages_per_block = pages_per_block;
  return experiment;
}

TEST(PageOrderTest, SequentialTakesTheFirstPagesOfEachBlock) {
  EXPECT_THAT(PageOrder(Pages("sequential", 2, 3)), ElementsAre(0, 1, 2, 512, 513, 514));
}

// Page j of block b is 197 j + 61 b; neighbours are in different blocks.
TEST(PageOrderTest, ScatteredGoesFromBlockToBlock) {
  EXPECT_THAT(PageOrder(Pages("scattered", 2, 2)), ElementsAre(0, 512 + 61, 197, 512 + 258));
}

TEST(PageOrderTest, NoPageComesTwice) {
  for (const char* order : {"scattered", "sequential"}) {
    std::vector<uint32_t> pages = PageOrder(Pages(order, 3, kPagesPerBlock));
    std::sort(pages.begin(), pages.end());

    ASSERT_EQ(pages.size(), 3U * kPagesPerBlock);
    for (uint32_t page = 0; page < pages.size(); ++page) {
      EXPECT_EQ(pages[page], page);
    }
  }
}

// A GPU with 8 GiB must hold everything that is there at once, and the pool is 2 GiB.
TEST(PlanTest, NothingIsLargerThanThePool) {
  for (const Experiment& experiment : Plan()) {
    EXPECT_LE(SpanBytes(experiment), 2048 * kMiB) << experiment.kind;
    EXPECT_LE(experiment.blocks * experiment.pages_per_block, 64 * kPagesPerBlock);
  }
}

TEST(PlanTest, NoExperimentIsPlannedTwice) {
  std::multiset<std::string> rows;
  for (const Experiment& experiment : Plan()) {
    rows.insert(RowOf(experiment, {0}, {}));
  }
  std::vector<size_t> counts;
  for (const std::string& row : rows) {
    counts.push_back(rows.count(row));
  }
  EXPECT_THAT(counts, Each(1U));
}

TEST(PlanTest, CallsDivideTheirBytesAndThePagesOfAHost) {
  for (const Experiment& experiment : Plan()) {
    if (experiment.calls > 0) {
      EXPECT_EQ(experiment.bytes % (experiment.calls * kPageBytes), 0);
    }
  }
}

}  // namespace
}  // namespace managed
