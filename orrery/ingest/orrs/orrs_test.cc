#include <cstdint>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/orrs/stream_test.h"
#include "orrery/ingest/registry.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/orr/orr.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using trace::Coverage;
using trace::MemoryClass;

TEST(OrrsTest, ASmallStreamFillsItsTables) {
  const trace::Trace trace = ReadBytes(SmallStream());

  // The stream has launches, and by choice no calls of the runtime that made them: nothing is
  // missing.
  EXPECT_EQ(trace.problems.all().size(), 0U);
  EXPECT_EQ(trace.info.rank, 1);
  EXPECT_EQ(trace.info.producer, "test");
  EXPECT_EQ(trace.Text(trace.devices.name.at(0)), "NVIDIA H200");
  ASSERT_EQ(trace.activities.size(), 2U);
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "add_kernel");
  EXPECT_EQ(trace.activities.duration_ns[0], 30);
  EXPECT_EQ(trace.Text(trace.host_ops.name.at(trace.activities.host_op[0])), "aten::add");
  ASSERT_EQ(trace.memory_objects.size(), 1U);
  EXPECT_EQ(trace.memory_objects.begin_ns[0], 110);
  EXPECT_EQ(trace.memory_objects.duration_ns[0], 90);
  EXPECT_EQ(trace.memory_objects.birth_order[0], 2);
  EXPECT_EQ(trace.memory_objects.death_order[0], 6);
  EXPECT_EQ(trace.Text(trace.memory_objects.call_stack[0]), "train.py:7");
  EXPECT_EQ(trace.memory_objects.host_op[0], 0U);
  EXPECT_EQ(trace.Text(trace.coverage_counts.name.at(0)), "GLOBAL_MEMORY_ACCESS");
  EXPECT_EQ(trace.overheads.total_ns.at(0), 77);
}

TEST(OrrsTest, WhatALaunchCountedIsATouchOfItsObject) {
  const trace::Trace trace = ReadBytes(SmallStream());

  ASSERT_GE(trace.touches.size(), 1U);
  EXPECT_EQ(trace.touches.activity[0], 0U);
  EXPECT_EQ(trace.touches.object[0], 0U);
  EXPECT_EQ(trace.touches.coverage[0], Coverage::kExact);
  EXPECT_EQ(trace.touches.read_bytes[0], 2048);
  EXPECT_EQ(trace.touches.write_bytes[0], 1024);
  EXPECT_EQ(trace.touches.atomic_bytes[0], 0);
  EXPECT_EQ(trace.touches.lanes[0], 768);
}

// Pages 16 and 17 with five accesses each, none to page 18, seven to page 19.
TEST(OrrsTest, NeighbouringPagesWithEqualCountsAreOneRun) {
  const trace::Trace trace = ReadBytes(SmallStream());

  EXPECT_THAT(trace.page_runs.address, ElementsAre(0x10000, 0x13000));
  EXPECT_THAT(trace.page_runs.num_pages, ElementsAre(2, 1));
  EXPECT_THAT(trace.page_runs.accesses, ElementsAre(5, 7));
}

// The same pages 8, 9 and 11 of 64 KiB, as bits 0, 1, 3 and as pairs (0, 2), (1, 1).
TEST(OrrsTest, BitmapsAndRunsOfPagesSayTheSame) {
  const std::uint64_t pairs[] = {0, 2, 1, 1};
  const stream::PageTouch bitmap{
      .launch = 1, .page_bytes = 65536, .first_page = 8, .form = codes::kBitmap, .bitmap = "\x0B"};
  const stream::PageTouch runs{
      .launch = 1, .page_bytes = 65536, .first_page = 8, .form = codes::kRuns, .numbers = pairs};

  const trace::Trace by_bitmap = ReadBytes(FileOf(stream::Launch{.sequence = 1}, bitmap));
  const trace::Trace by_runs = ReadBytes(FileOf(stream::Launch{.sequence = 1}, runs));

  EXPECT_THAT(by_bitmap.page_runs.address, ElementsAre(8 * 65536, 11 * 65536));
  EXPECT_THAT(by_bitmap.page_runs.num_pages, ElementsAre(2, 1));
  EXPECT_THAT(by_bitmap.page_runs.accesses, ElementsAre(-1, -1));
  EXPECT_EQ(by_bitmap.page_runs, by_runs.page_runs);
}

// An 8 × 4 map of two bytes with rows 32 bytes apart: 16 bytes and three rows of 32 before it.
TEST(OrrsTest, ADescriptorGivesAnExtentAndNoCounts) {
  const trace::Trace trace = ReadBytes(SmallStream());

  const RowId last = static_cast<RowId>(trace.touches.size() - 1);
  EXPECT_EQ(trace.touches.coverage[last], Coverage::kByDescriptor);
  EXPECT_EQ(trace.touches.read_bytes[last], -1);
  EXPECT_EQ(trace.touches.lanes[last], -1);
  EXPECT_EQ(trace.touches.extent_bytes[last], 16 + 3 * 32);
  EXPECT_EQ(trace.observations.coverage[0], Coverage::kExact);
}

