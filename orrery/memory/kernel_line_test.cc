#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/memory/working_set.h"

namespace orrery::memory {
namespace {

constexpr auto kMost = static_cast<std::int64_t>(KernelLine::kMaxPoints);

KernelLine LineOf(std::int64_t num_kernels) {
  KernelLine line;
  for (std::int64_t kernel = 0; kernel < num_kernels; ++kernel) {
    line.Add({kernel, kernel % 2 == 0 ? kernel : -1, -1});
  }
  return line;
}

TEST(KernelLine, FewKernelsHaveAPointEach) {
  const KernelLine line = LineOf(kMost);
  EXPECT_EQ(line.step(), 1);
  EXPECT_EQ(line.points().size(), KernelLine::kMaxPoints);
  EXPECT_EQ(line.points()[7], (KernelLine::Point{7, -1, -1}));
}

// One kernel more than points: pairs, and the last alone. Of the pair (6, 7) the footprint is 7 and
// the second curve, known for even kernels, 6.
TEST(KernelLine, NeighboursGiveTheirLargest) {
  const KernelLine line = LineOf(kMost + 1);
  EXPECT_EQ(line.step(), 2);
  EXPECT_EQ(line.points().size(), KernelLine::kMaxPoints / 2 + 1);
  EXPECT_EQ(line.points()[3], (KernelLine::Point{7, 6, -1}));
  EXPECT_EQ(line.points().back(), (KernelLine::Point{kMost, kMost, -1}));
}

// A point is the largest of its `step` kernels, whatever their number.
TEST(KernelLine, PointsStandForStepKernelsEach) {
  for (const std::int64_t num_kernels : {3 * kMost, 8 * kMost - 1, 8 * kMost, 8 * kMost + 1}) {
    const KernelLine line = LineOf(num_kernels);
    ASSERT_LE(line.points().size(), KernelLine::kMaxPoints);
    for (std::size_t i = 0; i < line.points().size(); ++i) {
      const std::int64_t end =
          std::min(num_kernels, line.step() * (static_cast<std::int64_t>(i) + 1));
      ASSERT_EQ(line.points()[i][KernelLine::kFootprint], end - 1);
    }
    EXPECT_GE(line.step() * static_cast<std::int64_t>(line.points().size()), num_kernels);
  }
}

}  // namespace
}  // namespace orrery::memory
