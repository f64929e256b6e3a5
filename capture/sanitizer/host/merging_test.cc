#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "capture/sanitizer/tests/mock_program_test.h"

// Launches whose records find no room count with a launch before them: sums stay exact, and are not
// attributed to one launch alone.

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

using Launch = MockProgram::Launch;

/// Room for four blocks of 1 KiB: one shard, and two objects at most.
Options RoomForFour() {
  Options options = MockProgram::SmallOptions();
  options.arena_bytes = 4 << 10;
  options.num_shards = 1;
  return options;
}

/// The same, and what finds no room is merged before anybody waits.
Options MergingFirst() {
  Options options = RoomForFour();
  options.merge_before_waiting = true;
  return options;
}

class MergingTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::vector<std::string> Reasons(const MockProgram& program) const {
    std::vector<std::string> reasons;
    for (const auto& launch : program.All<stream::Launch>()) {
      reasons.push_back(TextIn(path_, launch.reason));
    }
    return reasons;
  }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
};

// Launches wait first, unless they are told to merge first. Both would be exact:
// they and what they count with are partial.
TEST_F(MergingTest, WhereItIsAskedForMergingComesBeforeWaiting) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.Allocate(kB, kBytes);
  for (int i = 0; i < 5; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}, .parameters = {kA}});
  }
  program.Run({.accesses = {WarpAt(kB, 4, kReadFlag)}, .parameters = {kB}});
  EXPECT_EQ(program.vendor().NumCalls("CopyToHost"), 0U);
  program.Synchronize({});
  program.End();

  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kExact, codes::kExact, codes::kExact,
                                               codes::kPartial, codes::kPartial, codes::kPartial));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesMerged), 2U);
  // The arguments of a merged launch are known separately.
  const auto launches = program.All<stream::Launch>();
  const auto arguments = program.All<stream::LaunchArgument>();
  ASSERT_THAT(arguments, SizeIs(2));
  EXPECT_EQ(arguments[1].launch, launches[5].sequence);
  EXPECT_EQ(arguments[1].address, kB);
}

// The table of objects has changed: what is at kB now has no counters in the blocks before. So the
// stream is waited for.
TEST_F(MergingTest, LaunchesThatSeeOtherMemoryAreNotMerged) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 4; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.Allocate(kB, kBytes);
  program.Run({.accesses = {WarpAt(kB, 4, kReadFlag)}});
  program.Synchronize({});
  program.End();

  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(5));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesMerged), 0U);
  EXPECT_EQ(CountIn(path_, codes::kUnknownAddresses), 0U);
}

// Nodes of graphs count with each other (graph_nodes_test.cc), and with nothing else: a launch
// between two of them would hold their record up. Launches in another stream take the other three
// places.
TEST_F(MergingTest, LaunchesAreNotMergedIntoNodes) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  program.BeginGraph({}, kGraph);
  program.Run({.kernel = "add", .accesses = {WarpAt(kA, 4, kReadFlag)}, .graph = kGraph});
  program.EndGraph({}, kGraph);
  for (const char* const kernel : {"k1", "k2", "k3"}) {
    program.Run(
        {.place = {.stream = 0x52}, .kernel = kernel, .accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.Run({.kernel = "add", .accesses = {WarpAt(kA, 4, kReadFlag)}});
  program.End();

  EXPECT_THAT(Reasons(program), Each(""));
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(5));
}

// Nor do launches of other streams count together: their blocks are read at other times.
TEST_F(MergingTest, LaunchesOfOtherStreamsAreNotMerged) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 4; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.Run({.place = {.stream = 0x52}, .accesses = {WarpAt(kA, 4, kReadFlag)}});
  program.End();

  EXPECT_EQ(Reasons(program).back(), "no room for its record");
}

