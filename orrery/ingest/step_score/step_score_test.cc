#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::step_score {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kConfig = "G0: 8\nT0: 1.5\nw: 0.25\n";

bool MatchesText(const std::string& name, std::string_view text) {
  return kFormat.matches(*InputFile::FromMemory(name, text));
}

Result<FileContent> ReadText(const std::string& name, std::string_view text) {
  return kFormat.Read(*InputFile::FromMemory(name, text), {});
}

TEST(StepScoreTest, TheSettingsAreOneRow) {
  ASSERT_TRUE(MatchesText("any.yaml", kConfig));

  const MeasurementTable table = ReadText("any.yaml", kConfig).value().tables.at(0);

  ASSERT_EQ(table.rows.num_rows(), 1U);
  EXPECT_EQ(table.rows.Number(0, "g0"), 8);
  EXPECT_EQ(table.rows.Number(0, "t0_s"), 1.5);
  EXPECT_EQ(table.rows.Number(0, "w"), 0.25);
  EXPECT_TRUE(table.problems.all().empty());
}

TEST(StepScoreTest, TheSettingsMayStandUnderAName) {
  const std::string_view text = "gpu_step_score:\n  G0: 8\n  T0: 1.5\n  w: 1\n";
  ASSERT_TRUE(MatchesText("any.yaml", text));

  EXPECT_EQ(ReadText("any.yaml", text).value().tables.at(0).rows.Number(0, "t0_s"), 1.5);
}

TEST(StepScoreTest, TheSettingsAreNoWorkloadCardAndACardHasNone) {
  const auto config = InputFile::FromMemory("gpu_step_score_config.yaml", kConfig);
  EXPECT_FALSE(card::kFormat.matches(*config));

  EXPECT_FALSE(MatchesText("card.yaml", "workload:\n  G0: 8\n  T0: 1\n"));
  EXPECT_FALSE(MatchesText("other.yaml", "G0: 8\nw: 1\n"));
}

TEST(StepScoreTest, ASettingThatIsNoNumberIsALoss) {
  const MeasurementTable table = ReadText("any.yaml", "G0: 8\nT0: soon\n").value().tables.at(0);

  EXPECT_EQ(table.rows.Number(0, "g0"), 8);
  EXPECT_EQ(table.rows.Number(0, "t0_s"), std::nullopt);
  EXPECT_EQ(table.rows.Number(0, "w"), std::nullopt);
  ASSERT_EQ(table.problems.all().size(), 1U);
  EXPECT_EQ(table.problems.all()[0].count, 2);
}

TEST(StepScoreTest, SettingsWithoutAnyNumberAreRefused) {
  const auto content = ReadText("s.yaml", "G0: a\nT0: b\n");
  ASSERT_FALSE(content.has_value());
  EXPECT_THAT(content.error().message(), HasSubstr("s.yaml: none of G0"));

  const auto broken = ReadText("s.yaml", "G0: 1\nT0: [\n");
  ASSERT_FALSE(broken.has_value());
  EXPECT_THAT(broken.error().message(), HasSubstr("s.yaml: line "));
}

TEST(StepScoreTest, ACountIsToldByItsNameAndContent) {
  ASSERT_TRUE(MatchesText("run/gpu_count.txt", " 64\n"));
  EXPECT_EQ(ReadText("run/gpu_count.txt", " 64\n").value().tables.at(0).rows.Integer(0, "gpus"),
            64);

  EXPECT_FALSE(MatchesText("run/seed.txt", "64\n"));
  EXPECT_FALSE(MatchesText("gpu_count/notes.txt", "64\n"));
  for (const std::string_view text : {"", "many", "0", "-8", "64 GPUs", "99999999999999999999"}) {
    EXPECT_FALSE(MatchesText("gpu_count.txt", text)) << text;
  }
}

}  // namespace
}  // namespace orrery::ingest::step_score