// The argument points 1,000 bytes into an object of 4,096: at most 3,096 bytes can be reached.
TEST(OrrsTest, ALaunchKnownByItsArgumentsIsNotCalledExact) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Allocation{.sequence = 1, .object = 5, .address = 0x8000, .bytes = 4096},
             stream::Launch{.sequence = 2},
             stream::LaunchArgument{.launch = 2, .object = 5, .address = 0x8000 + 1000}));

  EXPECT_EQ(trace.observations.coverage.at(0), Coverage::kByArgument);
  EXPECT_EQ(trace.touches.coverage.at(0), Coverage::kByArgument);
  EXPECT_EQ(trace.touches.extent_bytes.at(0), 3096);
}

TEST(OrrsTest, ALaunchThatNobodyWatchedIsUnseen) {
  const trace::Trace trace = ReadBytes(FileOf(stream::Launch{.sequence = 2}));

  EXPECT_EQ(trace.observations.coverage.at(0), Coverage::kUnseen);
}

// Lanes 0 and 2 are active, at the base and four bytes after it (zig-zag 8).
TEST(OrrsTest, AddressesWithoutARuleHaveARowEach) {
  const trace::Trace trace = ReadBytes(SmallStream());

  EXPECT_EQ(trace.accesses.lane_mask.at(0), 0x5U);
  EXPECT_EQ(trace.accesses.first_lane[0], 0U);
  EXPECT_THAT(trace.access_lanes.address, ElementsAre(0x10000, 0x10004));
}

TEST(OrrsTest, UnknownAddressesAreATouchWithoutAnObject) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Launch{.sequence = 1, .coverage = codes::kExact},
             stream::Touch{.launch = 1, .object = 0, .read_bytes = 12, .lanes = 3},
             stream::CoverageCount{
                 .kind = codes::kUnknownAddresses, .count = 3, .launch = 1, .address = 0xABC}));

  EXPECT_EQ(trace.touches.object.at(0), kNoRow);
  EXPECT_EQ(trace.touches.read_bytes[0], 12);
  EXPECT_EQ(trace.coverage_counts.kind.at(0), trace::CoverageKind::kUnknownAddresses);
  EXPECT_EQ(trace.coverage_counts.activity[0], 0U);
  EXPECT_EQ(trace.coverage_counts.address[0], 0xABCU);
}

// Launch 2 found no room for a record of its own. Neither it nor launch 1 may be taken for one
// launch that did what both did, whatever the recorder says of launch 1.
TEST(OrrsTest, LaunchesThatWereCountedTogetherArePartial) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::String{.id = 7, .text = "counts merged into launch 1"},
             stream::Launch{.sequence = 1, .coverage = codes::kExact},
             stream::Launch{.sequence = 2, .reason = 7},
             stream::Launch{.sequence = 3, .coverage = codes::kExact},
             stream::LaunchEnd{.sequence = 4, .launch = 2, .coverage = codes::kPartial},
             stream::Touch{.launch = 1, .object = 0, .read_bytes = 256, .lanes = 64},
             stream::CoverageCount{.kind = codes::kLaunchesMerged, .count = 1, .launch = 1}));

  EXPECT_THAT(trace.observations.coverage,
              ElementsAre(Coverage::kPartial, Coverage::kPartial, Coverage::kExact));
  EXPECT_EQ(trace.touches.coverage.at(0), Coverage::kPartial);
  EXPECT_EQ(trace.Text(trace.observations.reason[0]), "counts of 1 more launch merged into it");
  EXPECT_EQ(trace.Text(trace.observations.reason[1]), "counts merged into launch 1");
  EXPECT_EQ(trace.Text(trace.observations.reason[2]), "");
}

TEST(OrrsTest, RecordsThatTheRecorderDroppedAreALoss) {
  const trace::Trace trace = ReadBytes(FileOf(stream::CoverageCount{
      .kind = codes::kRecordsDropped, .name = "activity buffers", .count = 17}));

  EXPECT_TRUE(trace.problems.has_loss());
  EXPECT_EQ(CountOf(trace, "dropped by the recorder"), 17);
}

