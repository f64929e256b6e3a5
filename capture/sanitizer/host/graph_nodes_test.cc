#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/tests/mock_program_test.h"

// There is one pointer for all nodes in a stream: they count together, or none of them does, and
// each launch says so.

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::uint64_t kA = 0x10'0000;
constexpr std::uint64_t kB = 0x20'0000;
constexpr std::uint64_t kBytes = 0x1'0000;
constexpr std::uint64_t kGraph = 0x99;
constexpr std::uint64_t kWarpBytes = 128;  // 32 lanes, 4 bytes each
constexpr std::uint64_t kPc = 0x40;        // of all accesses; functions begin at 0

const MockProgram::Place kStream{};
const MockProgram::Place kOtherStream{.stream = 0x52};

using Launch = MockProgram::Launch;

Launch Reading(const std::string& kernel, std::uint64_t address = kA) {
  return {.kernel = kernel, .accesses = {WarpAt(address, 4, kReadFlag)}};
}

/// Room for four blocks of 1 KiB: one shard, and two objects at most.
Options RoomForFour() {
  Options options = MockProgram::SmallOptions();
  options.arena_bytes = 4 << 10;
  options.num_shards = 1;
  return options;
}

class GraphNodesTest : public ::testing::Test {
 protected:
  void Begin(const Options& options = MockProgram::SmallOptions()) {
    program_.emplace(path_, options);
    program_->BeginPlain({});
    program_->Allocate(kA, kBytes);
  }

  void RunGraph(const std::vector<Launch>& nodes, const MockProgram::Place& place = kStream,
                std::uint64_t graph = kGraph) {
    program_->BeginGraph(place, graph);
    for (Launch node : nodes) {
      node.place = place;
      node.graph = graph;
      program_->Run(node);
    }
    program_->EndGraph(place, graph);
  }

  void End() {
    program_->Synchronize(kStream);
    program_->End();
  }

  [[nodiscard]] std::vector<std::string> Reasons() const {
    std::vector<std::string> reasons;
    for (const auto& launch : program_->All<stream::Launch>()) {
      reasons.push_back(TextIn(path_, launch.reason));
    }
    return reasons;
  }

  /// The reason of a launch that counts with the `place`-th.
  [[nodiscard]] std::string MergedInto(std::size_t place) const {
    return "counts merged into launch " +
           std::to_string(program_->All<stream::Launch>().at(place).sequence);
  }

  /// Bytes that each launch is said to have read, in order.
  [[nodiscard]] std::vector<std::uint64_t> ReadBytes() const {
    std::map<std::uint64_t, std::uint64_t> bytes_of_launch;
    for (const auto& launch : program_->All<stream::Launch>()) {
      bytes_of_launch[launch.sequence] = 0;
    }
    for (const auto& touch : program_->All<stream::Touch>()) {
      bytes_of_launch[touch.launch] += touch.read_bytes;
    }
    std::vector<std::uint64_t> bytes;
    for (const auto& [launch, of_launch] : bytes_of_launch) {
      bytes.push_back(of_launch);
    }
    return bytes;
  }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  std::optional<MockProgram> program_;
};

// Kernel "norm" has only one node, and is not alone for that: the bytes of the four nodes are only
// known together.
TEST_F(GraphNodesTest, NodesOfAllKernelsAreCountedTogether) {
  Begin();
  RunGraph({Reading("add"), Reading("norm"), Reading("add"), Reading("add")});
  End();

  EXPECT_THAT(Reasons(), ElementsAre("", MergedInto(0), MergedInto(0), MergedInto(0)));
  EXPECT_THAT(ReadBytes(), ElementsAre(4 * kWarpBytes, 0, 0, 0));
  EXPECT_THAT(program_->Coverages(), Each(codes::kPartial));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesMerged,
                    "nodes of graphs: those launched into one stream are counted together"),
            3U);
  EXPECT_THAT(program_->All<stream::LaunchEnd>(), SizeIs(4));
}

