#include "orrery/simulate/recorded_ranks.h"

#include <cstdint>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::simulate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct RankTimes {
  std::int64_t kernel_us = 0;
  std::int64_t all_reduce_us = 0;  // as recorded, with its wait
  int num_steps = 1;
};

constexpr std::int64_t kStepUs = 4'000;

/// Steps of one kernel and an all-reduce of two ranks behind it, on one stream.
trace::Trace RankOf(std::int32_t number, const RankTimes& times) {
  workload::RecordingWriter writer;
  trace::Trace& trace = writer.trace;
  trace.info.rank = number;
  const RowId group = trace.process_groups.Append(
      {.name = trace.strings.Intern("0"), .num_ranks = 2, .ranks = trace.strings.Intern("[4, 5]")});
  for (int step = 0; step < times.num_steps; ++step) {
    const std::int64_t begin = step * kStepUs;
    writer.Annotation("ProfilerStep#" + std::to_string(step), begin, begin + kStepUs - 10);
    writer.Operator("aten::mm", begin + 5, begin + 15);
    writer.Launch(begin + 10, begin + 12, times.kernel_us * 1000, begin + 20);
    writer.Operator("c10d::allreduce_", begin + 15, begin + 28);
    const std::int64_t arrival = begin + 20 + times.kernel_us;
    writer.Launch(begin + 20, begin + 22, times.all_reduce_us * 1000, arrival);
    trace.collectives.Append({.begin_ns = arrival * 1000,
                              .duration_ns = times.all_reduce_us * 1000,
                              .kind = CollectiveKind::kAllReduce,
                              .group = group,
                              .in_bytes = 4096,
                              .out_bytes = 4096,
                              .sequence = step,
                              .num_kernels = 1});
  }
  trace::Trace finished = writer.Finish();
  for (RowId row = 1; row < finished.activities.size(); row += 2) {
    finished.activities.collective[row] = row / 2;
  }
  return finished;
}

Result<PredictedRanks> Predict(const trace::TraceSet& set) {
  return PredictRecordings(set, trace::MatchCollectives(set), workload::HostChoice{}, 2);
}

TEST(PredictRecordingsTest, RanksWaitForTheLastAndThenTransferAsRecorded) {
  // Rank 5 comes 400 us later; the transfer took 50 us once it was there.
  trace::TraceSet set;
  set.ranks.push_back(RankOf(4, {.kernel_us = 1'000, .all_reduce_us = 450}));
  set.ranks.push_back(RankOf(5, {.kernel_us = 1'400, .all_reduce_us = 50}));
  const auto predicted = Predict(set);
  ASSERT_TRUE(predicted) << predicted.error().message();
  EXPECT_THAT(predicted->remarks, IsEmpty());
  ASSERT_THAT(predicted->set.ranks, SizeIs(2));
  EXPECT_EQ(predicted->set.ranks[0].info.rank, 4);
  // Hosts are alike and far ahead: in every repetition the difference of the kernels is what rank 4
  // waits for, and both are done together.
  EXPECT_THAT(predicted->set.ranks[0].collectives.duration_ns, ElementsAre(450'000, 450'000));
  EXPECT_THAT(predicted->set.ranks[1].collectives.duration_ns, ElementsAre(50'000, 50'000));
}

TEST(PredictRecordingsTest, ACollectiveWithoutItsPeerLastsAsRecorded) {
  trace::TraceSet set;
  set.ranks.push_back(RankOf(4, {.kernel_us = 1'000, .all_reduce_us = 450}));
  const auto predicted = Predict(set);
  ASSERT_TRUE(predicted) << predicted.error().message();
  EXPECT_THAT(predicted->remarks, SizeIs(1));
  EXPECT_THAT(predicted->set.ranks[0].collectives.duration_ns, IsEmpty());
}

TEST(PredictRecordingsTest, RanksMustHaveTheSameSteps) {
  trace::TraceSet set;
  set.ranks.push_back(RankOf(4, {.kernel_us = 1'000, .all_reduce_us = 450}));
  set.ranks.push_back(RankOf(5, {.kernel_us = 1'400, .all_reduce_us = 50, .num_steps = 2}));
  const auto predicted = Predict(set);
  ASSERT_FALSE(predicted);
  EXPECT_EQ(predicted.error().message(),
            "rank 5 has 2 steps, and rank 4 has 1: there is no step to predict");
}

}  // namespace
}  // namespace orrery::simulate
