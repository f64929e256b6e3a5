#include <string>
#include <thread>

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

TEST_F(DeferringTest, NothingIsLostWhenNobodyWritesOutForLong) {
  constexpr std::uint64_t kMany = 300'000;  // more than a thread may put aside
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
