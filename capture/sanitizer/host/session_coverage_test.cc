#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/tests/mock_program_test.h"

// Tests of the coverage of launches: which are instrumented, and the reasons recorded for others,
// or for those seen in part. "PASTA defect N" as in session_test.cc.

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

using Launch = MockProgram::Launch;

constexpr std::uint64_t kA = 0x10'0000;
constexpr std::uint64_t kB = 0x20'0000;
constexpr std::uint64_t kBytes = 0x1'0000;

class SessionCoverageTest : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
};

// PASTA defects 19 and 20: launches that sampling skipped left no event, and each switch patched
// again.
TEST_F(SessionCoverageTest, ASkippedLaunchIsThereWithItsReasonAndModulesStayPatched) {
  Options options = MockProgram::SmallOptions();
  options.kernel_name = "norm";
  options.launch_skip = 1;
  options.launch_count = 1;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (const char* const kernel : {"add", "layer_norm", "layer_norm", "layer_norm"}) {
    program.Run({.kernel = kernel, .accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.Synchronize({});
  program.End();

  std::vector<std::string> reasons;
  std::vector<std::int64_t> inclusion;
  for (const auto& launch : program.All<stream::Launch>()) {
    reasons.push_back(TextIn(path_, launch.reason));
    inclusion.push_back(launch.inclusion_ppb);
  }
  EXPECT_THAT(reasons, ElementsAre("kernel name not asked for", "before the first launch asked for",
                                   "", "after the last launch asked for"));
  EXPECT_THAT(inclusion, ElementsAre(0, 0, kAllPpb, 0));
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(1));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped), 3U);
  EXPECT_EQ(program.vendor().NumCalls("PatchModule"), 1U);
}

// PASTA defect 24: what was allocated while collection was off was never known.
TEST_F(SessionCoverageTest, DetailsSelectLaunchesAndNothingElse) {
  Options options = MockProgram::SmallOptions();
  options.only_details = true;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);  // outside any detail
  program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  const std::uint64_t detail = program.recorder().DetailBegin("add", 1);
  program.Run({.accesses = {WarpAt(kA, 8, kReadFlag)}});
  program.Run({.accesses = {WarpAt(kA, 16, kReadFlag)}});
  program.recorder().DetailEnd(detail);
  program.Synchronize({});
  program.End();

  const auto touches = program.All<stream::Touch>();
  ASSERT_THAT(touches, SizeIs(1));
  EXPECT_EQ(touches[0].object, 1U);
  EXPECT_EQ(touches[0].read_bytes, 256U);
  EXPECT_THAT(program.All<stream::Launch>(), SizeIs(3));
}

TEST_F(SessionCoverageTest, SomeBlocksAreASample) {
  Options options = MockProgram::SmallOptions();
  options.block_period = 4;
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  Launch launch{.accesses = std::vector<MockAccess>(8, WarpAt(kA, 4, kReadFlag))};
  for (std::uint32_t block = 0; block < 8; ++block) {
    launch.accesses[block].state.block.x = block;
    launch.accesses[block].state.grid.x = 8;
  }
  program.Run(launch);
  program.Synchronize({});
  program.End();

  // Blocks 0 and 4 of 8.
  EXPECT_EQ(program.All<stream::Touch>().at(0).read_bytes, 256U);
  EXPECT_EQ(program.All<stream::Launch>().at(0).inclusion_ppb, kAllPpb / 4);
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kPartial));
}

TEST_F(SessionCoverageTest, ObjectsThatWereOnlyGivenAreByArgument) {
  MockProgram program(path_);
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.Allocate(kB, kBytes);
  // A kernel that loads through tensor maps: no access is seen.
  program.Run({.kernel = "nvjet", .accesses = {}, .parameters = {kA + 64, 7, kB}});
  // One that also writes a little where patches see it.
  program.Run(
      {.kernel = "nvjet", .accesses = {WarpAt(kB, 4, kWriteFlag)}, .parameters = {kA, 7, kB}});
  program.Synchronize({});
  program.End();

  const auto arguments = program.All<stream::LaunchArgument>();
  ASSERT_THAT(arguments, SizeIs(3));
  EXPECT_EQ(arguments[0].object, 1U);
  EXPECT_EQ(arguments[0].address, kA + 64);
  EXPECT_EQ(arguments[0].offset, 0U);
  EXPECT_EQ(arguments[1].object, 2U);
  EXPECT_EQ(arguments[1].offset, 16U);
  EXPECT_EQ(arguments[2].object, 1U);  // of the second launch: the other object has exact counts
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kByArgument, codes::kPartial));
}

