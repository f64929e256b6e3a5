#include "orrery/base/parallel.h"

#include <atomic>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

namespace orrery {
namespace {

class ParallelForTest : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Threads, ParallelForTest, ::testing::Values(0, 1, 2, 7));

TEST_P(ParallelForTest, EveryIndexIsWorkedOnOnceAndLandsInItsPlace) {
  std::vector<std::size_t> squares(10'000);
  std::atomic<int> calls = 0;

  ParallelFor(squares.size(), GetParam(), [&](std::size_t index) {
    squares[index] = index * index;
    ++calls;
  });

  EXPECT_EQ(calls, 10'000);
  for (std::size_t index = 0; index < squares.size(); ++index) {
    ASSERT_EQ(squares[index], index * index);
  }
}

TEST_P(ParallelForTest, NothingToDoIsDone) {
  ParallelFor(0, GetParam(), [](std::size_t) { FAIL(); });
}

TEST_P(ParallelForTest, WorkMayBeSplitFurther) {
  std::atomic<int> calls = 0;

  ParallelFor(8, GetParam(),
              [&](std::size_t) { ParallelFor(8, GetParam(), [&](std::size_t) { ++calls; }); });

  EXPECT_EQ(calls, 64);
}

}  // namespace
}  // namespace orrery