// A tensor in a segment in an allocation of the driver, all at one address; the free of the tensor
// is requested at 5 and complete at 6.
TEST(OrrsTest, MemoryOfSeveralLevelsIsNestedAndLivesApart) {
  const trace::Trace trace = ReadBytes(FileOf(
      stream::Allocation{.sequence = 1, .time_ns = 1, .object = 1, .address = 4096, .bytes = 1024},
      stream::Allocation{.sequence = 2,
                         .time_ns = 2,
                         .object = 2,
                         .address = 4096,
                         .bytes = 1024,
                         .level = codes::kSegment},
      stream::Allocation{.sequence = 3,
                         .time_ns = 3,
                         .object = 3,
                         .address = 4096,
                         .bytes = 512,
                         .level = codes::kTensor,
                         .total_allocated_bytes = 512},
      stream::Free{.sequence = 5,
                   .time_ns = 5,
                   .object = 3,
                   .level = codes::kTensor,
                   .phase = codes::kFreeRequested,
                   .total_allocated_bytes = 0},
      stream::Free{.sequence = 6,
                   .time_ns = 6,
                   .object = 3,
                   .level = codes::kTensor,
                   .phase = codes::kFreeCompleted}));

  EXPECT_THAT(trace.memory_objects.memory_class,
              ElementsAre(MemoryClass::kDevice, MemoryClass::kSegment, MemoryClass::kTensor));
  EXPECT_THAT(trace.memory_objects.parent, ElementsAre(kNoRow, 0, 1));
  EXPECT_THAT(trace.memory_objects.death_order, ElementsAre(-1, -1, 6));
  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(512, -512));
  EXPECT_THAT(trace.memory_events.begin_ns, ElementsAre(3, 5));
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(512, 0));
}

TEST(OrrsTest, MemoryFromBeforeTheRecordingHasNoBirth) {
  const trace::Trace trace = ReadBytes(FileOf(
      stream::Object{.id = 4, .address = 0x2000, .bytes = 64, .memory_class = codes::kStaticClass},
      stream::Set{.sequence = 1, .address = 0x2010, .width_bytes = 4}));

  EXPECT_EQ(trace.memory_objects.memory_class.at(0), MemoryClass::kStatic);
  EXPECT_EQ(trace.memory_objects.birth_order[0], -1);
  EXPECT_EQ(trace.touches.object.at(0), 0U);
}

// Threads hand their chunks over when they are full, so a free may come before its allocation.
TEST(OrrsTest, TheOrderOfChunksDoesNotMatter) {
  const stream::Allocation allocation{.sequence = 1, .object = 1, .address = 0x1000, .bytes = 64};
  const stream::Launch launch{.sequence = 2, .time_ns = 5, .coverage = codes::kExact};
  const stream::Touch touch{.launch = 2, .object = 1, .read_bytes = 64};
  const stream::Free free{.sequence = 3, .time_ns = 9, .address = 0x1000};

  const trace::Trace forwards = ReadBytes(FileOf(allocation, launch, touch, free));
  const trace::Trace backwards = ReadBytes(FileOf(free, touch, launch, allocation));

  EXPECT_EQ(forwards.memory_objects, backwards.memory_objects);
  EXPECT_EQ(forwards.touches, backwards.touches);
  EXPECT_EQ(forwards.activities.begin_ns, backwards.activities.begin_ns);
  EXPECT_EQ(forwards.memory_objects.death_order.at(0), 3);
}

TEST(OrrsTest, OperatorsRegionsAndStepsAreRows) {
  const trace::Trace trace = ReadBytes(FileOf(
      stream::String{.id = 1, .text = "aten::mm"}, stream::String{.id = 2, .text = "attention"},
      stream::Step{.sequence = 1, .time_ns = 0, .thread = 1, .number = 17},
      stream::RegionBegin{.sequence = 2, .time_ns = 10, .thread = 1, .name = 2},
      stream::OperatorBegin{.sequence = 3, .time_ns = 20, .thread = 1, .name = 1},
      stream::OperatorEnd{.sequence = 4, .time_ns = 30, .thread = 1, .begin = 3},
      stream::RegionEnd{.sequence = 5, .time_ns = 40, .thread = 1, .begin = 2},
      stream::Step{.sequence = 6, .time_ns = 50, .thread = 1, .number = 18},
      stream::OperatorEnd{.sequence = 7, .time_ns = 60, .thread = 1, .begin = 99}));

  EXPECT_EQ(trace.host_ops.duration_ns.at(0), 10);
  EXPECT_THAT(trace.steps.number, ElementsAre(17, 18));
  EXPECT_EQ(trace.Text(trace.annotations.name.at(1)), "attention");
  EXPECT_EQ(trace.annotations.duration_ns[1], 30);
  EXPECT_EQ(CountOf(trace, "operator that ends without"), 1);
}

TEST(OrrsTest, AnEmptyStreamIsAnEmptyTrace) {
  const trace::Trace trace = ReadBytes(FileOf() + EndMark());

  EXPECT_THAT(trace.problems.all(), IsEmpty());
  EXPECT_TRUE(trace.activities.empty());
}

TEST(OrrsTest, AContainerGivesTheSameTrace) {
  const std::string path = ::testing::TempDir() + "orrs_test.orr";
  trace::TraceSet set;
  set.ranks.push_back(ReadBytes(SmallStream()));

  ASSERT_TRUE(trace::WriteOrr(set, path));
  const auto read = trace::ReadOrr(path);

  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->ranks.at(0), set.ranks[0]);
  std::filesystem::remove(path);
}

TEST(OrrsTest, OtherFilesAreLeftAlone) {
  EXPECT_TRUE(kFormat.matches(*InputFile::FromMemory("a", FileOf())));
  EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("a", "ORR")));
}

}  // namespace
}  // namespace orrery::ingest::orrs