// A node whose module is not patched counts nothing and decides nothing: the other one is alone.
TEST_F(GraphNodesTest, ANodeThatIsNotPatchedDecidesForNobody) {
  Begin();
  program_->BeginGraph(kStream, kGraph);
  Launch node = Reading("foreign");
  node.graph = kGraph;
  node.place.module = kStream.module + 1;  // never loaded
  node.accesses.clear();
  program_->Run(node);
  Launch counted = Reading("add");
  counted.graph = kGraph;
  program_->Run(counted);
  program_->Run(node);
  program_->EndGraph(kStream, kGraph);
  End();

  EXPECT_THAT(Reasons(), ElementsAre("its module is not patched", "", "its module is not patched"));
  EXPECT_THAT(ReadBytes(), ElementsAre(0, kWarpBytes, 0));
  EXPECT_THAT(program_->Coverages(), ElementsAre(codes::kUnseen, codes::kExact, codes::kUnseen));
}

TEST_F(GraphNodesTest, LaunchesOfAGraphWithAWaitBetweenAreApart) {
  Begin();
  RunGraph({Reading("add")});
  program_->Synchronize(kStream);
  RunGraph({Reading("add")});
  End();

  EXPECT_THAT(ReadBytes(), ElementsAre(kWarpBytes, kWarpBytes));
  EXPECT_THAT(program_->Coverages(), Each(codes::kExact));
}

// The second launch may change the pointer while the first one runs.
TEST_F(GraphNodesTest, LaunchesOfGraphsThatNobodyWaitedForAreCountedTogether) {
  Begin();
  RunGraph({Reading("add")});
  RunGraph({Reading("add"), Reading("norm")}, kStream, kGraph + 1);
  End();

  EXPECT_THAT(Reasons(), ElementsAre("", MergedInto(0), MergedInto(0)));
  EXPECT_THAT(ReadBytes(), ElementsAre(3 * kWarpBytes, 0, 0));
  EXPECT_THAT(program_->Coverages(), Each(codes::kPartial));
}

// A launch outside graphs has its own pointer, and keeps its own record.
TEST_F(GraphNodesTest, OtherLaunchesOfTheKernelAreApart) {
  Begin();
  program_->Run(Reading("add"));
  RunGraph({Reading("add")});
  program_->Run(Reading("add"));
  End();

  EXPECT_THAT(ReadBytes(), Each(kWarpBytes));
  EXPECT_THAT(program_->Coverages(), Each(codes::kExact));
}

// The first node is the last launch asked for: the others would take the pointer from it.
TEST_F(GraphNodesTest, WhereTheFirstNodeIsTakenAllAre) {
  Options options = MockProgram::SmallOptions();
  options.launch_count = 1;
  Begin(options);
  RunGraph({Reading("add"), Reading("norm")});
  program_->Synchronize(kStream);
  RunGraph({Reading("add"), Reading("norm")});
  End();

  EXPECT_THAT(Reasons(), ElementsAre("", MergedInto(0), "after the last launch asked for",
                                     "after the last launch asked for"));
  EXPECT_THAT(ReadBytes(), ElementsAre(2 * kWarpBytes, 0, 0, 0));
  std::vector<std::int64_t> inclusion;
  for (const auto& launch : program_->All<stream::Launch>()) {
    inclusion.push_back(launch.inclusion_ppb);
  }
  EXPECT_THAT(inclusion, ElementsAre(kAllPpb, kAllPpb, 0, 0));
}

// The first node is left out, so the second is, which is asked for. At the next launch of the graph
// its stream is waited for: nothing that was left out runs any more, and all are taken.
TEST_F(GraphNodesTest, WhereTheFirstNodeIsLeftOutAllAre) {
  Options options = MockProgram::SmallOptions();
  options.launch_skip = 1;
  Begin(options);
  RunGraph({Reading("add"), Reading("norm")});
  RunGraph({Reading("add"), Reading("norm")});
  End();

  EXPECT_THAT(Reasons(), ElementsAre("before the first launch asked for",
                                     "left out with nodes of graphs in its stream: "
                                     "before the first launch asked for",
                                     "", MergedInto(2)));
  EXPECT_THAT(ReadBytes(), ElementsAre(0, 0, 2 * kWarpBytes, 0));
  EXPECT_THAT(program_->Coverages(),
              ElementsAre(codes::kUnseen, codes::kUnseen, codes::kPartial, codes::kPartial));
}

