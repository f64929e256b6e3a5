#include "orrery/ingest/nccl_tests/column_layout.h"

#include <optional>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/nccl_tests/run.h"

namespace orrery::ingest::nccl_tests {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kHeader =
    "#  size  count   type  redop  root     time   algbw   busbw #wrong     time   algbw   busbw "
    "#wrong";

std::optional<ColumnLayout::ParsedRow> Parse(std::string_view header, std::string_view line) {
  return ColumnLayout::FromHeader(header)->ParseRow(SplitWords(line));
}

TEST(ColumnLayoutTest, ValuesGoWhereTheirNamesSay) {
  const auto parsed = Parse(kHeader, "1024 256 float sum -1 34.6 0.03 0.06 0 34.4 0.04 0.07 2");

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->num_words, 13U);
  EXPECT_EQ(parsed->row.size_bytes, 1024);
  EXPECT_EQ(parsed->row.count, 256);
  EXPECT_EQ(parsed->row.data_type, "float");
  EXPECT_EQ(parsed->row.redop, "sum");
  EXPECT_EQ(parsed->row.root, -1);
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].time_us, 34.6);
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].busbw, 0.06);
  EXPECT_EQ(parsed->row.timing[kInPlace].algbw, 0.04);
  EXPECT_EQ(parsed->row.timing[kInPlace].wrong, 2.0);
}

TEST(ColumnLayoutTest, TheOrderOfColumnsIsFree) {
  const auto parsed = Parse("# type size count busbw algbw cputime", "half 8 4 3.5 2 17");

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->row.size_bytes, 8);
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].busbw, 3.5);
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].cpu_time_us, 17.0);
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].time_us, std::nullopt);
}

TEST(ColumnLayoutTest, LargeTimesComeInExponentForm) {
  const auto parsed =
      Parse(kHeader, "1024 256 float sum -1 1.2e+07 0.03 0.06 N/A 12345678 0.04 0.07 N/A");

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->row.timing[kOutOfPlace].time_us, 1.2e7);
  EXPECT_EQ(parsed->row.timing[kInPlace].time_us, 12345678.0);
  EXPECT_EQ(parsed->row.timing[kInPlace].wrong, std::nullopt);
}

TEST(ColumnLayoutTest, ARowThatLacksAValueOrHasAWordInsteadIsNotComplete) {
  EXPECT_FALSE(Parse(kHeader, "1024 256 float sum -1 34.6 0.03 0.06 0 34.4 0.04 0.07"));
  EXPECT_FALSE(Parse(kHeader, "1024 256 float sum -1 34.6 0.03 0.06 0 34.4 0.04 0.07 x"));
  EXPECT_FALSE(Parse(kHeader, "1024 256 float 34.6 -1 34.6 0.03 0.06 0 34.4 0.04 0.07 0"));
}

// Nine values are either the out-of-place half of a incomplete row or an in-place half that stands
// where in-place values stand.
TEST(ColumnLayoutTest, AReplayedRowLeavesTheOutOfPlaceHalfBlank) {
  const auto replayed =
      Parse(kHeader,
            "   1024   256  float    sum    -1                                    34.4  "
            "  0.04    0.07      0");
  ASSERT_TRUE(replayed.has_value());
  EXPECT_EQ(replayed->row.timing[kOutOfPlace].time_us, std::nullopt);
  EXPECT_EQ(replayed->row.timing[kInPlace].time_us, 34.4);

  EXPECT_FALSE(Parse(kHeader, "   1024   256  float    sum    -1     34.4    0.04    0.07      0"));
}

TEST(ColumnLayoutTest, ATimeStampIsTwoWords) {
  const auto parsed =
      Parse("# size count type time algbw busbw timestamp", "8 2 float 3 1 1 2026-05-01 10:00:00");

  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->row.timestamp, "2026-05-01 10:00:00");
  EXPECT_EQ(parsed->num_words, 8U);
}

TEST(ColumnLayoutTest, UnknownColumnsAreNamedAndSkipped) {
  constexpr std::string_view kNewer = "# size count type time algbw busbw watts";

  EXPECT_THAT(ColumnLayout::FromHeader(kNewer)->unknown(), ElementsAre("watts"));
  EXPECT_TRUE(Parse(kNewer, "8 2 float 3 1 1 700").has_value());
}

TEST(ColumnLayoutTest, OtherLinesAreNoHeaders) {
  EXPECT_FALSE(ColumnLayout::FromHeader("#   (B)  (elements)  (us)  (GB/s)").has_value());
  EXPECT_FALSE(ColumnLayout::FromHeader("#").has_value());
}

TEST(ColumnLayoutTest, ARowBeginsWithTwoCountsAndAType) {
  EXPECT_TRUE(BeginsRow(SplitWords("8 2 float")));
  EXPECT_TRUE(BeginsRow(SplitWords("0 0 bfloat16 sum")));
  EXPECT_FALSE(BeginsRow(SplitWords("8 2 bananas sum")));
  EXPECT_FALSE(BeginsRow(SplitWords("-8 2 float sum")));
  EXPECT_FALSE(BeginsRow(SplitWords("8 2")));
}

}  // namespace
}  // namespace orrery::ingest::nccl_tests