// A kernel that gets a tensor map by value, in one block of parameters.
TEST_F(SessionCoverageTest, AKnownTensorMapAmongParametersIsADescriptor) {
  std::vector<std::byte> block(64 + kTensorMapBytes, std::byte{0x77});
  const std::uint64_t address = kA;
  std::memcpy(block.data() + 64, &address, sizeof(address));
  MockProgram program(path_);
  program.Begin({});
  program.Allocate(kA, kBytes);
  TensorMapEvent map;
  map.map = std::span(block).subspan(64);
  map.address = kA;
  map.element_bytes = 2;
  map.shape = {64, 32};
  program.session().OnTensorMap(map);
  program.session().OnLaunchCall({.function = {1}, .block = block});
  program.Run({.kernel = "gemm"});
  program.Synchronize({});
  program.End();

  const auto maps = program.All<stream::TensorMap>();
  ASSERT_THAT(maps, SizeIs(1));
  EXPECT_EQ(maps[0].address, kA);
  const auto used = program.All<stream::LaunchMap>();
  ASSERT_THAT(used, SizeIs(1));
  EXPECT_EQ(used[0].map, maps[0].id);
  EXPECT_EQ(used[0].object, 1U);
  EXPECT_EQ(used[0].offset, 64U);
  EXPECT_THAT(program.All<stream::LaunchArgument>(), IsEmpty());
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kByDescriptor));
}

TEST_F(SessionCoverageTest, NodesOfAGraphAreReadWhenTheGraphIsInItsStream) {
  MockProgram program(path_);
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.BeginGraph({}, 0x99);
  program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}, .graph = 0x99});
  program.Run({.accesses = {WarpAt(kA, 8, kReadFlag)}, .graph = 0x99});
  program.Synchronize({});  // by another thread, in between
  EXPECT_EQ(program.vendor().NumCalls("CopyToHost"), 0U);
  program.EndGraph({}, 0x99);
  program.Synchronize({});
  program.End();

  const auto launches = program.All<stream::Launch>();
  ASSERT_THAT(launches, SizeIs(2));
  EXPECT_EQ(launches[1].graph, 1U);
  EXPECT_EQ(launches[1].graph_node, 2U);
  const auto touches = program.All<stream::Touch>();
  ASSERT_THAT(touches, SizeIs(1));  // of one stream: counted together
  EXPECT_EQ(touches[0].read_bytes, 128U + 256);
  // The arguments of nodes are not known, so loads through tensor maps cannot be ruled out.
  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kPartial, codes::kPartial));
  EXPECT_EQ(CountIn(path_, codes::kGraphsNotCovered,
                    "launches of graph nodes that may use tensor maps: what they were given is not "
                    "known"),
            2U);
  EXPECT_THAT(program.All<stream::GraphLaunch>(), SizeIs(1));
}

// PASTA defect 4: an address that no object owns ended the target.
TEST_F(SessionCoverageTest, UnknownAddressesAreCountedAndSampled) {
  MockProgram program(path_);
  program.Begin({});
  program.Allocate(kA, 64);
  program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  program.Synchronize({});
  program.End();

  // Lanes 0-15 are in the object's 64 bytes, lanes 16-31 behind its end.
  const auto touches = program.All<stream::Touch>();
  ASSERT_THAT(touches, SizeIs(2));
  EXPECT_EQ(touches[0].object, 0U);
  EXPECT_EQ(touches[0].read_bytes, 64U);
  EXPECT_EQ(touches[1].read_bytes, 64U);
  EXPECT_EQ(CountIn(path_, codes::kUnknownAddresses), 16U);
  const auto counts = program.All<stream::CoverageCount>();
  const auto sample = std::find_if(counts.begin(), counts.end(), [](const auto& count) {
    return count.kind == codes::kUnknownAddresses;
  });
  ASSERT_NE(sample, counts.end());
  EXPECT_EQ(sample->address, kA + 64);
}

}  // namespace
}  // namespace orrery::capture::sanitizer