// Launches in another stream take all room, and waiting is not allowed in the middle of a graph.
// They are gone when the second node comes, which must not be counted all the same. At the next
// launch of the graph its stream is waited for.
TEST_F(GraphNodesTest, WhereTheFirstNodeFindsNoRoomNoneIsCounted) {
  Begin(RoomForFour());
  for (int i = 0; i < 4; ++i) {
    Launch launch = Reading("scale");
    launch.place = kOtherStream;
    program_->Run(launch);
  }
  program_->BeginGraph(kStream, kGraph);
  Launch node = Reading("add");
  node.graph = kGraph;
  program_->Run(node);
  program_->Synchronize(kOtherStream);
  node.kernel = "norm";
  program_->Run(node);
  program_->EndGraph(kStream, kGraph);
  RunGraph({Reading("add")});
  End();

  EXPECT_THAT(
      Reasons(),
      ElementsAre("", "", "", "", "no room for its record",
                  "left out with nodes of graphs in its stream: no room for its record", ""));
  EXPECT_THAT(ReadBytes(),
              ElementsAre(kWarpBytes, kWarpBytes, kWarpBytes, kWarpBytes, 0, 0, kWarpBytes));
}

// The table of objects has changed, as a memory node does it: there is one record all the same, and
// no counters in it for what is at kB now.
TEST_F(GraphNodesTest, ANodeThatSeesOtherMemoryCountsWithTheTableOfTheFirst) {
  Begin();
  program_->BeginGraph(kStream, kGraph);
  Launch node = Reading("add");
  node.graph = kGraph;
  program_->Run(node);
  program_->Allocate(kB, kBytes);
  node.accesses = {WarpAt(kB, 4, kReadFlag)};
  program_->Run(node);
  program_->EndGraph(kStream, kGraph);
  End();

  EXPECT_THAT(ReadBytes(), ElementsAre(2 * kWarpBytes, 0));
  EXPECT_THAT(program_->Coverages(), Each(codes::kPartial));
  EXPECT_EQ(CountIn(path_, codes::kUnknownAddresses), 32U);
  EXPECT_EQ(CountIn(path_, codes::kGraphsNotCovered,
                    "nodes of graphs counted with the memory that an earlier one saw: newer memory "
                    "counts as unknown"),
            1U);
}

// One pointer for all streams: what the graph in the first stream does comes into the record of the
// second, after that was read. Neither is called exact, and the room of the second is not reused
// while the first may still run.
TEST_F(GraphNodesTest, GraphsInTwoStreamsAreNotCalledExact) {
  Begin(RoomForFour());
  program_->vendor().has_one_pointer_for_all_streams = true;
  RunGraph({Reading("add")}, kStream);
  RunGraph({Reading("norm")}, kOtherStream);
  program_->Synchronize(kOtherStream);
  for (int i = 0; i < 4; ++i) {
    Launch launch = Reading("scale");
    launch.place = kOtherStream;
    program_->Run(launch);
  }
  program_->Synchronize(kStream);
  program_->Synchronize(kOtherStream);
  End();

  EXPECT_THAT(program_->Coverages(), ElementsAre(codes::kPartial, codes::kPartial, codes::kExact,
                                                 codes::kExact, codes::kExact, codes::kExact));
  EXPECT_THAT(ReadBytes(),
              ElementsAre(0, kWarpBytes, kWarpBytes, kWarpBytes, kWarpBytes, kWarpBytes));
  EXPECT_EQ(CountIn(path_, codes::kGraphsNotCovered,
                    "graphs in several streams at once: counts of one may be the other's"),
            2U);
}

// The second graph is left out, which may take the pointer from the first.
TEST_F(GraphNodesTest, ANodeLeftOutInAnotherStreamMakesARecordPartial) {
  Options options = MockProgram::SmallOptions();
  options.launch_count = 1;
  Begin(options);
  RunGraph({Reading("add")}, kStream);
  RunGraph({Reading("norm")}, kOtherStream);
  End();

  EXPECT_THAT(program_->Coverages(), ElementsAre(codes::kPartial, codes::kUnseen));
}

