#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

TEST(PageMaskTest, ARangeMayCrossWords) {
  const PageMask mask = PageMask::Range(60, 130);

  EXPECT_EQ(mask.count(), 70);
  EXPECT_FALSE(mask.Has(59));
  EXPECT_TRUE(mask.Has(60));
  EXPECT_TRUE(mask.Has(129));
  EXPECT_FALSE(mask.Has(130));
}

TEST(PageMaskTest, TheFirstPagesAreTheLowest) {
  const PageMask mask = PageMask::Range(3, 5) | PageMask::Range(100, 200);

  EXPECT_EQ(mask.First(1), PageMask::Range(3, 4));
  EXPECT_EQ(mask.First(12), PageMask::Range(3, 5) | PageMask::Range(100, 110));
  EXPECT_EQ(mask.First(500), mask);
  EXPECT_EQ(mask.First(0), PageMask());
}

RC_GTEST_PROP(PageMaskTest, AreSetsOfPages, ()) {
  const auto page = rc::gen::inRange(0, PageMask::kMaxPages + 1);
  const int begin = *page;
  const int end = *page;
  const int count = *page;
  const PageMask mask = begin < end ? PageMask::Range(begin, end) : PageMask();

  RC_ASSERT(mask.count() == std::max(end - begin, 0));
  RC_ASSERT(mask.First(count).count() == std::min(count, mask.count()));
  RC_ASSERT((mask.First(count) | mask.Without(mask.First(count))) == mask);
  RC_ASSERT(!(mask.First(count) & mask.Without(mask.First(count))).any());
}

}  // namespace
}  // namespace orrery::memory::uvm
