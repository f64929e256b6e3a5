#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/host/functions.h"
#include "capture/sanitizer/tests/cubin_test.h"

namespace orrery::capture::sanitizer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Words as CUDA 13.0 writes them: a plain store, a load and a store through a map, a call.
constexpr std::uint64_t kStore = 0x7986;
constexpr std::uint64_t kMapLoad = 0x75b4;
constexpr std::uint64_t kMapStore = 0x73b5;
constexpr std::uint64_t kCall = 0x7944;

TEST(CubinScanTest, KernelsWithTensorMapsAreNamed) {
  const auto kernels = KernelsWithTensorMaps(
      Cubin({{"plain", {kStore, kStore}}, {"load", {kStore, kMapLoad}}, {"store", {kMapStore}}}));
  ASSERT_TRUE(kernels.has_value());
  EXPECT_THAT(*kernels, ElementsAre("load", "store"));
}

TEST(CubinScanTest, AKernelThatCallsIsSuspectedWhereAnyCodeHasThem) {
  EXPECT_THAT(KernelsWithTensorMaps(Cubin({{"caller", {kCall}}, {"other", {kStore}}})).value(),
              IsEmpty());
  EXPECT_THAT(KernelsWithTensorMaps(Cubin({{"caller", {kCall}}, {"other", {kMapLoad}}})).value(),
              ElementsAre("caller", "other"));
}

TEST(CubinScanTest, WhatIsNotKnownIsNotClaimed) {
  EXPECT_FALSE(KernelsWithTensorMaps({}).has_value());
  EXPECT_FALSE(KernelsWithTensorMaps(Cubin({{"plain", {kStore}}}, 100)).has_value());
  EXPECT_FALSE(KernelsWithTensorMaps(Cubin({})).has_value());
}

TEST(CubinScanTest, ACutCubinIsRead) {
  const auto cubin = Cubin({{"load", {kMapLoad}}, {"plain", {kStore}}});
  for (std::size_t bytes = 0; bytes <= cubin.size(); ++bytes) {
    static_cast<void>(KernelsWithTensorMaps(std::span(cubin).first(bytes)));
  }
  EXPECT_TRUE(KernelsWithTensorMaps(cubin).has_value());
}

}  // namespace
}  // namespace orrery::capture::sanitizer
