#include "capture/cupti/session.h"

#include <string>

#include <gtest/gtest.h>

#include "capture/cupti/tests/mock_source_test.h"
#include "capture/recorder/tests/recording_test.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

class CoarseSessionTest : public ::testing::Test {
 protected:
  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  FakeClock clock_;
  MockSource source_;
  Recorder recorder_{RecorderSettings{.path = path_, .ordering = Ordering::kByTime}, clock_};
};

TEST_F(CoarseSessionTest, WhatTheSourceTellsIsInTheStreamAtTheEnd) {
  constexpr std::uint64_t kNumKernels = 50;
  CoarseSession session(recorder_, source_, {});
  ASSERT_EQ(session.Start(), "");
  for (std::uint64_t kernel = 1; kernel <= kNumKernels; ++kernel) {
    source_.Tell([kernel](ActivityReceiver& receiver) {
      receiver.Take(stream::ApiCall{.time_ns = static_cast<std::int64_t>(kernel) * 100,
                                    .correlation = kernel},
                    "cudaLaunchKernel");
      receiver.Take(stream::Launch{.correlation = kernel}, "kernel");
    });
  }
  recorder_.Flush();
  session.Finish();
  recorder_.Finish();

  EXPECT_EQ(RecordsOf<stream::Launch>(path_).size(), kNumKernels);
  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped), 0U);
  EXPECT_EQ(RecordsOf<stream::ClockPair>(path_).at(0).device_ns, 42);
}

TEST_F(CoarseSessionTest, PartsAreSwitchedAndTheStreamSaysSo) {
  CoarseSession session(recorder_, source_, {});
  ASSERT_EQ(session.Start(), "");
  recorder_.Collect(2);
  EXPECT_FALSE(source_.has_work);
  EXPECT_TRUE(source_.has_calls);
  recorder_.Collect(1 | 4);
  EXPECT_TRUE(source_.has_work);
  EXPECT_FALSE(source_.has_calls);
  session.Finish();
  recorder_.Finish();

  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage, "the program switched parts of its recording"),
            2U);
}

TEST_F(CoarseSessionTest, WhatTheSourceDroppedIsALoss) {
  source_.num_dropped = 3;
  CoarseSession session(recorder_, source_, {});
  ASSERT_EQ(session.Start(), "");
  source_.Tell([](ActivityReceiver&) {});
  source_.Tell([](ActivityReceiver&) {});
  session.Finish();
  recorder_.Finish();

  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped, "CUPTI"), 6U);
}

TEST_F(CoarseSessionTest, ABufferThatCannotBeReadIsALoss) {
  source_.is_readable = false;
  CoarseSession session(recorder_, source_, {});
  ASSERT_EQ(session.Start(), "");
  source_.Tell([](ActivityReceiver&) {});
  session.Finish();
  recorder_.Finish();

  EXPECT_EQ(CountIn(path_, codes::kRecordsDropped, "CUPTI: unreadable buffer"), 1U);
}

// Another profiler is attached: regions and allocations are recorded all the same, and the stream
// says what is missing.
TEST_F(CoarseSessionTest, WithoutCuptiTheRestIsRecorded) {
  source_.why_not = "another profiler or debugger is attached";
  CoarseSession session(recorder_, source_, {});

  EXPECT_EQ(session.Start(), "another profiler or debugger is attached");
  recorder_.Step(1);
  session.Finish();
  recorder_.Finish();

  EXPECT_EQ(RecordsOf<stream::Step>(path_).size(), 1U);
  EXPECT_EQ(CountIn(path_, codes::kContextsNotCovered,
                    "CUPTI did not start: another profiler or debugger is attached"),
            1U);
}

TEST(BufferQueueTest, ASourceThatHasAllBuffersGetsNoMoreAndNobodyWaits) {
  BufferQueue queue(64, 2);
  std::size_t bytes = 0;
  std::uint8_t* const first = queue.Request(bytes);
  EXPECT_EQ(bytes, 64U);
  EXPECT_NE(queue.Request(bytes), nullptr);
  EXPECT_EQ(queue.Request(bytes), nullptr);
  EXPECT_EQ(bytes, 0U);

  queue.Complete(first, 8, 5);
  const auto full = queue.Next(std::chrono::milliseconds(0));
  ASSERT_TRUE(full);
  EXPECT_EQ(full->buffer, first);
  EXPECT_EQ(full->valid_bytes, 8U);
  EXPECT_EQ(queue.Request(bytes), nullptr);
  first[0] = 1;
  queue.Return(*full);
  EXPECT_EQ(queue.Request(bytes), first);
  EXPECT_EQ(first[0], 0U) << "what CUPTI gets is zeros";
  EXPECT_EQ(queue.num_dropped(), 5U);
}

// Two buffers at most: the third request would need another.
TEST(BufferQueueTest, BuffersThatAreReadyAreTheOnesHandedOut) {
  BufferQueue queue(64, 2);
  queue.MakeReady(16);
  std::size_t bytes = 0;
  EXPECT_NE(queue.Request(bytes), nullptr);
  EXPECT_NE(queue.Request(bytes), nullptr);
  EXPECT_EQ(queue.Request(bytes), nullptr);
}

TEST(WantedCallsTest, CallsThatBeginWorkOrChangeMemoryAreWanted) {
  for (const char* const name :
       {"cudaLaunchKernel_v7000", "cuLaunchKernelEx", "cudaMemcpyAsync_v3020",
        "cudaGraphLaunch_v10000", "cudaMalloc_v3020", "cuMemFree_v2"}) {
    EXPECT_TRUE(IsWantedCall(name)) << name;
  }
  for (const char* const name : {"", "cudaGetDevice_v3020", "cudaEventRecord_v3020",
                                 "cuCtxGetCurrent", "cudaStreamIsCapturing_v10000"}) {
    EXPECT_FALSE(IsWantedCall(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::capture
