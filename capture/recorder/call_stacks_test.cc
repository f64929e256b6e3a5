#include "capture/recorder/call_stacks.h"

#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/recorder/tests/recording_test.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

class CallStacksTest : public ::testing::Test {
 protected:
  /// Frames of the stack with this number, as texts.
  [[nodiscard]] std::vector<std::string> FramesOf(std::uint64_t number) const {
    std::vector<std::string> frames;
    ForEachRecordOf(BytesOf(path_), [&]<typename Any>(const Any& record) {
      if constexpr (std::is_same_v<Any, stream::Stack>) {
        if (record.id == number) {
          for (const std::uint64_t frame : record.frames) {
            frames.push_back(TextIn(path_, frame));
          }
        }
      }
    });
    return frames;
  }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  FakeClock clock_;
  Recorder recorder_{{.path = path_, .producer = "test"}, clock_};
};

/// Calls from `depth` frames below.
[[gnu::noinline]] std::uint64_t Below(CallStacks& stacks, int depth) {
  const std::uint64_t number = depth == 0 ? stacks.OfThisThread() : Below(stacks, depth - 1);
  asm volatile("");  // no jump in place of the call
  return number;
}

TEST_F(CallStacksTest, OnePlaceIsOneStackAndAnotherIsAnother) {
  CallStacks stacks(recorder_, nullptr);
  std::vector<std::uint64_t> same;
  for (int i = 0; i < 1000; ++i) {
    same.push_back(stacks.OfThisThread());
  }
  const std::uint64_t other = stacks.OfThisThread();
  recorder_.Finish();

  EXPECT_THAT(same, ::testing::Each(same[0]));
  EXPECT_NE(same[0], other);
  EXPECT_THAT(RecordsOf<stream::Stack>(path_), SizeIs(2));
  ASSERT_FALSE(FramesOf(other).empty());
  EXPECT_THAT(FramesOf(other)[0], HasSubstr("+0x"));  // module and offset, no bare address
}

TEST_F(CallStacksTest, OnlyTheInnermostFramesAreKept) {
  CallStacks stacks(recorder_, nullptr);
  const std::uint64_t deep = Below(stacks, 200);
  recorder_.Finish();

  EXPECT_THAT(FramesOf(deep), SizeIs(CallStacks::kMaxFrames));
}

TEST_F(CallStacksTest, FramesOfTheRecorderItselfAreLeftOut) {
  CallStacks with(recorder_, nullptr);
  CallStacks without(recorder_);
  const std::uint64_t complete = Below(with, 10);
  const std::uint64_t shorter = Below(without, 10);
  recorder_.Finish();

  // The test is in the module that is left out: its eleven frames at least are gone.
  EXPECT_GE(FramesOf(complete).size(), FramesOf(shorter).size() + 11);
}

TEST_F(CallStacksTest, FramesOfPythonComeBehindOnTheirOwnThread) {
  CallStacks stacks(recorder_);
  const std::vector<std::string_view> frames = {"model.py:12 forward", "train.py:7 step"};
  stacks.SetPython(frames);
  const std::uint64_t number = stacks.OfThisThread();
  std::uint64_t of_other_thread = 0;
  std::thread([&] { of_other_thread = stacks.OfThisThread(); }).join();
  stacks.SetPython({});
  const std::uint64_t afterwards = stacks.OfThisThread();
  recorder_.Finish();

  const auto found = FramesOf(number);
  ASSERT_GE(found.size(), 2U);
  EXPECT_THAT(std::vector(found.end() - 2, found.end()),
              ElementsAre("model.py:12 forward", "train.py:7 step"));
  EXPECT_THAT(FramesOf(of_other_thread), ::testing::Not(::testing::Contains("train.py:7 step")));
  EXPECT_THAT(FramesOf(afterwards), ::testing::Not(::testing::Contains("train.py:7 step")));
}

}  // namespace
}  // namespace orrery::capture
