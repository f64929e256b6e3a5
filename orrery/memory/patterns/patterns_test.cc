#include "orrery/memory/patterns/patterns.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"

namespace orrery::memory::patterns {
namespace {

using trace::Coverage;

constexpr std::int64_t kPage = 4096;

std::vector<Finding> FindingsOf(const TestRecording& recording, Pattern pattern,
                                const PatternOptions& options = {}) {
  std::vector<Finding> found;
  for (const Finding& finding : FindPatterns(recording.trace, options).findings) {
    if (finding.pattern == pattern) {
      found.push_back(finding);
    }
  }
  return found;
}

void TouchPages(TestRecording& recording, RowId activity, RowId object, std::int64_t first,
                std::int64_t count, std::int64_t accesses) {
  recording.trace.page_runs.Append({.activity = activity,
                                    .object = object,
                                    .address = recording.trace.memory_objects.address[object] +
                                               static_cast<std::uint64_t>(first * kPage),
                                    .num_pages = count,
                                    .page_bytes = kPage,
                                    .accesses = accesses});
}

/// A copy of all of one object over another.
void Copy(TestRecording& recording, RowId from, RowId to) {
  const RowId copy = recording.Copied("copy");
  const trace::MemoryObjects& objects = recording.trace.memory_objects;
  recording.trace.touches.Append({.activity = copy,
                                  .object = from,
                                  .read_bytes = objects.bytes[from],
                                  .write_bytes = 0,
                                  .atomic_bytes = 0,
                                  .address = objects.address[from],
                                  .extent_bytes = objects.bytes[from]});
  recording.trace.touches.Append({.activity = copy,
                                  .object = to,
                                  .read_bytes = 0,
                                  .write_bytes = objects.bytes[from],
                                  .atomic_bytes = 0,
                                  .address = objects.address[to],
                                  .extent_bytes = objects.bytes[from]});
}

void Read(TestRecording& recording, RowId object) {
  recording.Touched(recording.Launched("reader"), object,
                    recording.trace.memory_objects.bytes[object], 0);
}

// Lives from 1 to 3 without an access: without it the peak of 100 bytes is zero. It lives from 0 to
// 2,000 ns: 100 bytes for 2 µs.
TEST(PatternsTest, WhatNobodyAccessesIsUnused) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Launched("other");
  recording.Died(object);
  recording.trace.memory_objects.duration_ns[object] = 2000;

  const auto found = FindingsOf(recording, Pattern::kUnused);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peak_saved_bytes, 100);
  EXPECT_DOUBLE_EQ(found[0].byte_seconds_saved, 100 * 2e-6);
  EXPECT_TRUE(found[0].is_fact);
}

TEST(PatternsTest, NoAccessSeenIsNotNoAccess) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Launched("other", Coverage::kPartial);
  recording.Launched("another", Coverage::kUnseen);
  recording.Died(object);

  const auto found = FindingsOf(recording, Pattern::kUnused);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_fact);
  EXPECT_EQ(found[0].why_not_fact, "2 launches of its life were not fully seen");
}

TEST(PatternsTest, AnArgumentOfALaunchCountsAsAnAccess) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Reached(recording.Launched("other", Coverage::kByArgument), object);
  recording.Died(object);

  EXPECT_TRUE(FindingsOf(recording, Pattern::kUnused).empty());
}

// An argument that points to an object is not an access if every access was counted.
TEST(PatternsTest, AnArgumentOfALaunchThatWasCountedAddsNothing) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Reached(recording.Launched("other", Coverage::kExact), object);
  recording.Died(object);

  EXPECT_EQ(FindingsOf(recording, Pattern::kUnused).size(), 1U);
}

// 1 born (100 bytes), 2 other born (50), 3 other read, 4 other freed, 5 read, 6 freed. The peak is
// 150 from 2 to 4. Born at 5 it would be 100, at 5: 50 less.
TEST(PatternsTest, BornBeforeAnotherIsFreedAndAccessedAfterIsEarly) {
  TestRecording recording;
  const RowId early = recording.Born(0x1000, 100);
  const RowId other = recording.Born(0x2000, 50);
  Read(recording, other);
  recording.Died(other);
  Read(recording, early);
  recording.Died(early);

  const auto found = FindingsOf(recording, Pattern::kEarlyAllocation);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].object, early);
  EXPECT_EQ(found[0].peak_saved_bytes, 50);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kLateDeallocation).empty());
}

// 1 born (100), 2 read, 3 other born (70), 4 other read, 5 freed, 6 other freed. The peak is 170
// from 3 to 5; freed after 2 it would be 100: 70 less.
TEST(PatternsTest, FreedAfterAnotherIsBornIsLate) {
  TestRecording recording;
  const RowId late = recording.Born(0x1000, 100);
  Read(recording, late);
  const RowId other = recording.Born(0x2000, 70);
  Read(recording, other);
  recording.Died(late);
  recording.Died(other);

  const auto found = FindingsOf(recording, Pattern::kLateDeallocation);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].object, late);
  EXPECT_EQ(found[0].peak_saved_bytes, 70);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kRedundantAllocation).empty());
}

