#include "orrery/memory/uvm/residency.h"

#include <gtest/gtest.h>

#include "orrery/memory/uvm/machine_test.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

const PageMask kAll = PageMask::Range(0, 4);

// Three objects of a block each; object i is in block i.
Workload ThreeBlocks() {
  WorkloadBuilder builder = TestBuilder();
  for (int object = 0; object < 3; ++object) {
    AddAlone(builder, 4);
  }
  return builder.Finish();
}

// The driver sees faults and prefetches, never accesses: block 0 was moved first, and not requested
// since.
TEST(ResidencyTest, TheChunkThatNobodyAskedForTheLongestLeavesFirst) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, kAll);
  residency.Bring(1, kAll);

  const Movement moved = residency.Bring(2, kAll);

  EXPECT_EQ(moved, (Movement{.pages_in = 4, .pages_out = 4, .evictions = 1}));
  EXPECT_EQ(residency.Missing(0, kAll), kAll);
  EXPECT_EQ(residency.Missing(1, kAll), PageMask());
}

// A further page of block 0 comes in: now block 1 is the oldest.
TEST(ResidencyTest, AFurtherPageMakesItsChunkTheYoungest) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, PageMask::Range(0, 1));
  residency.Bring(1, kAll);
  residency.Bring(0, PageMask::Range(1, 2));

  residency.Bring(2, kAll);

  EXPECT_EQ(residency.Missing(0, PageMask::Range(0, 2)), PageMask());
  EXPECT_EQ(residency.Missing(1, kAll), kAll);
}

// A prefetch that finds its pages there moves nothing, but its chunk counts as used.
TEST(ResidencyTest, AskingForWhatIsThereMakesItsChunkTheYoungest) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, kAll);
  residency.Bring(1, kAll);

  EXPECT_EQ(residency.Bring(0, kAll), Movement());
  residency.Bring(2, kAll);

  EXPECT_EQ(residency.Missing(0, kAll), PageMask());
  EXPECT_EQ(residency.Missing(1, kAll), kAll);
}

// The driver marks only chunks of whole blocks as used. Blocks of two, four and four pages.
TEST(ResidencyTest, APartOfABlockKeepsItsAge) {
  WorkloadBuilder builder = TestBuilder();
  AddAlone(builder, 2);
  AddAlone(builder, 4);
  AddAlone(builder, 4);
  const Workload workload = builder.Finish();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, kAll);
  residency.Bring(1, kAll);
  residency.Bring(0, kAll);

  residency.Bring(2, kAll);

  EXPECT_EQ(residency.Missing(0, PageMask::Range(0, 2)), PageMask::Range(0, 2));
  EXPECT_EQ(residency.Missing(1, kAll), PageMask());
}

// One page takes the chunk of its block: two such pages fill a GPU of two blocks.
TEST(ResidencyTest, APageTakesAWholeChunk) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, PageMask::Range(0, 1));
  residency.Bring(1, PageMask::Range(0, 1));

  EXPECT_EQ(residency.used_bytes(), 2 * kBlock);
  EXPECT_EQ(residency.Bring(2, PageMask::Range(0, 1)),
            (Movement{.pages_in = 1, .pages_out = 1, .evictions = 1}));
}

TEST(ResidencyTest, SmallMemoryTakesNoMoreThanItHas) {
  WorkloadBuilder builder = TestBuilder();
  AddAlone(builder, 1);
  AddAlone(builder, 2);
  const Workload workload = builder.Finish();
  Residency residency(workload, kBlock);

  residency.Bring(0, kAll);
  const Movement moved = residency.Bring(1, kAll);

  EXPECT_EQ(moved, (Movement{.pages_in = 2}));
  EXPECT_EQ(residency.used_bytes(), 3 * kPage);
}

TEST(ResidencyTest, PagesComeInEmptyTheFirstTimeAndAreCopiedWhenTheyComeBack) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, kBlock);

  EXPECT_EQ(residency.Bring(0, kAll).pages_copied, 0);
  residency.Bring(1, kAll);
  EXPECT_EQ(
      residency.Bring(0, kAll),
      (Movement{.pages_in = 4, .pages_copied = 4, .pages_out = 4, .evictions = 1, .bounces = 1}));
  EXPECT_EQ(residency.NumBouncedBlocks(), 1);
}

TEST(ResidencyTest, FreedMemoryLeavesWithoutACopyAndForgetsItsData) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, kBlock);
  residency.Bring(0, kAll);

  residency.Release(0);

  EXPECT_EQ(residency.used_bytes(), 0);
  EXPECT_EQ(residency.Bring(1, kAll), (Movement{.pages_in = 4}));
  residency.Release(1);
  EXPECT_EQ(residency.Bring(0, kAll), (Movement{.pages_in = 4}));
}

// Block 0 is given, freed and given again after block 1: now block 1 is the oldest.
TEST(ResidencyTest, AgeCountsFromTheLastTimeThatAChunkWasGiven) {
  const Workload workload = ThreeBlocks();
  Residency residency(workload, 2 * kBlock);
  residency.Bring(0, kAll);
  residency.Bring(1, kAll);
  residency.Release(0);
  residency.Bring(0, kAll);

  residency.Bring(2, kAll);

  EXPECT_EQ(residency.Missing(0, kAll), PageMask());
  EXPECT_EQ(residency.Missing(1, kAll), kAll);
}

}  // namespace
}  // namespace orrery::memory::uvm
