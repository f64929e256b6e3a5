#include "capture/cupti/activity_writer.h"

#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "capture/recorder/tests/recording_test.h"
#include "orrery/stream/codes.h"

namespace orrery::capture {
namespace {

namespace codes = stream::codes;

class ActivityWriterTest : public ::testing::Test {
 protected:
  ActivityWriterTest() {
    clock_.time_ns = 0;
    recorder_.emplace(RecorderSettings{.path = path_, .ordering = Ordering::kByTime}, clock_);
    writer_.emplace(*recorder_, false);
  }

  void Finish() {
    writer_->Finish();
    recorder_->Finish();
  }

  void TakeKernel(std::uint64_t correlation, std::int64_t begin_ns, std::uint64_t graph_node = 0) {
    writer_->Take(stream::Launch{.time_ns = begin_ns,
                                 .stream = 3,
                                 .correlation = correlation,
                                 .grid_x = 4,
                                 .block_x = 128,
                                 .duration_ns = 7,
                                 .graph_node = graph_node},
                  "kernel");
  }

  void TakeCall(std::uint64_t correlation) {
    writer_->Take(stream::ApiCall{.time_ns = 200, .thread = 77, .correlation = correlation}, "");
  }

  TestFolder folder_;
  std::string path_ = folder_.File("run.orrs");
  FakeClock clock_;
  std::optional<Recorder> recorder_;
  std::optional<ActivityWriter> writer_;
};

// The host allocates at 100, launches at 200 and frees at 300; the kernel runs at 900 and is told
// of last.
TEST_F(ActivityWriterTest, ALaunchStandsWhereTheHostPutIt) {
  clock_.time_ns = 100;
  recorder_->Allocated({.address = 64, .bytes = 8, .level = codes::kTensor});
  clock_.time_ns = 300;
  recorder_->Freed({.address = 64, .level = codes::kTensor});
  TakeKernel(5, 900);
  TakeCall(5);
  writer_->EndBatch();
  Finish();

  const auto launches = RecordsOf<stream::Launch>(path_);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_GT(launches[0].sequence, RecordsOf<stream::Allocation>(path_).at(0).sequence);
  EXPECT_LT(launches[0].sequence, RecordsOf<stream::Free>(path_).at(0).sequence);
  EXPECT_EQ(launches[0].thread, 77U);
  EXPECT_EQ(launches[0].time_ns, 900);
  EXPECT_EQ(launches[0].duration_ns, 7);
  EXPECT_EQ(launches[0].coverage, codes::kUnseen);
  EXPECT_EQ(TextIn(path_, launches[0].reason), "coarse capture");
}

// The kernel's buffer arrives before that of its call.
TEST_F(ActivityWriterTest, WorkWaitsForItsCall) {
  TakeKernel(5, 900);
  writer_->EndBatch();
  TakeCall(5);
  writer_->EndBatch();
  Finish();

  const auto launches = RecordsOf<stream::Launch>(path_);
  ASSERT_EQ(launches.size(), 1U);
  EXPECT_EQ(launches[0].thread, 77U);
  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage), 0U);
}

TEST_F(ActivityWriterTest, WorkWithoutACallIsWrittenAtTheEndAndCounted) {
  TakeKernel(5, 900);
  writer_->EndBatch();
  Finish();

  EXPECT_EQ(RecordsOf<stream::Launch>(path_).at(0).thread, 0U);
  EXPECT_EQ(CountIn(path_, codes::kOtherCoverage,
                    "work whose call was not told of: numbered by when it ran"),
            1U);
}

// One call launches a graph of two kernels, which arrive in two buffers.
TEST_F(ActivityWriterTest, NodesOfAGraphHaveNumbersOfTheirOwnInTheOrderTheyRan) {
  TakeCall(5);
  TakeKernel(5, 900, 11);
  writer_->EndBatch();
  TakeKernel(5, 950, 12);
  writer_->EndBatch();
  Finish();

  const auto launches = RecordsOf<stream::Launch>(path_);
  ASSERT_EQ(launches.size(), 2U);
  EXPECT_EQ(launches[0].graph_node, 11U);
  EXPECT_EQ(launches[1].graph_node, 12U);
  EXPECT_LT(launches[0].sequence, launches[1].sequence);
}

// PASTA defect 1: source and destination swapped. CUPTI tells a direction, and it stays.
TEST_F(ActivityWriterTest, ACopyKeepsItsDirection) {
  writer_->Take(
      stream::Copy{.width_bytes = 5ULL << 30, .kind = codes::kHostToDevice, .correlation = 1});
  writer_->Take(stream::Set{.width_bytes = 6ULL << 30, .correlation = 2, .value = 9});
  Finish();

  const auto copies = RecordsOf<stream::Copy>(path_);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].kind, codes::kHostToDevice);
  EXPECT_EQ(copies[0].width_bytes, 5ULL << 30);
  EXPECT_EQ(RecordsOf<stream::Set>(path_).at(0).width_bytes, 6ULL << 30);
}

// Two buffers of different threads: the free of the first memory is told of before the allocation.
TEST_F(ActivityWriterTest, MemoryIsWrittenInTheOrderOfTime) {
  writer_->Take(MemoryActivity{.correlation = 2, .time_ns = 50, .address = 64, .is_free = true});
  writer_->Take(MemoryActivity{
      .correlation = 1, .time_ns = 10, .address = 64, .bytes = 8, .flags = codes::kManagedFlag});
  writer_->EndBatch();
  Finish();

  const auto allocations = RecordsOf<stream::Allocation>(path_);
  const auto frees = RecordsOf<stream::Free>(path_);
  ASSERT_EQ(allocations.size(), 1U);
  ASSERT_EQ(frees.size(), 1U);
  EXPECT_EQ(frees[0].object, allocations[0].object);
  EXPECT_EQ(allocations[0].flags, codes::kManagedFlag);
}

TEST_F(ActivityWriterTest, CallsAreWrittenOnlyWhenTheyAreWanted) {
  ActivityWriter with_calls(*recorder_, true);
  const stream::ApiCall call{.time_ns = 200, .thread = 7, .correlation = 5, .duration_ns = 30};
  writer_->Take(call, "cudaLaunchKernel");
  with_calls.Take(call, "cudaLaunchKernel");
  Finish();

  const auto calls = RecordsOf<stream::ApiCall>(path_);
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_EQ(calls[0].duration_ns, 30);
  EXPECT_EQ(TextIn(path_, calls[0].name), "cudaLaunchKernel");
}

}  // namespace
}  // namespace orrery::capture
