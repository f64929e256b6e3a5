#include "orrery/memory/working_set.h"

#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/live_objects.h"
#include "orrery/memory/recorded_work.h"
#include "orrery/memory/recording_test.h"
#include "orrery/memory/used_memory.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

// Returns the memory that each launch, copy and set used, in order.
std::vector<UsedMemory> UsedMemoryOf(const trace::Trace& trace) {
  const RecordedWork work(trace);
  UseWalk walk(work, 4096);
  std::vector<UsedMemory> all;
  work.ForEach([&](const WorkItem& item) { all.push_back(walk.Of(item)); });
  return all;
}

using trace::Coverage;
using trace::MemoryClass;
using Level = WorkingSetLevel;

// An allocation of 64 KiB with a segment of 32 KiB, and in it a tensor of 10,000 bytes that begins
// 100 bytes behind the begin of a page.
struct Nested : TestRecording {
  RowId driver = Born(0x100000, 65536, MemoryClass::kDevice);
  RowId segment = Born(0x100000, 32768, MemoryClass::kSegment, driver);
  RowId tensor = Born(0x100064, 10'000, MemoryClass::kTensor, segment);
};

WorkingSet WorkingSetOf(const trace::Trace& trace) {
  WorkingSet working_set;
  working_set.Add(trace);
  return working_set;
}

TEST(WorkingSet, LevelsGoFromWholeAllocationsToBytes) {
  Nested recording;
  const RowId add = recording.Launched("add");
  recording.Touched(add, recording.tensor, 400, 800);
  // Two pages: [0x100000, 0x102000). Of the first, 4096 - 100 bytes are the tensor's; the second is
  // whole. Together 3996 + 4096 = 8092.
  recording.trace.page_runs.Append({.activity = add,
                                    .object = recording.tensor,
                                    .address = 0x100000,
                                    .num_pages = 2,
                                    .page_bytes = 4096});
  // 32 lanes of 4 bytes, one behind the other: 128 bytes, read twice.
  for (int i = 0; i < 2; ++i) {
    recording.trace.accesses.Append({.activity = add,
                                     .lane_mask = 0xFFFFFFFF,
                                     .access_bytes = 4,
                                     .is_read = 1,
                                     .address = 0x100064,
                                     .stride = 4});
  }
  const std::vector<UsedMemory> used = UsedMemoryOf(recording.trace);
  ASSERT_EQ(used.size(), 1U);
  EXPECT_EQ(used[0].At(Level::kAllocation), 65536);
  EXPECT_EQ(used[0].At(Level::kObject), 10'000);
  EXPECT_EQ(used[0].At(Level::kPage), 8092);
  EXPECT_EQ(used[0].At(Level::kSector), -1);
  EXPECT_EQ(used[0].At(Level::kByte), 128);
  EXPECT_EQ(used[0].At(Level::kReach), -1);
  EXPECT_EQ(used[0].read_bytes, 400);
  EXPECT_EQ(used[0].write_bytes, 800);
  EXPECT_EQ(used[0].footprint,
            (Footprint{.class_bytes = {10'000, 32'768, 65'536}, .total_bytes = 65'536}));
}

TEST(WorkingSet, SectorsAreAlsoPages) {
  Nested recording;
  const RowId add = recording.Launched("add");
  // Sector 0x100000 .. 0x100200: 512 - 100 bytes of the tensor; its page has 4096 - 100.
  recording.trace.page_runs.Append({.activity = add,
                                    .object = recording.tensor,
                                    .address = 0x100000,
                                    .num_pages = 1,
                                    .page_bytes = 512});
  const std::vector<UsedMemory> used = UsedMemoryOf(recording.trace);
  EXPECT_EQ(used[0].At(Level::kSector), 412);
  EXPECT_EQ(used[0].At(Level::kPage), 3996);
}

TEST(WorkingSet, WhatIsKnownByArgumentIsNeverMixedWithCounts) {
  Nested recording;
  const RowId other = recording.Born(0x900000, 512);
  const RowId exact = recording.Launched("exact");
  recording.Touched(exact, other, 4, 4);
  const RowId reached = recording.Launched("gemm", Coverage::kByArgument);
  recording.Reached(reached, recording.tensor);
  recording.Reached(reached, other);
  const std::vector<UsedMemory> used = UsedMemoryOf(recording.trace);
  EXPECT_EQ(used[1].At(Level::kObject), -1);
  EXPECT_EQ(used[1].At(Level::kReach), 10'512);
  const WorkingSetSummary summary = WorkingSetOf(recording.trace).Summary();
  EXPECT_EQ(summary.At(Level::kObject).count, 1);
  EXPECT_EQ(summary.At(Level::kObject).largest, 512);
  EXPECT_EQ(summary.At(Level::kReach).count, 1);
}

TEST(WorkingSet, PartialLaunchesAreNotInTheTable) {
  Nested recording;
  const RowId partial = recording.Launched("partial", Coverage::kPartial);
  recording.Touched(partial, recording.tensor, 4, 0);
  const WorkingSetSummary summary = WorkingSetOf(recording.trace).Summary();
  EXPECT_EQ(summary.num_kernels, 1);
  EXPECT_EQ(summary.At(Level::kObject).count, 0);
}

// A copy of 8 rows of 16 bytes with gaps: 128 bytes, whatever its extent (PASTA defect 10).
TEST(WorkingSet, CopiesCountTheirBytesExactly) {
  Nested recording;
  const RowId copy = recording.Copied("copy");
  recording.trace.touches.Append({.activity = copy,
                                  .object = recording.tensor,
                                  .read_bytes = 128,
                                  .write_bytes = 0,
                                  .address = 0x100064,
                                  .extent_bytes = 1000});
  const std::vector<UsedMemory> used = UsedMemoryOf(recording.trace);
  EXPECT_EQ(used[0].At(Level::kByte), 128);
  EXPECT_EQ(WorkingSetOf(recording.trace).Summary().num_kernels, 0);
}

TEST(WorkingSet, AccessesOutsideOfLiveObjectsAreCountedApart) {
  Nested recording;
  recording.Died(recording.tensor);
  const RowId add = recording.Launched("add");
  recording.Touched(add, recording.tensor, 100, 0);
  recording.Touched(add, kNoRow, 20, 3);
  const std::vector<UsedMemory> used = UsedMemoryOf(recording.trace);
  EXPECT_EQ(used[0].At(Level::kObject), 0);
  EXPECT_EQ(used[0].unowned_bytes, 123);
}

// PASTA defect 9: counters begin at zero.
TEST(WorkingSet, AnEmptyTraceGivesZeros) {
  const WorkingSetSummary summary = WorkingSetOf(trace::Trace()).Summary();
  EXPECT_EQ(summary, WorkingSetSummary());
  EXPECT_EQ(summary.MeanByLargest(Level::kObject), std::nullopt);
}

// Footprint 65,536 at both launches; working sets 10,000 and 512: the largest is 10,000, the mean
// 5,256.
TEST(WorkingSet, BothRatiosAreSaid) {
  Nested recording;
  const RowId other = recording.Born(0x108000, 512, MemoryClass::kTensor, recording.driver);
  recording.Touched(recording.Launched("a<1>"), recording.tensor, 4, 0);
  recording.Touched(recording.Launched("a<2>"), other, 4, 0);
  const WorkingSet working_set = WorkingSetOf(recording.trace);
  const WorkingSetSummary summary = working_set.Summary();
  EXPECT_DOUBLE_EQ(summary.MeanByLargest(Level::kObject).value(), 6.5536);
  EXPECT_DOUBLE_EQ(summary.MeanByMean(Level::kObject).value(), 65536.0 / 5256.0);
  const std::vector<WorkingSetGroup> groups = working_set.ByKernel();
  ASSERT_EQ(groups.size(), 1U);
  EXPECT_EQ(groups[0].name, "a");
  EXPECT_EQ(groups[0].num_exact, 2);
  EXPECT_EQ(working_set.ByOperator()[0].name, "no operator");
}

// Any objects, lives and touches: no level exceeds the one above it.
RC_GTEST_PROP(WorkingSet, LevelsAreBoundedByTheOnesAbove, ()) {
  TestRecording recording;
  std::vector<RowId> objects;
  for (int step = *rc::gen::inRange(0, 30); step > 0; --step) {
    const auto address = 64 * *rc::gen::inRange<std::uint64_t>(0, 300);
    const int what = *rc::gen::inRange(0, 4);
    if (objects.empty() || what == 0) {
      objects.push_back(recording.Born(
          address, *rc::gen::inRange(1, 9000),
          *rc::gen::element(MemoryClass::kTensor, MemoryClass::kSegment, MemoryClass::kDevice)));
      continue;
    }
    const RowId object = *rc::gen::elementOf(objects);
    if (what == 1 && recording.trace.memory_objects.death_order[object] < 0) {
      recording.Died(object);
      continue;
    }
    const RowId launch = recording.Launched("k");
    recording.Touched(launch, object, 4, 4);
    recording.trace.page_runs.Append({.activity = launch,
                                      .object = object,
                                      .address = address / 512 * 512,
                                      .num_pages = *rc::gen::inRange(1, 5),
                                      .page_bytes = *rc::gen::element(32, 512, 4096)});
    recording.trace.accesses.Append({.activity = launch,
                                     .lane_mask = 0xFF,
                                     .access_bytes = 8,
                                     .address = address,
                                     .stride = 8});
  }
  for (const UsedMemory& used : UsedMemoryOf(recording.trace)) {
    RC_ASSERT(used.At(Level::kObject) <= used.footprint.total_bytes);
    RC_ASSERT(used.At(Level::kObject) <= used.At(Level::kAllocation));
    RC_ASSERT(used.At(Level::kPage) <= used.At(Level::kObject));
    RC_ASSERT(used.At(Level::kSector) <= used.At(Level::kPage));
    RC_ASSERT(used.At(Level::kByte) <= used.At(Level::kObject));
  }
}

}  // namespace
}  // namespace orrery::memory
