#include <cstdint>
#include <optional>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/collective/flow/flow_plan.h"

namespace orrery::collective {
namespace {

// Seven nodes: 0 over 4, 4 over 2 and 6, those over 1, 3 and 5; 7 is not there.
TEST(TreeParentTest, InnerNodesLieBetweenTheirChildren) {
  EXPECT_EQ(TreeParent(0, 7), std::nullopt);
  EXPECT_EQ(TreeParent(4, 7), 0u);
  EXPECT_EQ(TreeParent(2, 7), 4u);
  EXPECT_EQ(TreeParent(6, 7), 4u);
  EXPECT_EQ(TreeParent(1, 7), 2u);
  EXPECT_EQ(TreeParent(3, 7), 2u);
  EXPECT_EQ(TreeParent(5, 7), 6u);
}

// Four nodes: 0 over 2, 2 over 1 and 3. Mirrored: 3 over 1, 1 over 2 and 0.
TEST(TreeParentTest, TheSecondTreeOfAnEvenCountIsTheMirrorImage) {
  EXPECT_EQ(SecondTreeParent(3, 4), std::nullopt);
  EXPECT_EQ(SecondTreeParent(1, 4), 3u);
  EXPECT_EQ(SecondTreeParent(0, 4), 1u);
  EXPECT_EQ(SecondTreeParent(2, 4), 1u);
}

int NumChildren(std::uint32_t node, std::uint32_t count,
                std::optional<std::uint32_t> (*parent_of)(std::uint32_t, std::uint32_t)) {
  int children = 0;
  for (std::uint32_t other = 0; other < count; ++other) {
    children += parent_of(other, count) == node ? 1 : 0;
  }
  return children;
}

RC_GTEST_PROP(TreeParentTest, BothAreTreesAndShareTheWork, ()) {
  const auto count = *rc::gen::inRange<std::uint32_t>(2, 200);
  for (const auto parent_of : {&TreeParent, &SecondTreeParent}) {
    std::uint32_t roots = 0;
    for (std::uint32_t node = 0; node < count; ++node) {
      std::uint32_t depth = 0;
      auto at = parent_of(node, count);
      roots += at ? 0 : 1;
      for (; at; at = parent_of(*at, count)) {
        RC_ASSERT(*at < count);
        RC_ASSERT(++depth <= 9u);
      }
    }
    RC_ASSERT(roots == 1u);
  }
  for (std::uint32_t node = 0; node < count; ++node) {
    const int first = NumChildren(node, count, &TreeParent);
    const int second = NumChildren(node, count, &SecondTreeParent);
    RC_ASSERT(first <= 2 && second <= 2);
    // One child is that of a root.
    RC_ASSERT(first + second <= 3);
  }
}

}  // namespace
}  // namespace orrery::collective