// Launches are at 200 and 300 ns, the second step begins at 250.
TEST(PatternsTest, AliveAtTheEndAndNotAccessedInTheLastStepIsALeak) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  Read(recording, object);
  recording.Launched("other");
  recording.trace.steps.Append({.begin_ns = 0, .duration_ns = 250});
  recording.trace.steps.Append({.begin_ns = 250, .duration_ns = 100});

  EXPECT_EQ(FindingsOf(recording, Pattern::kLeak).size(), 1U);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kLeak, {.leak_steps = 2}).empty());
}

// 1 born (100), 2 read, 3 another of 95 born, 4 read, 5 freed, 6 the first freed. In the place of
// the first, the other takes nothing off 100: the peak of 195 falls by 95. 100 is 5.3 % above 95.
TEST(PatternsTest, AnObjectThatCouldTakeAnIdlePlaceIsRedundant) {
  TestRecording recording;
  const RowId idle = recording.Born(0x1000, 100);
  Read(recording, idle);
  const RowId redundant = recording.Born(0x2000, 95);
  Read(recording, redundant);
  recording.Died(redundant);
  recording.Died(idle);

  const auto found = FindingsOf(recording, Pattern::kRedundantAllocation);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].object, redundant);
  EXPECT_EQ(found[0].other, idle);
  EXPECT_EQ(found[0].peak_saved_bytes, 95);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kRedundantAllocation, {.similar_percent = 5}).empty());
}

// Accesses are the first and the fifth launch: four apart.
TEST(PatternsTest, AccessesFarApartAreIdleness) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  Read(recording, object);
  for (int i = 0; i < 3; ++i) {
    recording.Launched("other");
  }
  Read(recording, object);
  recording.Died(object);

  EXPECT_EQ(FindingsOf(recording, Pattern::kTemporaryIdleness, {.idle_launches = 3}).size(), 1U);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kTemporaryIdleness, {.idle_launches = 4}).empty());
}

// Three full writes, a read before the third: the first write is dead.
TEST(PatternsTest, AWriteThatIsOverwrittenUnreadIsDead) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Touched(recording.Copied("set"), object, 0, 100);
  recording.Touched(recording.Copied("set"), object, 0, 100);
  Read(recording, object);
  recording.Touched(recording.Copied("set"), object, 0, 100);
  recording.Died(object);

  const auto found = FindingsOf(recording, Pattern::kDeadWrite);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].traffic_saved_bytes, 100);
}

TEST(PatternsTest, AWriteInPartKillsNothing) {
  TestRecording recording;
  const RowId object = recording.Born(0x1000, 100);
  recording.Touched(recording.Copied("set"), object, 0, 100);
  recording.Touched(recording.Copied("set"), object, 0, 60);
  recording.Died(object);

  EXPECT_TRUE(FindingsOf(recording, Pattern::kDeadWrite).empty());
}

// A kernel writes as many bytes as the object has, first over half of its pages, then over all.
TEST(PatternsTest, AKernelWritesInFullWhereItTouchesAllPages) {
  for (const std::int64_t num_pages : {1, 2}) {
    TestRecording recording;
    const RowId object = recording.Born(0x10000, 2 * kPage);
    recording.Touched(recording.Copied("set"), object, 0, 2 * kPage);
    const RowId launch = recording.Launched("fill");
    recording.Touched(launch, object, 0, 2 * kPage);
    TouchPages(recording, launch, object, 0, num_pages, 1024);
    recording.Died(object);

    EXPECT_EQ(FindingsOf(recording, Pattern::kDeadWrite).size(), num_pages == 2 ? 1U : 0U);
  }
}

// One page of four: 25 %. Without the other three the peak of 16,384 bytes is 12,288 less.
TEST(PatternsTest, PagesThatNobodyTouchesAreOverallocated) {
  TestRecording recording;
  const RowId object = recording.Born(0x10000, 4 * kPage);
  const RowId launch = recording.Launched("reader");
  recording.Touched(launch, object, 64, 0);
  TouchPages(recording, launch, object, 0, 1, 16);
  recording.Died(object);

  const auto found = FindingsOf(recording, Pattern::kOverallocation);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peak_saved_bytes, 12'288);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kOverallocation, {.touched_percent = 25}).empty());
}

TEST(PatternsTest, WhatAnArgumentReachesIsNotOverallocated) {
  TestRecording recording;
  const RowId object = recording.Born(0x10000, 4 * kPage);
  recording.Reached(recording.Launched("reader", Coverage::kByArgument), object);
  recording.Died(object);

  EXPECT_TRUE(FindingsOf(recording, Pattern::kOverallocation).empty());
}

