#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/string_table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/ingest/run.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "test_paths.h"

namespace orrery::ingest::torch_memory_timeline {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<FileContent> ReadResult(std::string_view text) {
  const auto file = InputFile::FromMemory("memory.json", text);
  EXPECT_TRUE(kFormat.matches(*file));
  return kFormat.Read(*file, {});
}

trace::Trace ReadText(std::string_view text) {
  auto content = ReadResult(text);
  EXPECT_TRUE(content) << content.error().message();
  return content ? std::move(content->traces.at(0)) : trace::Trace();
}

std::vector<std::string> Names(const trace::Trace& trace) {
  std::vector<std::string> names;
  for (const StringId name : trace.memory_events.name) {
    names.emplace_back(trace.Text(name));
  }
  return names;
}

// A parameter from before; a temporary that becomes a gradient (out of one category, into the
// other) and is freed.
TEST(TorchMemoryTimelineTest, RawEntriesAreEvents) {
  const trace::Trace trace = ReadText(
      "[[-1, 1, 4096, 0], [1696966048083248105, 2, 512, 3],"
      " [1696966048083248200, 3, -512, 3], [1696966048083248200, 3, 512, 5],"
      " [1696966048083248300, 4, -512, 5]]");

  EXPECT_THAT(Names(trace),
              ElementsAre("parameter", "temporary", "temporary", "gradient", "gradient"));
  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(4096, 512, -512, 512, -512));
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(4096, 4608, 4096, 4608, 4096));
  EXPECT_EQ(trace.memory_events.begin_ns[0], 1696966048083248105);
  EXPECT_EQ(trace.memory_events.begin_ns[4], 1696966048083248300);
  EXPECT_EQ(trace.info.time_origin, trace::TimeOrigin::kEpoch);
}

// Microseconds; the first number of a row is a 0 for stacked charts.
TEST(TorchMemoryTimelineTest, SumsBecomeDifferences) {
  const trace::Trace trace = ReadText(
      "[[1696966048083248, 1696966048083250],"
      " [[0, 100, 0, 0, 7, 0, 0, 0, 0], [0, 100, 0, 0, 0, 0, 9, 0, 0]]]");

  EXPECT_THAT(Names(trace), ElementsAre("parameter", "temporary", "temporary", "gradient"));
  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(100, 7, -7, 9));
  EXPECT_THAT(trace.memory_events.total_allocated_bytes, ElementsAre(100, 107, 100, 109));
  EXPECT_EQ(trace.memory_events.begin_ns[3], 1696966048083250000);
}

TEST(TorchMemoryTimelineTest, DamageIsCounted) {
  const trace::Trace cut = ReadText("[[5, 2, 512, 3], [6, 2, 64, 12], [7, 2, \"x\", 3], [8, 2");

  EXPECT_THAT(cut.memory_events.bytes, ElementsAre(512));
  ASSERT_EQ(cut.problems.all().size(), 2U);
  EXPECT_EQ(cut.problems.all()[0].count, 2);
  EXPECT_THAT(cut.problems.all()[1].what, HasSubstr("ends early"));
}

// 17 digits are microseconds of after the year 2500: as nanoseconds they exceed 64 bits.
TEST(TorchMemoryTimelineTest, TimesBeyondTheRangeAreCounted) {
  const trace::Trace trace = ReadText("[[5, 2, 512, 3], [16969660479058040, 2, 64, 3]]");

  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(512));
  ASSERT_EQ(trace.problems.all().size(), 1U);
  EXPECT_EQ(trace.problems.all()[0].what, "invalid entry");
}

TEST(TorchMemoryTimelineTest, RowsOfOtherLengthsAreCounted) {
  const trace::Trace trace =
      ReadText("[[1, 2, 3], [[0, 1, 0, 0, 0, 0, 0, 0, 0], [1, 2], [0, 0, 0, 0, 0, 0, 0, 5]]]");

  EXPECT_THAT(trace.memory_events.bytes, ElementsAre(1, -1, 5));
  EXPECT_TRUE(trace.problems.has_loss());
}

TEST(TorchMemoryTimelineTest, NothingUsableIsAnError) {
  const auto content = ReadResult("[[1], [[]]]");

  ASSERT_FALSE(content);
  EXPECT_THAT(content.error().message(), HasSubstr("memory.json: a memory timeline without"));
}

TEST(TorchMemoryTimelineTest, OtherFilesAreLeftAlone) {
  for (const std::string_view text :
       {"[{\"ph\":\"X\"}]", "[[\"a\"]]", "[[1,2]]", "[1,2]", "[", ""}) {
    EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("a", text))) << text;
  }
}

// 16,845 entries, of which 645 are from before the recording.
TEST(TorchMemoryTimelineSamplesTest, TheRealRecordingIsRead) {
  const std::string path = ORRERY_SHARED "/traces/hta/memory_analysis/memory_timeline.raw.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << path << " is not there";
  }
  const auto run = ReadRun({path});

  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->set.ranks.at(0).memory_events.size(), 16845U);
  EXPECT_FALSE(run->is_partial());
}

}  // namespace
}  // namespace orrery::ingest::torch_memory_timeline
