#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/ingest/orrs/stream_test.h"
#include "orrery/stream/schema.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

// Mistakes that a public tool of this kind makes, by their numbers in the reference on memory
// profiling: a reader of streams must not make them.

namespace orrery::ingest::orrs {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using trace::Coverage;
using trace::MemoryClass;

// PASTA defect 1: Read from the first address, written to the second.
TEST(OrrsDefectTest, ACopyKeepsItsDirection) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Allocation{.sequence = 1, .object = 1, .address = 0x1000, .bytes = 256},
             stream::Allocation{.sequence = 2, .object = 2, .address = 0x5000, .bytes = 256},
             stream::Copy{.sequence = 3,
                          .source = 0x1000,
                          .destination = 0x5000,
                          .width_bytes = 256,
                          .kind = codes::kDeviceToDevice}));

  EXPECT_EQ(trace.activities.copy_kind.at(0), trace::CopyKind::kDeviceToDevice);
  EXPECT_THAT(trace.touches.address, ElementsAre(0x1000, 0x5000));
  EXPECT_THAT(trace.touches.read_bytes, ElementsAre(256, 0));
  EXPECT_THAT(trace.touches.write_bytes, ElementsAre(0, 256));
  EXPECT_THAT(trace.memory_objects.id, ElementsAre(1, 2));
  EXPECT_THAT(trace.touches.object, ElementsAre(0, 1));
}

// PASTA defects 2 and 3: [0x1000, 0x1100) and its neighbour [0x1100, 0x1200); sets below, inside,
// at the end of the first, at the end of the second.
TEST(OrrsDefectTest, AnAddressAtTheEndBelongsToTheNeighbourOrToNobody) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Allocation{.sequence = 1, .object = 1, .address = 0x1000, .bytes = 256},
             stream::Allocation{.sequence = 2, .object = 2, .address = 0x1100, .bytes = 256},
             stream::Set{.sequence = 3, .address = 0xFFF, .width_bytes = 1},
             stream::Set{.sequence = 4, .address = 0x10FF, .width_bytes = 1},
             stream::Set{.sequence = 5, .address = 0x1100, .width_bytes = 1},
             stream::Set{.sequence = 6, .address = 0x1200, .width_bytes = 1}));

  EXPECT_THAT(trace.touches.object, ElementsAre(kNoRow, 0, 1, kNoRow));
}

// PASTA defect 5: The recorder came late: two frees of memory that it never saw, one by address and
// one by number.
TEST(OrrsDefectTest, FreesOfUnknownMemoryAreCounted) {
  const trace::Trace trace = ReadBytes(FileOf(
      stream::Free{.sequence = 1, .address = 0x7000}, stream::Free{.sequence = 2, .object = 99},
      stream::Allocation{.sequence = 3, .object = 1, .address = 0x7000, .bytes = 8}));

  EXPECT_EQ(CountOf(trace, "allocated before the recording"), 2);
  EXPECT_FALSE(trace.problems.has_loss());
  EXPECT_EQ(trace.memory_objects.size(), 1U);
  EXPECT_EQ(trace.memory_objects.death_order[0], -1);
}

// PASTA defect 8: objects, memcpy and memset of 5 GiB.
TEST(OrrsDefectTest, FiveGibibytesKeepTheirSize) {
  constexpr std::uint64_t kBytes = 5ULL << 30;
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Allocation{.sequence = 1, .object = 1, .address = 0x1000, .bytes = kBytes},
             stream::Set{.sequence = 2, .address = 0x1000, .width_bytes = kBytes},
             stream::Copy{.sequence = 3, .source = 0x1000, .width_bytes = kBytes}));

  constexpr std::int64_t kExpected = 5'368'709'120;
  EXPECT_EQ(trace.memory_objects.bytes.at(0), kExpected);
  EXPECT_THAT(trace.activities.bytes, ElementsAre(kExpected, kExpected));
}

// PASTA defect 10: Ten rows of 100 bytes, 128 apart at the source and 256 at the destination: 1,000
// bytes over 9 · 128 + 100 and 9 · 256 + 100.
TEST(OrrsDefectTest, ATwoDimensionalCopyHasBytesAndExtent) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Copy{.sequence = 1,
                          .source = 0x1000,
                          .destination = 0x9000,
                          .width_bytes = 100,
                          .height = 10,
                          .source_pitch = 128,
                          .destination_pitch = 256},
             stream::Set{
                 .sequence = 2, .address = 0x1000, .width_bytes = 100, .height = 3, .pitch = 128}));

  EXPECT_THAT(trace.activities.bytes, ElementsAre(1000, 300));
  EXPECT_THAT(trace.touches.extent_bytes, ElementsAre(1252, 2404, 356));
}

