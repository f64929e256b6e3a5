#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <pthread.h>

#include "capture/recorder/recorder.h"
#include "capture/recorder/tests/recording_test.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

class DeferringTest : public ::testing::Test {
 protected:
  DeferringTest() { recorder_.SetDeferring(true); }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  FakeClock clock_;
  Recorder recorder_{RecorderSettings{.path = path_, .ordering = Ordering::kByTime}, clock_};
};

TEST_F(DeferringTest, WhatWasPutAsideIsOnDiskAfterWriteOut) {
  const std::uint64_t begin = recorder_.OperatorBegin("aten::add", 3, 0, 0);
  recorder_.OperatorEnd(begin);
  EXPECT_EQ(RecordsOf<stream::OperatorBegin>(path_).size(), 0U);

  recorder_.WriteOut();
  const auto begins = RecordsOf<stream::OperatorBegin>(path_);
  ASSERT_EQ(begins.size(), 1U);
  EXPECT_EQ(TextIn(path_, begins[0].name), "aten::add");
  EXPECT_EQ(begins[0].sequence, begin);
  EXPECT_EQ(begins[0].thread, ThreadNumber());
  EXPECT_EQ(RecordsOf<stream::OperatorEnd>(path_).at(0).begin, begin);
}

// An address is used three times, allocated on one thread and freed on another: objects are matched
// in the order of events, not of threads.
TEST_F(DeferringTest, ObjectsAreMatchedInTheOrderOfEventsAcrossThreads) {
  for (int turn = 0; turn < 3; ++turn) {
    recorder_.Allocated({.address = 64, .bytes = 512, .level = codes::kTensor});
    std::thread([this] { recorder_.Freed({.address = 64, .level = codes::kTensor}); }).join();
  }
  recorder_.Finish();

  const auto allocations = RecordsOf<stream::Allocation>(path_);
  const auto frees = RecordsOf<stream::Free>(path_);
  ASSERT_EQ(allocations.size(), 3U);
  ASSERT_EQ(frees.size(), 3U);
  for (std::size_t turn = 0; turn < 3; ++turn) {
    EXPECT_EQ(frees[turn].object, allocations[turn].object);
    EXPECT_NE(frees[turn].object, 0U);
  }
  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped), 0U);
}

// Operators have 10 and 5 words, steps 5, allocations 17: none fits the 8,192 words of a block
// without a rest.
TEST_F(DeferringTest, EventsOfAllSizesAreWholeAcrossBlocks) {
  constexpr std::uint64_t kTurns = 3'000;
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    const std::uint64_t begin =
        recorder_.OperatorBegin("aten::add", static_cast<std::int64_t>(turn), 2, turn + 1);
    recorder_.Allocated({.address = turn, .bytes = 512, .level = codes::kTensor, .stream = turn});
    recorder_.OperatorEnd(begin);
    recorder_.Step(turn);
    if (turn % 1'000 == 0) {
      recorder_.WriteOut();  // in the middle of a block
    }
  }
  recorder_.Finish();

  const auto begins = RecordsOf<stream::OperatorBegin>(path_);
  const auto ends = RecordsOf<stream::OperatorEnd>(path_);
  const auto allocations = RecordsOf<stream::Allocation>(path_);
  const auto steps = RecordsOf<stream::Step>(path_);
  ASSERT_EQ(begins.size(), kTurns);
  ASSERT_EQ(ends.size(), kTurns);
  ASSERT_EQ(allocations.size(), kTurns);
  ASSERT_EQ(steps.size(), kTurns);
  for (std::uint64_t turn = 0; turn < kTurns; ++turn) {
    EXPECT_EQ(begins[turn].sequence_number, static_cast<std::int64_t>(turn));
    EXPECT_EQ(begins[turn].scope, 2U);
    EXPECT_EQ(begins[turn].forward_thread, turn + 1);
    EXPECT_EQ(ends[turn].begin, begins[turn].sequence);
    EXPECT_EQ(allocations[turn].stream, turn);
    EXPECT_EQ(steps[turn].number, turn);
  }
}

// PyTorch hands over names of backward operators in memory that the next name uses again. The
// second name is longer than the 119 characters that a thread remembers.
TEST_F(DeferringTest, NamesAreToldApartByTheirTextWhereverItIs) {
  const std::string evaluate = "autograd::engine::evaluate_function: ";
  const std::vector<std::string> expected = {evaluate + "ViewBackward0",
                                             evaluate + std::string(100, 'x') + "1",
                                             evaluate + std::string(100, 'x') + "2", "aten::add"};
  std::string place(200, ' ');
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::string& name : expected) {
      place.assign(name);
      recorder_.OperatorEnd(recorder_.OperatorBegin(place.c_str(), -1, 0, 0));
    }
  }
  recorder_.Finish();

  const auto begins = RecordsOf<stream::OperatorBegin>(path_);
  ASSERT_EQ(begins.size(), 3 * expected.size());
  for (std::size_t number = 0; number < begins.size(); ++number) {
    EXPECT_EQ(TextIn(path_, begins[number].name), expected[number % expected.size()]);
  }
}

TEST_F(DeferringTest, NothingIsLostWhenNobodyWritesOutForLong) {
  constexpr std::uint64_t kMany = 1'000'000;  // more than a thread may put aside: 5 words each
  for (std::uint64_t number = 0; number < kMany; ++number) {
    recorder_.Step(number);
  }
  recorder_.Finish();

  EXPECT_EQ(RecordsOf<stream::Step>(path_).size(), kMany);
}

TEST(ThreadNumberTest, AThreadIsFoundByItsHandleOnceItAskedForItsNumber) {
  const std::uint64_t number = ThreadNumber();
  EXPECT_EQ(ThreadNumberOf(static_cast<std::uint32_t>(::pthread_self())), number);
  EXPECT_EQ(ThreadNumberOf(77), 77U);
}

}  // namespace
}  // namespace orrery::capture
