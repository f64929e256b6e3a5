#include "capture/sanitizer/host/access_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/tests/mock_program_test.h"

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kA = 0x10'0000;
constexpr std::uint64_t kB = 0x20'0000;
constexpr std::uint64_t kBytes = 0x1'0000;

using Launch = MockProgram::Launch;

class AccessStreamTest : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
};

// Lanes that follow no rule: lane i at the i-th square.
MockAccess Gather(std::uint64_t address) {
  MockAccess access = WarpAt(address, 4, kReadFlag);
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    access.state.addresses[lane] = address + std::uint64_t{lane} * lane * 4;
  }
  return access;
}

Launch MixedKernel() {
  Launch launch{.accesses = {WarpAt(kA, 4, kReadFlag), Gather(kB), WarpAt(kB, 8, kWriteFlag)},
                .parameters = {kA, kB}};
  launch.accesses[0].state.active = 0xffffff7f;  // lane 7 is off
  return launch;
}

void RunMixed(MockProgram& program) {
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.Allocate(kB, kBytes);
  program.Run(MixedKernel());
  program.Run(MixedKernel());
  program.Synchronize({});
  program.End();
}

auto FieldsOf(const stream::Touch& touch) {
  return std::tuple(touch.object, touch.read_bytes, touch.write_bytes, touch.sectors, touch.lanes,
                    touch.warps);
}

TEST_F(AccessStreamTest, AnalysisOnTheHostCountsAsTheDeviceDoes) {
  MockProgram on_device(path_);
  RunMixed(on_device);
  Options options = MockProgram::SmallOptions();
  options.analysis = Analysis::kHost;
  MockProgram on_host(folder_.File("host.orrs"), options);
  RunMixed(on_host);

  const auto expected = on_device.All<stream::Touch>();
  const auto touches = on_host.All<stream::Touch>();
  ASSERT_EQ(touches.size(), expected.size());
  ASSERT_THAT(touches, SizeIs(4));
  for (std::size_t i = 0; i < touches.size(); ++i) {
    EXPECT_EQ(FieldsOf(touches[i]), FieldsOf(expected[i]));
  }
  EXPECT_EQ(touches[0].read_bytes, 31U * 4);
  EXPECT_THAT(on_host.Coverages(), ElementsAre(codes::kExact, codes::kExact));
}

TEST_F(AccessStreamTest, AccessesOfSelectedKernelsAreRecorded) {
  Options options = MockProgram::SmallOptions();
  options.access_records = "add";
  MockProgram program(path_, options);
  RunMixed(program);

  const auto accesses = program.All<stream::WarpAccess>();
  ASSERT_THAT(accesses, SizeIs(6));
  EXPECT_EQ(accesses[0].address, kA);
  EXPECT_EQ(accesses[0].form, codes::kAffine);
  EXPECT_EQ(accesses[0].stride, 4);
  EXPECT_EQ(accesses[0].inactive_lanes, 0x80U);
  EXPECT_EQ(accesses[0].access_bytes, 4U);
  EXPECT_EQ(accesses[0].flags, codes::kRead);
  EXPECT_EQ(accesses[1].form, codes::kGeneral);
  EXPECT_EQ(accesses[2].flags, codes::kWrite);
  EXPECT_EQ(accesses[2].stride, 8);
  // Counts come from the device all the same.
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(4));
}

// PASTA defect 35, through the whole capture: block (1, 2, 1) of a grid of 4 × 3 × 2 is number 1 +
// 2 × 4 + 1 × 12 = 21, and thread (0, 2, 1) of a block of 16 × 3 × 2 is number 80, of warp 2.
TEST_F(AccessStreamTest, RecordsSayWhichBlockAndWarpMadeTheAccess) {
  Options options = MockProgram::SmallOptions();
  options.access_records = "add";
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  MockAccess access = Gather(kA);
  access.state.grid = {4, 3, 2};
  access.state.block = {1, 2, 1};
  access.state.block_size = {16, 3, 2};
  access.state.thread = {0, 2, 1};
  program.Run({.accesses = {WarpAt(kA, 4, kReadFlag), access}});
  program.Synchronize({});
  program.End();

  const auto accesses = program.All<stream::WarpAccess>();
  ASSERT_THAT(accesses, SizeIs(2));
  EXPECT_EQ(accesses[0].block, 0U);
  EXPECT_EQ(accesses[0].warp, 0U);
  EXPECT_EQ(accesses[1].block, 21U);
  EXPECT_EQ(accesses[1].warp, 2U);
}

// PASTA defect 22: the host waited for ever when a thread of the device did not come to its end.
TEST_F(AccessStreamTest, TheHostWaitsForNoCellThatIsNeverWritten) {
  Options options = MockProgram::SmallOptions();
  options.analysis = Analysis::kHost;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  const LaunchHandle launch = program.Run({.parameters = {7}, .has_end = false});
  program.vendor().RunKernel(launch, {0x51}, [](LaunchRecord& record) {
    record.ring->head += 1;  // a warp takes a cell and is gone
  });
  {
    const MockVendor::In in(MockVendor::Where::kLaunchEnd);
    program.session().OnLaunchEnd({.context = {1}, .launch = launch});
  }
  program.Synchronize({});
  program.End();
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kPartial));
  EXPECT_GE(CountIn(path_, codes::kRecordsDropped), 1U);
}

// A kernel with more accesses than the ring holds, while nothing can be taken out: the device
// drops, counts, and comes to its end.
TEST_F(AccessStreamTest, WhatFindsNoRoomIsDroppedAndCounted) {
  Options options = MockProgram::SmallOptions();
  options.access_records = "add";
  options.ring_bytes = 1 << 12;  // 128 cells, a quarter of them as margin
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  const LaunchHandle launch = program.Run({.has_end = false});
  program.vendor().RunKernel(launch, {0x51},
                             [](LaunchRecord& record) { record.ring->dropped += 3; });
  {
    const MockVendor::In in(MockVendor::Where::kLaunchEnd);
    program.session().OnLaunchEnd({.context = {1}, .launch = launch});
  }
  program.Synchronize({});
  program.End();
  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped), 3U);
}

}  // namespace
}  // namespace orrery::capture::sanitizer
