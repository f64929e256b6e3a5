#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/see_access.h"
#include "capture/sanitizer/tests/brute_force_test.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/generators_test.h"
#include "capture/sanitizer/tests/launch_test.h"

// The body of the patches on emulated warps, against counting lane by lane.

namespace orrery::capture {
namespace {

void ExpectEqual(const std::vector<SlotCounters>& found, const std::vector<SlotCounters>& wanted) {
  RC_ASSERT(found.size() == wanted.size());
  for (std::size_t slot = 0; slot < found.size(); ++slot) {
    RC_ASSERT(AreEqual(found[slot], wanted[slot]));
  }
}

TestLaunch::Options DrawLaunch(std::uint32_t modes) {
  return {.ranges = DrawRanges(),
          .modes = modes,
          .num_shards = *rc::gen::element(1U, 4U, 16U),
          .num_hints = *rc::gen::inRange<std::uint32_t>(0, kMaxHints + 1)};
}

void AddAccesses(TestLaunch& launch, BruteForce& oracle, const std::vector<Range>& ranges) {
  const auto count = *rc::gen::inRange(1, 12);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t bytes = DrawBytes();
    const WarpState state = DrawWarp(ranges, bytes);
    const Access access{.pc = 16, .bytes = bytes, .flags = DrawFlags()};
    EmulateGlobalAccess(launch.record(), state, access);
    oracle.Add(state, access);
  }
}

RC_GTEST_PROP(PatchBodyTest, CountersEqualThoseOfCountingLaneByLane, ()) {
  const TestLaunch::Options options = DrawLaunch(kCountMode);
  TestLaunch launch(options);
  BruteForce oracle(options.ranges);

  AddAccesses(launch, oracle, options.ranges);

  ExpectEqual(launch.Totals(), oracle.counters());
}

RC_GTEST_PROP(PatchBodyTest, PagesAreThoseTouchedAndCountersStayTheSame, ()) {
  const TestLaunch::Options options = DrawLaunch(kCountMode | kPageMode);
  TestLaunch launch(options);
  BruteForce oracle(options.ranges);

  AddAccesses(launch, oracle, options.ranges);

  ExpectEqual(launch.Totals(), oracle.counters());
  RC_ASSERT(MarkedPages(options.ranges, launch.first_page_bit(), launch.page_bits()) ==
            oracle.pages());
}

RC_GTEST_PROP(PatchBodyTest, BulkCopiesEqualThoseOfCountingByteByByte, ()) {
  const TestLaunch::Options options = DrawLaunch(kCountMode | kPageMode);
  TestLaunch launch(options);
  BruteForce oracle(options.ranges);
  const BulkCopy copy{.pc = 0,
                      .address = DrawAddress(options.ranges) / 16 * 16,
                      .blocks = *rc::gen::inRange(1U, 700U),
                      .flags = DrawFlags()};

  EmulateBulkCopy(launch.record(), WarpState{}, copy);
  oracle.AddBulk(copy);

  ExpectEqual(launch.Totals(), oracle.counters());
  RC_ASSERT(MarkedPages(options.ranges, launch.first_page_bit(), launch.page_bits()) ==
            oracle.pages());
}

}  // namespace
}  // namespace orrery::capture