// Records of single accesses carry the number of one launch.
TEST_F(MergingTest, LaunchesWhoseAccessesAreRecordedOneByOneAreNotMerged) {
  Options options = RoomForFour();
  options.merge_before_waiting = true;
  options.access_records = "add";
  MockProgram program(path_, options);
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 6; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.Synchronize({});
  program.End();

  EXPECT_EQ(CountIn(path_, codes::kLaunchesMerged), 0U);
  EXPECT_THAT(program.All<stream::Touch>(), SizeIs(6));
}

// A thread waits for the stream while another is between the begin and the end of a launch that
// counts with one before: the block is not read until the launch is in the stream.
TEST_F(MergingTest, ABlockThatIsCountedInAgainIsNotReadBefore) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 4; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  const LaunchHandle merged = program.Run({.has_end = false});
  program.Synchronize({});
  program.vendor().RunKernel(merged, {0x51}, [](LaunchRecord& record) {
    const MockAccess access = WarpAt(kA, 16, kWriteFlag);
    EmulateGlobalAccess(record, access.state, access.access);
  });
  {
    const MockVendor::In in(MockVendor::Where::kLaunchEnd);
    program.session().OnLaunchEnd({.context = {1}, .launch = merged});
  }
  program.Synchronize({});
  program.End();

  const auto touches = program.All<stream::Touch>();
  ASSERT_THAT(touches, SizeIs(4));
  EXPECT_EQ(touches[3].read_bytes, 128U);
  EXPECT_EQ(touches[3].write_bytes, 512U);
}

// The record could not be bound: the launch is left out, and the one before stays what it was.
TEST_F(MergingTest, AMergeThatFailsLeavesTheOtherLaunchAsItWas) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 4; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}, .parameters = {kA}});
  }
  program.vendor().FailOnce("SetLaunchData");
  program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}, .parameters = {kA}});
  program.Synchronize({});
  program.End();

  EXPECT_THAT(program.Coverages(), ElementsAre(codes::kExact, codes::kExact, codes::kExact,
                                               codes::kExact, codes::kUnseen));
  EXPECT_EQ(CountIn(path_, codes::kLaunchesMerged), 0U);
}

TEST_F(MergingTest, ResultsThatCannotBeReadAreLostForAllOfThem) {
  MockProgram program(path_, MergingFirst());
  program.Begin({});
  program.Allocate(kA, kBytes);
  for (int i = 0; i < 6; ++i) {
    program.Run({.accesses = {WarpAt(kA, 4, kReadFlag)}});
  }
  program.vendor().FailOnce("CopyToHost");
  program.Synchronize({});
  program.End();

  EXPECT_THAT(program.All<stream::Touch>(), IsEmpty());
  EXPECT_EQ(CountIn(path_, codes::kLaunchesSkipped, "its results could not be read"), 6U);
  EXPECT_THAT(program.All<stream::LaunchEnd>(), SizeIs(6));
}

constexpr std::string_view kMergedInto = "counts merged into launch ";

/// A random program, and the sums that its recording must have.
class RandomProgram {
 public:
  RandomProgram(const std::string& path, const Options& options) : program_(path, options) {
    *rc::gen::arbitrary<bool>() ? program_.BeginPlain({}) : program_.Begin({});
    program_.Allocate(kA, kBytes);
  }

  void Step() {
    switch (*rc::gen::inRange(0, 12)) {
      case 0:
        program_.Synchronize({.stream = DrawStream()});
        break;
      case 1:
        Reallocate();
        break;
      case 2:
      case 3:
        RunGraph();
        break;
      default:
        RunOne(DrawStream(), 0);
    }
  }

  MockProgram& End() {
    program_.Synchronize({.stream = 0x51});
    program_.Synchronize({.stream = 0x52});
    program_.End();
    return program_;
  }

  /// Bytes issued by each launch, in order.
  [[nodiscard]] const std::vector<std::uint64_t>& issued() const { return issued_; }

 private:
  static std::uint64_t DrawStream() { return 0x51 + *rc::gen::inRange<std::uint64_t>(0, 2); }

  // The tables of launches before and after differ.
  void Reallocate() {
    if (has_b_) {
      program_.Free(kB);
    } else {
      program_.Allocate(kB, kBytes);
    }
    has_b_ = !has_b_;
  }

