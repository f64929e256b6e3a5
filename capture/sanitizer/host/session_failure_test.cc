#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/tests/mock_program_test.h"

// Failures are counted and reported once; the program continues, and the results so far are kept.

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::uint64_t kA = 0x10'0000;
constexpr std::uint64_t kBytes = 0x1'0000;

using Launch = MockProgram::Launch;

Launch ReadKernel() {
  return {.accesses = {WarpAt(kA, 4, kReadFlag)}, .parameters = {kA}};
}

class SessionFailureTest : public ::testing::TestWithParam<const char*> {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
};

// Whichever call fails once: all launches are in the stream, those that were seen with their
// touches, and the others with nothing claimed.
TEST_P(SessionFailureTest, TheProgramRunsOn) {
  MockProgram program(path_);
  program.vendor().FailOnce(GetParam());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 3; ++i) {
    program.Run(ReadKernel());
    program.Synchronize({});
  }
  program.Destroy({});
  program.End();

  EXPECT_THAT(program.All<stream::Launch>(), SizeIs(3));
  EXPECT_THAT(program.All<stream::LaunchEnd>(), SizeIs(3));
  std::size_t num_seen = 0;
  for (const std::uint64_t coverage : program.Coverages()) {
    num_seen += coverage == codes::kUnseen ? 0 : 1;
  }
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(num_seen));
  EXPECT_EQ(CountIn(path_, codes::kRecordingEnded), 1U);
}

INSTANTIATE_TEST_SUITE_P(Calls, SessionFailureTest,
                         ::testing::Values("AddPatches", "PatchInstructions", "PatchModule",
                                           "Allocate", "AllocateHost", "Memset", "CopyToDevice",
                                           "CopyToHost", "Synchronize", "SetLaunchData",
                                           "ParameterInfo", "FunctionPlace", "FactsOf", "Free",
                                           "FreeHost"),
                         [](const auto& test) { return std::string(test.param); });

class SessionLimitTest : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
};

TEST_F(SessionLimitTest, AFailureIsSaidInOneLine) {
  MockProgram program(path_);
  program.vendor().FailOnce("PatchModule");
  program.Begin({});
  program.Run(ReadKernel());
  program.End();
  EXPECT_THAT(program.LastLine(), HasSubstr("patching a module failed (as the test wants)"));
  EXPECT_EQ(program.LastLine().find('\n'), std::string::npos);
  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage, "modules that could not be patched"), 1U);
}

// More launches than the arena holds: the capture waits for the stream itself, and says so.
TEST_F(SessionLimitTest, AFullArenaIsReadBeforeItIsUsedAgain) {
  Options options = MockProgram::SmallOptions();
  options.arena_bytes = 16 << 10;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 100; ++i) {
    program.Run(ReadKernel());
  }
  program.Synchronize({});
  program.End();
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(100));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped), 0U);
  EXPECT_GT(program.session().overheads().count(codes::kWaiting), 5U);
}

// Another stream has all the room: the launch is left out, and that stream is not waited for.
TEST_F(SessionLimitTest, ALaunchWithoutRoomIsLeftOut) {
  Options options = MockProgram::SmallOptions();
  options.arena_bytes = 4 << 10;
  options.num_shards = 1;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  Launch launch = ReadKernel();
  launch.place.stream = 0x52;
  for (int i = 0; i < 4; ++i) {  // 1 KiB each
    program.Run(launch);
  }
  program.Run(ReadKernel());
  const auto copies = program.vendor().NumCalls("CopyToHost");
  program.End();
  EXPECT_EQ(copies, 0U);
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped, "no room for its record"), 1U);
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kExact, codes::kExact, codes::kExact,
                                               codes::kExact, codes::kUnseen));
}

TEST_F(SessionLimitTest, WhatNeverFitsIsLeftOutWithoutWaiting) {
  Options options = MockProgram::SmallOptions();
  options.arena_bytes = 4 << 10;
  options.num_shards = 256;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.Run(ReadKernel());
  const auto waits = program.vendor().NumCalls("Synchronize");
  program.Run(ReadKernel());
  EXPECT_EQ(program.vendor().NumCalls("Synchronize"), waits);
  program.End();
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped, "no room for its record"), 2U);
}

// PASTA defect 26: after so many kernels the target was ended.
TEST_F(SessionLimitTest, ALimitStopsRecordingAndNotTheTarget) {
  Options options = MockProgram::SmallOptions();
  options.launch_count = 2;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 5; ++i) {
    program.Run(ReadKernel());
  }
  program.Synchronize({});
  program.End();
  EXPECT_THAT(program.All<stream::Launch>(), SizeIs(5));
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(2));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped, "after the last launch asked for"), 3U);
}

TEST_F(SessionLimitTest, EmptyPatchesAreForMeasuring) {
  Options options = MockProgram::SmallOptions();
  options.empty_patch = true;
  MockProgram program(path_, options);
  program.Begin({});
  program.Run(ReadKernel());
  program.End();
  EXPECT_EQ(program.vendor().NumCalls("Allocate"), 0U);
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped, "patches are empty"), 1U);
}

}  // namespace
}  // namespace orrery::capture::sanitizer
