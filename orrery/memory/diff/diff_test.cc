#include "orrery/memory/diff/diff.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/recording_test.h"
#include "orrery/memory/timeline/history.h"
#include "orrery/memory/timeline/timeline.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory::diff {
namespace {

using testing::ElementsAre;
using timeline::HistoryOf;
using timeline::MemoryHistory;
using timeline::Timeline;
using timeline::TimelinesOf;

/// A recording whose objects, each from a frame of its own name, all live to the end.
trace::Trace Holding(const std::vector<std::pair<std::string, std::int64_t>>& objects) {
  TestRecording recording;
  for (const auto& [frame, bytes] : objects) {
    const RowId object = recording.Born(0x1000, bytes);
    recording.trace.memory_objects.call_stack[object] = recording.trace.strings.Intern(frame);
  }
  return std::move(recording.trace);
}

// model.py:3 has 100 and 40 before and 100 and 60 after; loss.py:9 is new; old.py:1 is gone.
// Peaks: 100 + 40 + 7 = 147 and 100 + 60 + 30 = 190. 43 = 30 + 20 - 7.
TEST(SiteDiffTest, DifferencesOfSitesAddUpToThatOfThePeaks) {
  const trace::Trace before = Holding({{"model.py:3", 100}, {"model.py:3", 40}, {"old.py:1", 7}});
  const trace::Trace after = Holding({{"model.py:3", 60}, {"model.py:3", 100}, {"loss.py:9", 30}});
  const MemoryHistory history_before = HistoryOf(before);
  const MemoryHistory history_after = HistoryOf(after);
  const Timeline timeline_before = TimelinesOf(before, history_before).at(0);
  const Timeline timeline_after = TimelinesOf(after, history_after).at(0);

  const auto changes =
      ComparePeaks({&history_before, &timeline_before}, {&history_after, &timeline_after});

  EXPECT_THAT(changes, ElementsAre(SiteChange{"loss.py:9", 0, 30, 0, 0, 1},
                                   SiteChange{"model.py:3", 140, 160, 1, 1, 1},
                                   SiteChange{"old.py:1", 7, 0, 0, 1, 0}));
  std::int64_t sum = 0;
  for (const SiteChange& change : changes) {
    sum += change.Difference();
  }
  EXPECT_EQ(sum, timeline_after.peak.bytes - timeline_before.peak.bytes);
}

// By-argument launches are counted as launches, and their bytes are not known.
TEST(KernelDiffTest, TrafficIsThatOfLaunchesThatWereCounted) {
  TestRecording before;
  const RowId object = before.Born(0x1000, 64);
  before.Touched(before.Launched("add"), object, 32, 16);
  before.Reached(before.Launched("add", trace::Coverage::kByArgument), object);
  TestRecording after;
  after.Born(0x1000, 64);
  after.Touched(after.Launched("add"), object, 64, 16);
  after.Launched("relu");

  const auto changes = CompareKernels(before.trace, after.trace);

  ASSERT_EQ(changes.size(), 2U);
  EXPECT_EQ(changes[0].name, "add");
  EXPECT_EQ(changes[0].before, (KernelTraffic{2, 1, 20, 32, 16}));
  EXPECT_EQ(changes[0].after, (KernelTraffic{1, 1, 10, 64, 16}));
  EXPECT_EQ(changes[0].TrafficDifference(), 32);
  EXPECT_EQ(changes[1].after.num_launches, 1);
}

}  // namespace
}  // namespace orrery::memory::diff
