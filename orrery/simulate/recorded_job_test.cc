#include "orrery/simulate/recorded_job.h"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/ingest/run.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/model_set.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/network/group_times.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "test_paths.h"

namespace orrery::simulate {
namespace {

/// The DLRM step that eight V100s recorded: execution traces, and profiles of the same job.
class RecordedDlrmTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string folder = ORRERY_SHARED "/traces/param/dlrm-8gpu";
    if (!std::filesystem::exists(folder)) {
      GTEST_SKIP() << "the DLRM recordings are not here: " << folder;
    }
    run_ = ingest::ReadRun({folder}).value();
    job_.gpus = 8;
    job_.cluster = *hardware::FindCluster("DGX-1 V100");
    times_ = ClusterTimes::Of(job_).value();
    sources_ = {.times = times_.get(), .links = &links_};
  }

  RecordedJob Predict() { return PredictRecordedJob(run_.set, sources_).value(); }

  RecordedJob PredictByModels(const workload::HostModel* host) {
    const hardware::Gpu* const gpu = hardware::FindGpu("V100");
    const kernel::ModelSet models = kernel::ShippedModels().value();
    const kernel::MemoizedCostModel costs(models, *gpu);
    RecordedJobSources sources = sources_;
    sources.gpu = gpu;
    sources.costs = &costs;
    sources.host = host;
    return PredictRecordedJob(run_.set, sources).value();
  }

  ingest::Run run_;
  workload::Job job_;
  std::unique_ptr<ClusterTimes> times_;
  IslandLinkClass links_{8};
  RecordedJobSources sources_;
};

double ErrorOf(const RankStep& step) {
  return static_cast<double>(step.step_ps) / static_cast<double>(step.measured_ps) - 1;
}

// Kernels from models, collectives from the closed form; the host from the other ranks.
TEST_F(RecordedDlrmTest, EveryRankIsPredictedWithinATenth) {
  const RecordedJob job = PredictByModels(nullptr);
  EXPECT_EQ(job.host, HostSource::kOtherRanks);
  EXPECT_GT(job.pricing.calls, 0);
  ASSERT_EQ(job.ranks.size(), 8U);
  for (const RankStep& step : job.ranks) {
    EXPECT_LT(std::abs(ErrorOf(step)), 0.1) << "rank " << step.rank;
  }
}

// The shared costs are those of a host without a profiler; these ranks were recorded with one.
TEST_F(RecordedDlrmTest, WithoutTheProfilerEveryRankIsFaster) {
  const RecordedJob job = PredictByModels(&workload::DefaultHost());
  EXPECT_EQ(job.host, HostSource::kGiven);
  for (const RankStep& step : job.ranks) {
    EXPECT_LT(ErrorOf(step), 0) << "rank " << step.rank;
    EXPECT_GT(ErrorOf(step), -0.35) << "rank " << step.rank;
  }
}

TEST_F(RecordedDlrmTest, RecordedKernelsPredictIt) {
  for (const RankStep& step : Predict().ranks) {
    EXPECT_LT(std::abs(ErrorOf(step)), 0.1) << "rank " << step.rank;
  }
}

// Rank 7 begins the step last, 7.5 ms after rank 1: it does not wait at first, and rank 1 for that
// long.
TEST_F(RecordedDlrmTest, RanksWaitForTheOneThatBeginsLast) {
  const RecordedJob job = Predict();
  EXPECT_EQ(job.ranks[1].begin_ps, 0);
  EXPECT_EQ(job.ranks[7].begin_ps, 7'513'000'000);
  EXPECT_GT(job.ranks[1].waiting_ps, 7'000'000'000);
  EXPECT_LT(job.ranks[7].waiting_ps, 1'000'000'000);
}

}  // namespace
}  // namespace orrery::simulate
