#include "orrery/compat/astra_sim/astra_sim.h"

#include <algorithm>
#include <array>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::compat::astra_sim {
namespace {

constexpr Bytes kMebibyte{1 << 20};

// The settings of the network library's own tests.
Dimension SixteenNpus(Shape shape) {
  return {.shape = shape, .npus = 16, .gib_per_second = 50, .latency_ns = 500};
}

std::int64_t AwareTime(const Dimension& dimension, const Message& message) {
  return AwareTimes(dimension, std::array{message}).value().front().nanoseconds;
}

std::int64_t Unaware(std::span<const Dimension> dimensions, const Message& message) {
  return UnawareTime(dimensions, message).value().nanoseconds;
}

// The regression of ASTRA-sim: m = 2^20 / 4 / 8 = 32,768; a hop is 500 + 32,768 / 53.687 = 1,110;
// memory 32,768 / 50 = 655. 10 + 14 * 1,110 + 7 * (10 + 3 * 655) + 7 * 10 = 29,445, four times.
TEST(AstraSimTest, AllReduceOnARingOfEight) {
  const System system{
      .network = {Shape::kRing, 8, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte)->nanoseconds, 117'780);
}

// m = 2^20 / 4; a hop 500 + 262,144 / 53.687 = 5,382; 10 + 15 * 5,382 + 15 * 10 = 80,890, four
// times.
TEST(AstraSimTest, AllGatherOnARingOfSixteen) {
  const System system{
      .network = SixteenNpus(Shape::kRing), .splits = 4, .memory_gb_per_second = 1600};
  EXPECT_EQ(RingAllGatherTime(system, kMebibyte)->nanoseconds, 323'560);
}

// 10 + 7 * (1,110 + 10 + 3 * 655) = 21,605, four times. The gathering half, of shares of 1/8 of the
// buffer, begins without the first delay: 29,445 - 21,605 = 7 * 1,120.
TEST(AstraSimTest, ReduceScatterIsTheFirstHalfOfAllReduce) {
  const System system{
      .network = {Shape::kRing, 8, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  const std::int64_t scatter = RingReduceScatterTime(system, kMebibyte)->nanoseconds;
  const std::int64_t gather = RingAllGatherTime(system, {kMebibyte.count / 8})->nanoseconds;
  EXPECT_EQ(scatter, 86'420);
  EXPECT_EQ(scatter + gather - 4 * system.delay_before_send.nanoseconds, 117'780);
}

// A switch is two hops, each cut off to whole nanoseconds: 10 + 14 * 2 * 1,110 + 7 * 1,975 + 70.
TEST(AstraSimTest, ARingOfMessagesThroughASwitchPaysTwoHops) {
  const System system{
      .network = {Shape::kSwitch, 8, 50, 500}, .splits = 1, .memory_gb_per_second = 50};
  EXPECT_EQ(RingAllReduceTime(system, {kMebibyte.count / 4})->nanoseconds, 44'985);
}

// One hop is 500 + 19,531.25 cut off to 20,031.
TEST(AstraSimTest, AwareMessageStoresAndForwards) {
  const Message message{1, 4, kMebibyte};
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kRing), message), 60'093);
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kFullyConnected), message), 20'031);
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kSwitch), message), 40'062);
}

TEST(AstraSimTest, UnawareMessagePaysTheTransferOnce) {
  const Message message{1, 4, kMebibyte};
  EXPECT_EQ(Unaware(std::array{SixteenNpus(Shape::kRing)}, message), 21'031);
  EXPECT_EQ(Unaware(std::array{SixteenNpus(Shape::kFullyConnected)}, message), 20'031);
  EXPECT_EQ(Unaware(std::array{SixteenNpus(Shape::kSwitch)}, message), 20'531);
}

TEST(AstraSimTest, AllPairsAtOnceOnARing) {
  std::vector<Message> messages;
  for (int from = 0; from < 16; ++from) {
    for (int to = 0; to < 16; ++to) {
      if (from != to) {
        messages.push_back({from, to, kMebibyte});
      }
    }
  }
  const auto arrived = AwareTimes(SixteenNpus(Shape::kRing), messages);
  EXPECT_EQ(std::ranges::max(*arrived).nanoseconds, 704'116);
}

// Two messages over one link: the second starts when the first has left, after 19,531.
TEST(AstraSimTest, ALinkServesInOrder) {
  const std::array messages{Message{0, 2, kMebibyte}, Message{0, 1, kMebibyte}};
  const auto arrived = AwareTimes(SixteenNpus(Shape::kRing), messages);
  EXPECT_EQ(arrived->at(0).nanoseconds, 40'062);
  EXPECT_EQ(arrived->at(1).nanoseconds, 39'562);
}

// Ring(2) x FullyConnected(8) x Switch(4): NPUs 0 and 1 differ in the first dimension, 0 and 2 in
// the second, 0 and 16 in the third.
TEST(AstraSimTest, UnawareMessageAlongEachDimension) {
  const std::array dimensions{Dimension{Shape::kRing, 2, 200, 50},
                              Dimension{Shape::kFullyConnected, 8, 100, 500},
                              Dimension{Shape::kSwitch, 4, 50, 2000}};
  EXPECT_EQ(Unaware(dimensions, {0, 1, kMebibyte}), 4'932);
  EXPECT_EQ(Unaware(dimensions, {37, 33, kMebibyte}), 10'265);
  EXPECT_EQ(Unaware(dimensions, {26, 42, kMebibyte}), 23'531);
  EXPECT_EQ(UnawareTime(dimensions, {0, 3, kMebibyte}).error().message(),
            "a message goes along one dimension, not from 0 to 3");
}

TEST(AstraSimTest, ARingIsLeftOnTheShorterWay) {
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kRing), {0, 15, kMebibyte}), 20'031);
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kRing), {0, 8, kMebibyte}), 8 * 20'031);
  EXPECT_EQ(AwareTime(SixteenNpus(Shape::kRing), {2, 9, kMebibyte}), 7 * 20'031);
}

TEST(AstraSimTest, WhatCannotBeIsRefused) {
  const std::array<Message, 1> message{{{0, 16, kMebibyte}}};
  EXPECT_EQ(AwareTimes(SixteenNpus(Shape::kRing), message).error().message(),
            "there are 16 NPUs, none has number 16");
  System system{.network = {Shape::kRing, 1, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte).error().message(),
            "a dimension needs at least 2 NPUs, not 1");
  system.network = {Shape::kRing, 8, 0, 500};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte).error().message(),
            "the bandwidth of a link must be above 0, not 0");
  const Dimension large{Shape::kRing, 1 << 16, 50, 500};
  EXPECT_EQ(UnawareTime(std::array{large, large}, message.front()).error().message(),
            "the dimensions have more NPUs than can be numbered");
  system.network.gib_per_second = 50;
  system.splits = 0;
  EXPECT_EQ(RingAllGatherTime(system, kMebibyte).error().message(),
            "a collective needs at least 1 split and 2 NPUs, not 0 and 8");
}

// Other traffic can only delay a message.
RC_GTEST_PROP(AstraSimProperty, CompanyNeverMakesAMessageFaster, ()) {
  const Dimension ring = SixteenNpus(Shape::kRing);
  const auto num_messages = *rc::gen::inRange(1, 40);
  std::vector<Message> messages;
  for (int i = 0; i < num_messages; ++i) {
    const int from = *rc::gen::inRange(0, 16);
    const int away = *rc::gen::inRange(1, 16);
    messages.push_back({from, (from + away) % 16, {*rc::gen::inRange(0, 1 << 20)}});
  }
  const auto arrived = AwareTimes(ring, messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    RC_ASSERT(arrived->at(i).nanoseconds >= AwareTime(ring, messages[i]));
  }
}

}  // namespace
}  // namespace orrery::compat::astra_sim
