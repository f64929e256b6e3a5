#include "orrery/calibrate/recorded_steps.h"

#include <filesystem>
#include <string>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_sink.h"

namespace orrery::calibrate {
namespace {

constexpr const char* kHeader = "system,benchmark,run,step,seconds,steps_in_window,gpu,gpus\n";

// A run of 24 records; the one at step i takes 1 + i/100 s.
std::string RunOf(const std::string& run, int window) {
  std::string rows;
  for (int step = 0; step < 24; ++step) {
    rows += fmt::format("A/one,small,{},{},{},{},H200,16\n", run, step, 1 + step / 100.0, window);
  }
  return rows;
}

Result<RecordedStepTable> Read(const std::string& text) {
  // Of this test alone: others run at the same time.
  const std::string name = testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string path = (std::filesystem::path(testing::TempDir()) / (name + ".csv")).string();
  EXPECT_TRUE(WriteFile(path, text).has_value());
  return ReadRecordedSteps(path);
}

// Of 24 records ⌈24 · 5 %⌉ = 2 are warm-up and the last is the end.
TEST(RecordedStepsTest, BeginningAndEndOfARunAreLeftOutAndCounted) {
  const RecordedStepTable table = Read(kHeader + RunOf("01", 4)).value();

  ASSERT_EQ(table.groups.size(), 1U);
  const RecordedSteps& steps = table.groups.front();
  EXPECT_EQ(steps.submitter(), "A");
  EXPECT_EQ(steps.gpu, "H200");
  EXPECT_EQ(steps.gpus, 16);
  EXPECT_EQ(steps.window_steps, 4);
  ASSERT_EQ(steps.num_records(), 21U);
  EXPECT_DOUBLE_EQ(steps.runs[0].front(), 1.02);
  EXPECT_DOUBLE_EQ(steps.runs[0].back(), 1.22);
  EXPECT_DOUBLE_EQ(steps.MedianStep(), 1.12);
  EXPECT_EQ(table.records, 24U);
  EXPECT_EQ(table.in_warm_up, 2U);
  EXPECT_EQ(table.at_the_end, 1U);
}

TEST(RecordedStepsTest, WindowsAreNotMixed) {
  const RecordedStepTable table = Read(kHeader + RunOf("1", 4) + RunOf("2", 8)).value();

  ASSERT_EQ(table.groups.size(), 2U);
  EXPECT_EQ(table.groups[0].window_steps, 4);
  EXPECT_EQ(table.groups[1].window_steps, 8);
}

// Blocks of two: means 2, 4, 6, 8 with median 5.
TEST(RecordedStepsTest, BlocksAreMeansRelativeToTheirMedian) {
  const RecordedSteps steps{.system = "A/one", .runs = {{1, 3, 3, 5, 5, 7, 7, 9, 100}}};

  EXPECT_EQ(steps.Relative(2), (std::vector<double>{0.4, 0.8, 1.2, 1.6}));
  EXPECT_TRUE(steps.Relative(4).empty());  // two blocks have no distribution
}

TEST(RecordedStepsTest, ASystemOfTheShippedListNeedsNoGpuColumns) {
  std::string text = "system,benchmark,run,step,seconds,steps_in_window\n";
  for (int step = 0; step < 24; ++step) {
    text += fmt::format("Nebius/nebius_h200_n64,llama31_405b,1,{},50,1\n", step);
  }
  const RecordedStepTable table = Read(text).value();

  EXPECT_EQ(table.groups[0].gpu, "H200");
  EXPECT_EQ(table.groups[0].gpus, 512);
}

TEST(RecordedStepsTest, BadRowsAreNamed) {
  const auto message = [](const std::string& text) { return Read(text).error().message(); };

  EXPECT_NE(message("system,step\nA/one,1\n").find("no column benchmark"), std::string::npos);
  EXPECT_NE(message(std::string(kHeader) + "A/one,small,1,1,-2,4,H200,8\n")
                .find("row 1: seconds is not a time above zero"),
            std::string::npos);
  EXPECT_NE(message(std::string(kHeader) + "A/one,small,1,1,2,0,H200,8\n")
                .find("steps_in_window is not a number of steps"),
            std::string::npos);
  EXPECT_NE(message(std::string(kHeader) + "A/one,small,1,1,2,1,,\n").find("add the columns gpu"),
            std::string::npos);
  EXPECT_NE(message(std::string(kHeader) + "A/one,small,1,1,2,1,H200,8\n").find("20 records"),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::calibrate
