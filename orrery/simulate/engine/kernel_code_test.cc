#include "orrery/simulate/engine/kernel_code.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::simulate {
namespace {

using overlap::Pattern;

// 17,300 ns lie in [16384, 18432), an eighth of 16384: in the middle 17,408. 0.5 are 32 of 64
// steps; 0.1 are 6.4, rounded to 6: 93,750 millionths.
TEST(KernelCodeTest, AKernelIsRoundedToTheMiddleOfItsLikes) {
  const ComputeTask task = ComputeTaskOf(CodeOf(ComputeTask{
      .operation = 3, .alone_ps = 17'300'000, .memory_share = 500'000, .compute_share = 100'000}));

  EXPECT_EQ(task.operation, 3);
  EXPECT_EQ(task.alone_ps, 17'408'000);
  EXPECT_EQ(task.memory_share, 500'000U);
  EXPECT_EQ(task.compute_share, 93'750U);
}

// 100,000 MB/s lie in [98304, 106496).
TEST(KernelCodeTest, CommunicationKeepsItsBlocksAndItsPattern) {
  const CommunicationTask task =
      CommunicationTaskOf(CodeOf(CommunicationTask{.blocks = 24,
                                                   .threads = 544,
                                                   .pattern = Pattern::kReduceCopy,
                                                   .payload_gbps = 100,
                                                   .chunk_bytes = 512 << 10}));

  EXPECT_EQ(task.blocks, 24U);
  EXPECT_EQ(task.threads, 544U);
  EXPECT_EQ(task.pattern, Pattern::kReduceCopy);
  EXPECT_DOUBLE_EQ(task.payload_gbps, 102.4);
  EXPECT_EQ(task.chunk_bytes, 512 << 10);
}

TEST(KernelCodeTest, WhatWaitsHoldsItsBlocksAndMovesNothing) {
  const CommunicationTask task = CommunicationTaskOf(Waiting(CodeOf(CommunicationTask{
      .blocks = 24, .threads = 544, .pattern = Pattern::kReduceCopy, .payload_gbps = 100})));

  EXPECT_EQ(task.blocks, 24U);
  EXPECT_EQ(task.pattern, Pattern::kSpin);
  EXPECT_EQ(task.payload_gbps, 0);
}

// 100 GB/s are rounded to 102.4, each of which is 3 through memory; 30 to 29.696, each 2: 366.592
// in all, as much as 122.197 of the first kind, which is rounded to 118.784.
TEST(KernelCodeTest, CommunicationAddsUpByBlocksAndTraffic) {
  const KernelCode reduce = CodeOf(CommunicationTask{
      .blocks = 16, .threads = 544, .pattern = Pattern::kReduceCopy, .payload_gbps = 100});
  const KernelCode copy = CodeOf(CommunicationTask{
      .blocks = 4, .threads = 640, .pattern = Pattern::kCopy, .payload_gbps = 30});
  CommunicationSum sum;
  sum.Add(copy);
  sum.Add(reduce);

  const CommunicationTask task = CommunicationTaskOf(sum.Total());

  EXPECT_EQ(task.blocks, 20U);
  EXPECT_EQ(task.threads, 640U);
  EXPECT_EQ(task.pattern, Pattern::kReduceCopy);
  EXPECT_DOUBLE_EQ(task.payload_gbps, 118.784);
}

TEST(KernelCodeTest, TheSumOfNothingIsNothing) {
  EXPECT_EQ(CommunicationSum().Total(), 0U);
  EXPECT_EQ(CodeOf(CommunicationTask{}), 0U);
}

RC_GTEST_PROP(KernelCodeProperty, WhatIsRoundedStaysAsItIs, ()) {
  const ComputeTask task{.operation = *rc::gen::arbitrary<std::uint8_t>(),
                         .alone_ps = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000),
                         .memory_share = *rc::gen::inRange<std::uint32_t>(0, 1'000'001),
                         .compute_share = *rc::gen::inRange<std::uint32_t>(0, 1'000'001)};
  const KernelCode code = CodeOf(task);
  const ComputeTask rounded = ComputeTaskOf(code);
  RC_ASSERT(CodeOf(rounded) == code);
  const auto exact = static_cast<double>(task.alone_ps);
  RC_ASSERT(std::abs(static_cast<double>(rounded.alone_ps) - exact) <= 0.0626 * exact + 1000);
}

RC_GTEST_PROP(KernelCodeProperty, TheOrderOfASumDoesNotMatter, ()) {
  std::vector<KernelCode> codes;
  for (int i = 0; i < 3; ++i) {
    codes.push_back(
        CodeOf(CommunicationTask{.blocks = *rc::gen::inRange<std::uint32_t>(0, 64),
                                 .threads = 32 * *rc::gen::inRange<std::uint32_t>(3, 21),
                                 .pattern = static_cast<Pattern>(*rc::gen::inRange(0, 5)),
                                 .payload_gbps = 0.01 * *rc::gen::inRange(0, 100'000)}));
  }
  CommunicationSum one;
  CommunicationSum other;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    one.Add(codes[i]);
    other.Add(codes[codes.size() - 1 - i]);
  }
  RC_ASSERT(one.Total() == other.Total());
}

}  // namespace
}  // namespace orrery::simulate