// PASTA defect 14: Managed memory arrives with two bits set.
TEST(OrrsDefectTest, FlagsAreBits) {
  std::string file = FileOf();
  std::uint64_t sequence = 0;
  for (const std::uint64_t flags : {0x0U, 0x1U, 0x2U, 0x6U, 0x4U, 0x8U, 0xCU}) {
    ++sequence;
    file += ChunkOf(stream::Allocation{.sequence = sequence,
                                       .time_ns = static_cast<std::int64_t>(sequence),
                                       .object = sequence,
                                       .address = 0x1000 * sequence,
                                       .bytes = 16,
                                       .flags = flags});
  }

  EXPECT_THAT(ReadBytes(file).memory_objects.memory_class,
              ElementsAre(MemoryClass::kDevice, MemoryClass::kStatic, MemoryClass::kManaged,
                          MemoryClass::kManaged, MemoryClass::kPinned, MemoryClass::kPinned,
                          MemoryClass::kPinned));
}

// PASTA defect 18: an end without a begin, a begin without an end.
TEST(OrrsDefectTest, LaunchesWithoutEndAndEndsWithoutLaunchAreCounted) {
  const trace::Trace trace =
      ReadBytes(FileOf(stream::LaunchEnd{.sequence = 1, .launch = 77},
                       stream::Launch{.sequence = 2}, stream::Launch{.sequence = 3},
                       stream::LaunchEnd{.sequence = 4, .launch = 3, .coverage = codes::kPartial}));

  EXPECT_EQ(CountOf(trace, "end of a launch whose begin"), 1);
  EXPECT_EQ(CountOf(trace, "launch whose end is not"), 1);
  EXPECT_THAT(trace.observations.coverage, ElementsAre(Coverage::kUnseen, Coverage::kPartial));
}

// PASTA defect 19: what sampling omits.
TEST(OrrsDefectTest, ASkippedLaunchIsThereWithReasonAndProbability) {
  const trace::Trace trace =
      ReadBytes(FileOf(stream::String{.id = 4, .text = "sampled out"},
                       stream::Launch{.sequence = 1, .reason = 4, .inclusion_ppb = 100'000'000}));

  ASSERT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(trace.observations.coverage[0], Coverage::kUnseen);
  EXPECT_EQ(trace.Text(trace.observations.reason[0]), "sampled out");
  EXPECT_DOUBLE_EQ(trace.observations.inclusion_probability[0], 0.1);
}

// PASTA defect 21: Lane 0 is active at address 0, lane 7 is not active although its address would
// be one.
TEST(OrrsDefectTest, LanesAreActiveByTheirMaskAndNotByTheirAddress) {
  const trace::Trace trace = ReadBytes(
      FileOf(stream::Launch{.sequence = 1}, stream::WarpAccess{.launch = 1,
                                                               .address = 0,
                                                               .access_bytes = 4,
                                                               .flags = codes::kRead,
                                                               .form = codes::kAffine,
                                                               .stride = 4,
                                                               .inactive_lanes = 1 << 7}));

  EXPECT_EQ(trace.accesses.lane_mask.at(0), 0xFFFFFF7FU);
  EXPECT_EQ(trace.accesses.address[0], 0U);
  EXPECT_EQ(trace.accesses.stride[0], 4);
}

// PASTA defect 22: A grid of 2^20 × 2^16 × 2^16 blocks has more than 2^32 of them.
TEST(OrrsDefectTest, GeometryIsWide) {
  const trace::Trace trace = ReadBytes(FileOf(
      stream::Launch{.sequence = 1, .grid_x = 1 << 20, .grid_y = 65536, .grid_z = 65536},
      stream::WarpAccess{.launch = 1, .address = 64, .block = (1ULL << 52) - 1, .warp = 31}));

  EXPECT_EQ(trace.accesses.block.at(0), (1LL << 52) - 1);
  EXPECT_EQ(trace.launch_shapes.grid_x.at(0), 1 << 20);
}

}  // namespace
}  // namespace orrery::ingest::orrs