  void RunGraph() {
    const MockProgram::Place place{.stream = DrawStream()};
    program_.BeginGraph(place, kGraph);
    const int num_nodes = *rc::gen::inRange(1, 12);
    for (int i = 0; i < num_nodes; ++i) {
      RunOne(place.stream, kGraph);
    }
    program_.EndGraph(place, kGraph);
  }

  void RunOne(std::uint64_t stream, std::uint64_t graph) {
    Launch launch{.place = {.stream = stream},
                  .kernel = *rc::gen::element<std::string>("add", "norm", "scale"),
                  .graph = graph};
    std::uint64_t bytes = 0;
    const int num_accesses = *rc::gen::inRange(0, 4);
    for (int i = 0; i < num_accesses; ++i) {
      const auto size = *rc::gen::element<std::uint32_t>(1, 4, 16);
      launch.accesses.push_back(WarpAt(*rc::gen::element(kA, kB, kA + kBytes - 64), size,
                                       *rc::gen::element<std::uint32_t>(1, 2, 3)));
      bytes += std::uint64_t{size} * kNumLanes;
    }
    program_.Run(launch);
    issued_.push_back(bytes);
  }

  MockProgram program_;
  bool has_b_ = false;
  std::vector<std::uint64_t> issued_;
};

// Whatever finds room or not: what is recorded of a launch is what was issued by it and by those
// that say to be merged into it. A launch that is called exact has its own bytes.
RC_GTEST_PROP(MergingPropertyTest, AllBytesAddUpToWhatWasIssued, ()) {
  const TestFolder folder;
  const std::string path = folder.File("run.orrs");
  Options options = RoomForFour();
  options.merge_before_waiting = *rc::gen::arbitrary<bool>();
  options.page_bytes = *rc::gen::element<std::uint64_t>(0, 4096);
  options.launch_skip = *rc::gen::element<std::uint64_t>(0, 0, 5);
  options.launch_count = *rc::gen::element<std::uint64_t>(0, 0, 20);
  RandomProgram random(path, options);
  const int num_steps = *rc::gen::inRange(1, 40);
  for (int i = 0; i < num_steps; ++i) {
    random.Step();
  }
  const MockProgram& program = random.End();

  std::map<std::uint64_t, std::uint64_t> recorded;  // by launch
  for (const auto& touch : program.All<stream::Touch>()) {
    recorded[touch.launch] += touch.read_bytes + touch.write_bytes + touch.atomic_bytes;
  }
  const auto launches = program.All<stream::Launch>();
  const auto coverages = program.Coverages();
  RC_ASSERT(launches.size() == random.issued().size());
  std::map<std::uint64_t, std::uint64_t> issued;  // by launch with the counts
  std::uint64_t num_merged = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    const std::string reason = TextIn(path, launches[i].reason);
    const bool is_merged = reason.starts_with(kMergedInto);
    num_merged += is_merged ? 1 : 0;
    RC_ASSERT((coverages[i] == codes::kUnseen) == (!reason.empty() && !is_merged));
    const std::uint64_t receiver =
        is_merged ? std::stoull(reason.substr(kMergedInto.size())) : launches[i].sequence;
    issued[receiver] += coverages[i] == codes::kUnseen ? 0 : random.issued()[i];
    RC_ASSERT(!is_merged ||
              (coverages[i] == codes::kPartial && recorded[launches[i].sequence] == 0));
    RC_ASSERT(coverages[i] != codes::kExact ||
              recorded[launches[i].sequence] == random.issued()[i]);
  }
  for (const auto& [launch, bytes] : issued) {
    RC_ASSERT(bytes == recorded[launch]);
  }
  RC_ASSERT(CountIn(path, codes::kLaunchesMerged) == num_merged);
  RC_CLASSIFY(num_merged != 0, "with merged launches");
}

}  // namespace
}  // namespace orrery::capture::sanitizer
