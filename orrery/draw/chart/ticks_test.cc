#include <cstddef>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/draw/chart/canvas.h"

namespace orrery::draw {
namespace {

using ::testing::ElementsAre;

// 206 ms in at most 8 ticks: steps of 29.4 ms or more, so 50 ms.
TEST(TicksTest, LinearTicksAreRoundNumbers) {
  EXPECT_THAT(LinearTicks(0, 206e6, 8), ElementsAre(0, 50e6, 100e6, 150e6, 200e6));
}

// Steps of 0.1: 3 · 0.1 would not be 0.3 in binary.
TEST(TicksTest, AZeroHasNoMinusInFront) {
  EXPECT_EQ(TickText(LinearTicks(0, 10, 3).front(), Quantity::kPercent), "0 %");
}

TEST(TicksTest, TicksBelowOneAreTheNearestNumbers) {
  EXPECT_THAT(LinearTicks(0.2, 0.5, 5), ElementsAre(0.2, 0.3, 0.4, 0.5));
}

TEST(TicksTest, ARangeWithoutExtentHasOneTick) {
  EXPECT_THAT(LinearTicks(7, 7, 5), ElementsAre(7));
}

// 9.2 GiB in at most 8 ticks: steps of 1.3 GiB or more, so 2 GiB.
TEST(TicksTest, BinaryTicksAreMultiplesOfPowersOfTwo) {
  constexpr double kGib = 1 << 30;
  EXPECT_THAT(BinaryTicks(0, 9.2 * kGib, 8),
              ElementsAre(0, 2 * kGib, 4 * kGib, 6 * kGib, 8 * kGib));
  EXPECT_THAT(BinaryTicks(0, 1.2 * kGib, 8),
              ElementsAre(0, kGib / 4, kGib / 2, 3 * kGib / 4, kGib));
  EXPECT_EQ(TickText(kGib / 4, Quantity::kBinaryBytes), "256 MiB");
  EXPECT_EQ(TickText(2 * kGib, Quantity::kBinaryBytes), "2 GiB");
}

TEST(TicksTest, AFewDecadesHaveTicksBetween) {
  EXPECT_THAT(LogTicks(3, 120, 8), ElementsAre(5, 10, 20, 50, 100));
}

// 1 B to 1 TB is 13 decades: with at most 6 ticks every third.
TEST(TicksTest, ManyDecadesAreThinnedOut) {
  EXPECT_THAT(LogTicks(1, 1e12, 6), ElementsAre(1, 1e3, 1e6, 1e9, 1e12));
}

RC_GTEST_PROP(TicksTest, TicksStayInsideAndAreNotTooMany, ()) {
  const double low = *rc::gen::inRange(-1'000'000, 1'000'000) / 64.0;
  const double high = low + *rc::gen::inRange(1, 1'000'000) / 64.0;
  const int max_ticks = *rc::gen::inRange(2, 20);

  const double slack = 1e-6 * (high - low);
  for (auto* const ticks_of : {&LinearTicks, &BinaryTicks}) {
    const std::vector<double> ticks = ticks_of(low, high, max_ticks);
    RC_ASSERT(ticks.size() <= static_cast<std::size_t>(max_ticks));
    for (const double tick : ticks) {
      RC_ASSERT(tick >= low - slack);
      RC_ASSERT(tick <= high + slack);
    }
  }
}

TEST(TicksTest, NumbersHaveAsManyDigitsAsTheyNeed) {
  EXPECT_THAT(TickTexts({14, 14.05, 14.1}, Quantity::kNumber), ElementsAre("14", "14.05", "14.1"));
  EXPECT_THAT(TickTexts({0.1175, 0.12}, Quantity::kNumber), ElementsAre("0.1175", "0.12"));
  EXPECT_THAT(TickTexts({1.0 / 3, 4}, Quantity::kNumber), ElementsAre("0.333", "4"));
  constexpr double kGib = 1 << 30;
  EXPECT_THAT(TickTexts({20.3125 * kGib, 20.34375 * kGib}, Quantity::kBinaryBytes),
              ElementsAre("20.31 GiB", "20.34 GiB"));
  EXPECT_THAT(TickTexts({0, 5e6}, Quantity::kNanoseconds), ElementsAre("0", "5 ms"));
}

TEST(TicksTest, TickTextsHaveUnitsAndNoZerosAtTheEnd) {
  EXPECT_EQ(TickText(0, Quantity::kNanoseconds), "0");
  EXPECT_EQ(TickText(50e6, Quantity::kNanoseconds), "50 ms");
  EXPECT_EQ(TickText(2.5e6, Quantity::kNanoseconds), "2.5 ms");
  EXPECT_EQ(TickText(100e9, Quantity::kBytesPerSecond), "100 GB/s");
  EXPECT_EQ(TickText(1e3, Quantity::kBytes), "1 kB");
  EXPECT_EQ(TickText(1024, Quantity::kNumber), "1,024");
  EXPECT_EQ(TickText(0.25, Quantity::kNumber), "0.25");
  EXPECT_EQ(TickText(40, Quantity::kPercent), "40 %");
}

TEST(ScaleTest, LinearAndLogarithmicScalesMeetTheirEnds) {
  const Scale linear{.low = 10, .high = 20, .first = 100, .last = 300};
  const Scale log{.kind = Scale::Kind::kLog, .low = 1, .high = 100, .first = 300, .last = 100};

  EXPECT_DOUBLE_EQ(linear(15), 200);
  EXPECT_DOUBLE_EQ(log(1), 300);
  EXPECT_DOUBLE_EQ(log(10), 200);
  EXPECT_DOUBLE_EQ(log(100), 100);
}

TEST(ScaleTest, ADomainWithoutExtentMapsToTheMiddle) {
  const Scale scale{.low = 5, .high = 5, .first = 0, .last = 10};

  EXPECT_DOUBLE_EQ(scale(5), 5);
}

}  // namespace
}  // namespace orrery::draw
