#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

TEST(NumberFormatTest, CountsAreGroupedByThousands) {
  EXPECT_EQ(FormatCount(0), "0");
  EXPECT_EQ(FormatCount(999), "999");
  EXPECT_EQ(FormatCount(1'234'567), "1,234,567");
  EXPECT_EQ(FormatCount(-123), "-123");
  EXPECT_EQ(FormatCount(-1'234), "-1,234");
  EXPECT_EQ(FormatCount(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(NumberFormatTest, DurationsTakeTheUnitThatFits) {
  EXPECT_EQ(FormatDuration({0}), "0 ns");
  EXPECT_EQ(FormatDuration({512}), "512 ns");
  EXPECT_EQ(FormatDuration({1'500}), "1.50 µs");
  EXPECT_EQ(FormatDuration({12'345'678}), "12.3 ms");
  EXPECT_EQ(FormatDuration({123'456'789}), "123 ms");
  EXPECT_EQ(FormatDuration({7'200'000'000'000}), "7,200 s");
  EXPECT_EQ(FormatDuration({-12'345'678}), "-12.3 ms");
}

// 999.4 µs stays, 999.6 µs would round to 1,000; 9.996 has one digit more when rounded.
TEST(NumberFormatTest, RoundingNeverShowsAFourthDigit) {
  EXPECT_EQ(FormatDuration({999'400}), "999 µs");
  EXPECT_EQ(FormatDuration({999'600}), "1.00 ms");
  EXPECT_EQ(FormatDuration({9'996}), "10.0 µs");
  EXPECT_EQ(FormatDuration({99'960}), "100 µs");
}

TEST(NumberFormatTest, BytesComeInPowersOfTenAndOfTwo) {
  EXPECT_EQ(FormatBytes({512}), "512 B");
  EXPECT_EQ(FormatBytes({4'200'000'000}), "4.20 GB");
  EXPECT_EQ(FormatBinaryBytes({512}), "512 B");
  EXPECT_EQ(FormatBinaryBytes({std::int64_t{80} << 30}), "80.0 GiB");
  EXPECT_EQ(FormatBinaryBytes({1'000 << 10}), "1,000 KiB");
  EXPECT_EQ(FormatBinaryBytes({1'024 << 10}), "1.00 MiB");
}

TEST(NumberFormatTest, BandwidthIsDecimal) {
  EXPECT_EQ(FormatBandwidth({4.8e12}), "4.80 TB/s");
  EXPECT_EQ(FormatBandwidth({0}), "0 B/s");
}

TEST(NumberFormatTest, WhatIsNotFiniteIsUnknown) {
  EXPECT_EQ(FormatBandwidth({std::numeric_limits<double>::quiet_NaN()}), "unknown");
  EXPECT_EQ(FormatBandwidth({std::numeric_limits<double>::infinity()}), "unknown");
}

}  // namespace
}  // namespace orrery::draw
