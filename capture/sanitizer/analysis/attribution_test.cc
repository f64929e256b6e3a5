#include "capture/sanitizer/analysis/attribution.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/generators_test.h"
#include "capture/sanitizer/tests/launch_test.h"

namespace orrery::capture {
namespace {

RangeTable TableOf(const std::vector<Range>& ranges, const TestLaunch& launch) {
  return {.ranges = ranges,
          .first_page_bit = launch.first_page_bit(),
          .page_shift = 12,
          .num_page_bits = launch.page_bits().size() * 32};
}

void RunOne(TestLaunch& launch, const std::vector<Range>& ranges) {
  const std::uint32_t bytes = DrawBytes();
  if (*rc::gen::inRange(0, 8) == 0) {
    EmulateBulkCopy(launch.record(), WarpState{},
                    {.pc = 0,
                     .address = DrawAddress(ranges) / 16 * 16,
                     .blocks = *rc::gen::inRange(1U, 700U),
                     .flags = DrawFlags()});
    return;
  }
  const std::uint64_t pc = *rc::gen::inRange<std::uint64_t>(0, 5) * 16;
  EmulateGlobalAccess(launch.record(), DrawWarp(ranges, bytes),
                      {.pc = pc, .bytes = bytes, .flags = DrawFlags()});
}

std::vector<std::uint64_t> SamplesOf(const LaunchRecord& record) {
  const std::uint32_t count = std::min(record.num_unknown_samples, kMaxUnknownSamples);
  return {record.unknown_samples, record.unknown_samples + count};
}

// The counters of patches equal the host's counts of the records that they write: AGG = reduction
// of TRC.
RC_GTEST_PROP(AttributionTest, RecordsOfAccessesAddUpToTheCountersOfTheDevice, ()) {
  const std::vector<Range> ranges = DrawRanges();
  TestLaunch launch({.ranges = ranges,
                     .modes = kCountMode | kPageMode | kStreamMode,
                     .num_shards = 8,
                     .num_hints = *rc::gen::inRange<std::uint32_t>(0, 6)});
  RingReader reader(launch.ring());
  Attribution attribution(TableOf(ranges, launch));
  StreamedAccess access;
  const auto count = *rc::gen::inRange(1, 20);
  for (int i = 0; i < count; ++i) {
    RunOne(launch, ranges);
    RC_ASSERT(reader.Next(access));
    attribution.Add(access);
  }

  const std::vector<SlotCounters> counted = launch.Totals();
  for (std::size_t slot = 0; slot < counted.size(); ++slot) {
    RC_ASSERT(AreEqual(attribution.counters()[slot], counted[slot]));
  }
  RC_ASSERT(std::ranges::equal(attribution.page_bits(), launch.page_bits()));
  RC_ASSERT(std::ranges::equal(attribution.unknown_samples(), SamplesOf(launch.record())));
}

// PASTA defects 2 and 3, on the host: 16 lanes of 8 bytes fill the object, the lane at its end and
// those behind it are unknown.
TEST(AttributionTest, WhatIsBehindTheEndIsUnknown) {
  Attribution attribution({.ranges = {{1024, 1152}, {4096, 8192}}});

  attribution.Add({.address = 1024, .active = 0xffffffffU, .stride = 8, .bytes = 8, .flags = 2});

  EXPECT_EQ(attribution.counters()[1].write_bytes, 128U);
  EXPECT_EQ(attribution.counters()[0].write_bytes, 128U);
  EXPECT_EQ(attribution.counters()[2].write_bytes, 0U);
  EXPECT_THAT(attribution.unknown_samples(), testing::ElementsAre(1152));
}

// The instruction's last range must not be taken for one that it has left.
TEST(AttributionTest, AnInstructionThatMovesOnIsLookedUpAgain) {
  Attribution attribution({.ranges = {{1024, 2048}, {2048, 4096}}});
  for (const std::uint64_t address : {1024U, 2048U, 1920U}) {
    attribution.Add(
        {.address = address, .active = 0xffffffffU, .stride = 4, .bytes = 4, .flags = 1});
  }

  EXPECT_EQ(attribution.counters()[1].read_bytes, 256U);
  EXPECT_EQ(attribution.counters()[2].read_bytes, 128U);
}

}  // namespace
}  // namespace orrery::capture
