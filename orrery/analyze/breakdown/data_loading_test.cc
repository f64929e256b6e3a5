#include "orrery/analyze/breakdown/data_loading.h"

#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

constexpr std::string_view kNext = "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__";

std::vector<DataLoading> LoadingOf(Rank& rank, const AnalyzeOptions& options = {}) {
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return DataLoadingOf(ViewRun(set, {}, options));
}

// Three steps of 100 µs. The loader takes 60 of the first, 1 of the second and 80 of the third,
// whose first 20 are behind a kernel that still runs: of 141 µs the device is idle for 121.
TEST(DataLoadingTest, AllRecordedStepsCount) {
  Rank rank(0);
  rank.Step(1, {0, 100});
  rank.Step(2, {100, 200});
  rank.Step(3, {200, 300});
  rank.Annotation(kNext, {10, 70});
  rank.Annotation(kNext, {100, 101});
  rank.Annotation(kNext, {200, 280});
  rank.Kernel("a", {70, 100});
  rank.Kernel("b", {180, 220});
  rank.Kernel("c", {280, 300});

  const std::vector<DataLoading> loading = LoadingOf(rank);

  ASSERT_EQ(loading.size(), 1U);
  EXPECT_EQ(loading[0].num_steps, 3);
  EXPECT_EQ(loading[0].total_ns, 300'000);
  EXPECT_EQ(loading[0].loading_ns, 141'000);
  EXPECT_EQ(loading[0].idle_ns, 121'000);
}

// From the loader's begin to the kernel's end.
TEST(DataLoadingTest, WithoutStepsTheRecordingIsOne) {
  Rank rank(0);
  rank.Annotation(kNext, {0, 30});
  rank.Kernel("a", {40, 100});

  const std::vector<DataLoading> loading = LoadingOf(rank);

  ASSERT_EQ(loading.size(), 1U);
  EXPECT_EQ(loading[0].num_steps, 0);
  EXPECT_EQ(loading[0].total_ns, 100'000);
  EXPECT_EQ(loading[0].idle_ns, 30'000);
}

TEST(DataLoadingTest, ARankWithoutALoaderIsLeftOut) {
  Rank rank(0);
  rank.Step(4, {0, 100});
  rank.Annotation("forward", {0, 50});
  rank.Kernel("a", {70, 100});
  EXPECT_TRUE(LoadingOf(rank).empty());
}

}  // namespace
}  // namespace orrery::analyze