// 100 accesses to one page, 1 to each of three: mean 25.75, deviation 42.9, over mean 1.67. The
// three are below a tenth of the mean.
TEST(PatternsTest, PagesOfVeryDifferentCountsAreUneven) {
  TestRecording recording;
  const RowId object = recording.Born(0x10000, 4 * kPage);
  const RowId launch = recording.Launched("reader");
  recording.Touched(launch, object, 412, 0);
  TouchPages(recording, launch, object, 0, 1, 100);
  TouchPages(recording, launch, object, 1, 3, 1);
  recording.Died(object);

  const auto found = FindingsOf(recording, Pattern::kUnevenAccess);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].bytes, 3 * kPage);
  EXPECT_TRUE(FindingsOf(recording, Pattern::kUnevenAccess, {.uneven_variation = 1.7}).empty());
}

// One launch uses page 0, two use pages 1 to 3: with one slice at a time a page less is needed.
TEST(PatternsTest, SlicesThatNoLaunchMixesAreStructured) {
  TestRecording recording;
  const RowId object = recording.Born(0x10000, 4 * kPage);
  for (const std::int64_t first : {0, 1, 1}) {
    const RowId launch = recording.Launched("reader");
    recording.Touched(launch, object, 64, 0);
    TouchPages(recording, launch, object, first, first == 0 ? 1 : 3, 1);
  }
  recording.Died(object);

  const auto found = FindingsOf(recording, Pattern::kStructuredAccess);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].peak_saved_bytes, kPage);
}

TEST(PatternsTest, SlicesThatOverlapAreNotStructured) {
  TestRecording recording;
  const RowId object = recording.Born(0x10000, 4 * kPage);
  for (const std::int64_t first : {0, 1}) {
    const RowId launch = recording.Launched("reader");
    recording.Touched(launch, object, 64, 0);
    TouchPages(recording, launch, object, first, 2, 1);
  }
  recording.Died(object);

  EXPECT_TRUE(FindingsOf(recording, Pattern::kStructuredAccess).empty());
}

TEST(PatternsTest, TheSameCopyAgainIsRedundant) {
  TestRecording recording;
  const RowId from = recording.Born(0x1000, 100);
  const RowId to = recording.Born(0x2000, 100);
  Copy(recording, from, to);
  Copy(recording, from, to);

  const auto found = FindingsOf(recording, Pattern::kRedundantCopy);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].object, to);
  EXPECT_EQ(found[0].other, from);
  EXPECT_EQ(found[0].traffic_saved_bytes, 100);
  EXPECT_TRUE(found[0].is_fact);
}

TEST(PatternsTest, ACopyIsNotRedundantWhenASideWasWrittenBetween) {
  for (const bool writes_source : {true, false}) {
    TestRecording recording;
    const RowId from = recording.Born(0x1000, 100);
    const RowId to = recording.Born(0x2000, 100);
    Copy(recording, from, to);
    recording.Touched(recording.Launched("writer"), writes_source ? from : to, 0, 4);
    Copy(recording, from, to);

    EXPECT_TRUE(FindingsOf(recording, Pattern::kRedundantCopy).empty());
  }
}

TEST(PatternsTest, ACopyWhoseSourceMayHaveBeenWrittenIsPossiblyRedundant) {
  TestRecording recording;
  const RowId from = recording.Born(0x1000, 100);
  const RowId to = recording.Born(0x2000, 100);
  Copy(recording, from, to);
  recording.Reached(recording.Launched("writer", Coverage::kByArgument), from);
  Copy(recording, from, to);

  const auto found = FindingsOf(recording, Pattern::kRedundantCopy);

  ASSERT_EQ(found.size(), 1U);
  EXPECT_FALSE(found[0].is_fact);
}

TEST(PatternsTest, FindingsAreRankedByWhatTheyTakeOffThePeak) {
  TestRecording recording;
  const RowId small = recording.Born(0x1000, 10);
  const RowId large = recording.Born(0x2000, 1000);
  recording.Launched("other");
  recording.Died(small);
  recording.Died(large);

  const PatternReport report = FindPatterns(recording.trace);

  ASSERT_EQ(report.findings.size(), 2U);
  EXPECT_EQ(report.findings[0].object, large);
  EXPECT_EQ(report.peak_bytes, 1010);
}

// PASTA defects 9 and 11: nothing was recorded, and that is what is said.
TEST(PatternsTest, AnEmptyRecordingHasNoFindings) {
  const PatternReport report = FindPatterns(trace::Trace());

  EXPECT_TRUE(report.findings.empty());
  EXPECT_EQ(report.peak_bytes, 0);
}

}  // namespace
}  // namespace orrery::memory::patterns