// The pointer stays what it was: the second node counts in the first one's record.
TEST_F(GraphNodesTest, ANodeThatCannotBeBoundCountsWithThoseThatAre) {
  Begin();
  program_->BeginGraph(kStream, kGraph);
  Launch node = Reading("add");
  node.graph = kGraph;
  program_->Run(node);
  program_->vendor().FailOnce("SetLaunchData");
  program_->Run(node);
  program_->EndGraph(kStream, kGraph);
  End();

  EXPECT_THAT(Reasons(), ElementsAre("", MergedInto(0)));
  EXPECT_THAT(ReadBytes(), ElementsAre(2 * kWarpBytes, 0));
}

TEST_F(GraphNodesTest, WhereTheFirstCannotBeBoundAllAreLeftOut) {
  Begin();
  program_->vendor().FailOnce("SetLaunchData");
  RunGraph({Reading("add"), Reading("add")});
  End();

  EXPECT_THAT(program_->Coverages(), Each(codes::kUnseen));
  EXPECT_THAT(program_->All<stream::Touch>(), IsEmpty());
}

TEST_F(GraphNodesTest, SingleAccessesOfNodesNameTheLaunchThatTheyAreCountedWith) {
  Options options = MockProgram::SmallOptions();
  options.access_records = "add";
  Begin(options);
  RunGraph({Reading("add"), Reading("add")});
  End();

  const auto accesses = program_->All<stream::WarpAccess>();
  ASSERT_THAT(accesses, SizeIs(2));
  EXPECT_EQ(accesses[0].launch, accesses[1].launch);
  EXPECT_EQ(accesses[1].pc, kPc);
  EXPECT_THAT(ReadBytes(), ElementsAre(2 * kWarpBytes, 0));
}

// Whose instruction it was is not known, so neither is where it lies in its kernel.
TEST_F(GraphNodesTest, SingleAccessesOfNodesOfSeveralKernelsHaveNoPc) {
  Options options = MockProgram::SmallOptions();
  options.access_records = "add";
  Begin(options);
  RunGraph({Reading("add"), Reading("norm")});
  End();

  const auto accesses = program_->All<stream::WarpAccess>();
  ASSERT_THAT(accesses, SizeIs(2));
  EXPECT_EQ(accesses[0].pc, 0U);
  EXPECT_EQ(accesses[1].pc, 0U);
}

TEST_F(GraphNodesTest, AllNodesMayBeginBeforeAnyEnds) {
  Begin();
  program_->BeginGraph(kStream, kGraph);
  std::vector<LaunchHandle> handles;
  for (int i = 0; i < 3; ++i) {
    handles.push_back(program_->Run({.kernel = "add", .graph = kGraph, .has_end = false}));
  }
  for (const LaunchHandle handle : handles) {
    const MockVendor::In in(MockVendor::Where::kLaunchEnd);
    program_->session().OnLaunchEnd({.context = {kStream.context}, .launch = handle});
  }
  program_->EndGraph(kStream, kGraph);
  End();

  EXPECT_THAT(program_->Coverages(), Each(codes::kPartial));
  EXPECT_THAT(program_->All<stream::LaunchEnd>(), SizeIs(3));
  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage, "ends of launches that did not begin"), 0U);
}

// A program that waits for events only: counts are read at a launch of a graph, once many nodes
// are in its stream.
TEST_F(GraphNodesTest, ManyNodesThatNobodyWaitedForAreReadAtTheNextGraph) {
  Begin();
  RunGraph(std::vector<Launch>(3000, Reading("add")));
  RunGraph(std::vector<Launch>(3000, Reading("add")));
  EXPECT_EQ(program_->vendor().NumCalls("CopyToHost"), 0U);
  RunGraph({Reading("add")});
  EXPECT_EQ(program_->vendor().NumCalls("CopyToHost"), 1U);
  End();

  EXPECT_EQ(ReadBytes().front(), 6000 * kWarpBytes);
  EXPECT_EQ(ReadBytes().back(), kWarpBytes);
}

}  // namespace
}  // namespace orrery::capture::sanitizer
