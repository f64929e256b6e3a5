#include "orrery/analyze/breakdown/exposed_copies.h"

#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using trace::CopyKind;

// A kernel from 0 to 20. Two copies from the host, 10–60 and 40–70, of 4,000 bytes together: the
// kernel hides the first 10 µs. A copy to the host from 65 to 75 overlaps them and counts for
// itself.
TEST(ExposedCopiesTest, WhatRunsAloneCountsOnceAKind) {
  test_run::Rank rank(0);
  rank.Kernel("k", {0, 20});
  rank.Copy("Memcpy HtoD", {10, 60}, 3'000, 8);
  rank.Copy("Memcpy HtoD", {40, 70}, 1'000, 9);
  rank.Copy("Memcpy DtoH", {65, 75}, -1, 8);
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  auto& activities = set.ranks[0].activities;
  activities.copy_kind = {CopyKind::kNone, CopyKind::kHostToDevice, CopyKind::kHostToDevice,
                          CopyKind::kDeviceToHost};
  const std::vector<ExposedCopies> copies = FindExposedCopies(ViewRun(set, {}, {}));
  ASSERT_EQ(copies.size(), 2U);
  EXPECT_EQ(copies[0].kind, CopyKind::kHostToDevice);
  EXPECT_EQ(copies[0].busy_ns, 60'000);
  EXPECT_EQ(copies[0].exposed_ns, 50'000);
  EXPECT_EQ(copies[0].bytes, 4'000);
  EXPECT_EQ(copies[0].sized_ns, 60'000);
  EXPECT_EQ(copies[1].exposed_ns, 10'000);
  EXPECT_EQ(copies[1].bytes, 0);
}

}  // namespace
}  // namespace orrery::analyze
