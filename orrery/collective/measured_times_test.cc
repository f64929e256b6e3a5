#include "orrery/collective/measured_times.h"

#include <vector>

#include <gtest/gtest.h>

namespace orrery::collective {
namespace {

using enum CollectiveKind;

MeasuredTimes Times() {
  const std::vector<MeasuredTime> rows{
      {kAllReduce, 8, {4096}, 4e-6}, {kAllReduce, 8, {1024}, 1e-6},
      {kAllReduce, 8, {1024}, 4e-6}, {kAllReduce, 8, {16384}, 64e-6},
      {kAllReduce, 4, {1024}, 9e-6}, {kAllGather, 2, {1024}, 7e-6}};
  return MeasuredTimes::Create(rows).value();
}

TEST(MeasuredTimesTest, AMeasuredSizeIsTheMeanOfItsRows) {
  EXPECT_DOUBLE_EQ(Times().Seconds(kAllReduce, 8, {4096}).value(), 4e-6);
  EXPECT_DOUBLE_EQ(Times().Seconds(kAllReduce, 8, {1024}).value(), 2e-6);
  EXPECT_DOUBLE_EQ(Times().Seconds(kAllReduce, 4, {1024}).value(), 9e-6);
}

// Half candidate in logarithms from (4096, 4 µs) to (16384, 64 µs).
TEST(MeasuredTimesTest, BetweenSizesTimesLieOnALineInLogarithms) {
  EXPECT_NEAR(Times().Seconds(kAllReduce, 8, {8192}).value(), 16e-6, 1e-15);
}

TEST(MeasuredTimesTest, WhatIsNotMeasuredIsSaid) {
  const MeasuredTimes times = Times();
  EXPECT_EQ(times.Seconds(kAllReduce, 8, {16385}).error().message(),
            "all_reduce on 8 GPUs is measured from 1024 to 16384 bytes, not with 16385");
  EXPECT_EQ(times.Seconds(kAllReduce, 8, {1023}).error().message(),
            "all_reduce on 8 GPUs is measured from 1024 to 16384 bytes, not with 1023");
  EXPECT_EQ(times.Seconds(kAllReduce, 16, {1024}).error().message(),
            "all_reduce is measured on 4, 8 GPUs, not on 16");
  EXPECT_EQ(times.Seconds(kAllToAll, 8, {1024}).error().message(), "all_to_all is not measured");
}

TEST(MeasuredTimesTest, ARowWithoutATimeIsRefused) {
  const std::vector<MeasuredTime> rows{{kAllReduce, 8, {4096}, 0}};
  EXPECT_EQ(MeasuredTimes::Create(rows).error().message(),
            "a measured time needs GPUs, bytes and seconds above zero: all_reduce on 8 GPUs, 4096 "
            "bytes, 0 s");
}

}  // namespace
}  // namespace orrery::collective
