#include <gtest/gtest.h>

#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

constexpr PrefetchTree kTree{.pages_per_block = 8, .pages_per_leaf = 1, .threshold_percent = 51};
const PageMask kWhole = PageMask::Range(0, 8);

// Of {0, 1} a half is wanted, which is not more than 51 %.
TEST(PrefetchTreeTest, AHalfIsNotEnough) {
  EXPECT_EQ(PagesToFetch(kTree, kWhole, {}, PageMask::Range(0, 1)), PageMask::Range(0, 1));
}

// {2, 3}: 1 of 2. {0 … 3}: 3 of 4, fetched. {0 … 7}: 3 of 8.
TEST(PrefetchTreeTest, ASubtreeThatIsMostlyThereIsCompleted) {
  EXPECT_EQ(PagesToFetch(kTree, kWhole, PageMask::Range(0, 2), PageMask::Range(2, 3)),
            PageMask::Range(2, 4));
}

// {4, 5} and {4 … 7}: 1 of 2 and 1 of 4, but {0 … 7}: 5 of 8.
TEST(PrefetchTreeTest, TheLargestSubtreeCountsAlsoWhereSmallerOnesDoNot) {
  EXPECT_EQ(PagesToFetch(kTree, kWhole, PageMask::Range(0, 4), PageMask::Range(4, 5)),
            PageMask::Range(4, 8));
}

// Leaves of four pages: the leaf of page 1 comes whole, and is one half of the block.
TEST(PrefetchTreeTest, APageBringsItsLeaf) {
  const PrefetchTree tree{.pages_per_block = 8, .pages_per_leaf = 4, .threshold_percent = 51};

  EXPECT_EQ(PagesToFetch(tree, kWhole, {}, PageMask::Range(1, 2)), PageMask::Range(0, 4));
}

// Only pages 0 to 4 exist. {4 … 7} is page 4 alone, {0 … 7} has 2 of 5 and then 3 of 5.
TEST(PrefetchTreeTest, PagesThatDoNotExistDoNotCount) {
  const PageMask extent = PageMask::Range(0, 5);

  EXPECT_EQ(PagesToFetch(kTree, extent, PageMask::Range(0, 1), PageMask::Range(4, 5)),
            PageMask::Range(4, 5));
  EXPECT_EQ(PagesToFetch(kTree, extent, PageMask::Range(0, 2), PageMask::Range(4, 5)),
            PageMask::Range(2, 5));
}

// {0 … 3} is full, but nothing of it faults: what is fetched has a fault in it.
TEST(PrefetchTreeTest, OnlySubtreesWithAFaultAreFetched) {
  EXPECT_EQ(PagesToFetch(kTree, kWhole, PageMask::Range(0, 3), PageMask::Range(6, 7)),
            PageMask::Range(6, 7));
}

}  // namespace
}  // namespace orrery::memory::uvm
