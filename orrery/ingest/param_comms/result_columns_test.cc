#include "orrery/ingest/param_comms/result_columns.h"

#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::ingest::param_comms {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kHeader =
    "\tCOMMS-RES  size (B)  nElementsPerRank  Latency(us):p50  p75  p95  Min  Max  AlgBW(GB/s)  "
    "BusBW(GB/s)";

ResultLine LineOf(std::string_view text) {
  return SplitResultLine(text).value_or(ResultLine{});
}

ResultColumns ColumnsOf(std::string_view header) {
  const auto columns = ResultColumns::FromHeader(LineOf(header));
  EXPECT_TRUE(columns.has_value()) << header;
  return columns.value_or(ResultColumns{});
}

TEST(ResultColumnsTest, TheMarkIsFoundBehindALaunchersPrefix) {
  const ResultLine line = LineOf("[1,0]<stdout>:\tCOMMS-RES-all_reduce-float32   8   2");

  EXPECT_EQ(line.tag, "-all_reduce-float32");
  ASSERT_EQ(line.words.size(), 2U);
  EXPECT_EQ(line.words[1].text, "2");
  EXPECT_FALSE(SplitResultLine("COMMS RES 8 2").has_value());
}

TEST(ResultColumnsTest, ARowIsReadByTheNamesOfItsHeader) {
  const auto row = ColumnsOf(kHeader).ParseRow(
      LineOf("COMMS-RES-reduce-float32 4096 1024 20.5 21.0 22.0 19.0 23.0 0.200 0.200"));

  ASSERT_TRUE(row.has_value());
  EXPECT_EQ(row->size_bytes, 4096);
  EXPECT_EQ(row->count, 1024);
  EXPECT_EQ(row->median_us, 20.5);
  EXPECT_EQ(row->spread.p75_us, 21.0);
  EXPECT_EQ(row->spread.p95_us, 22.0);
  EXPECT_EQ(row->spread.min_us, 19.0);
  EXPECT_EQ(row->spread.max_us, 23.0);
  EXPECT_EQ(row->algbw, 0.2);
}

TEST(ResultColumnsTest, TornRowsAreNone) {
  const ResultColumns columns = ColumnsOf(kHeader);

  for (const char* torn :
       {"COMMS-RES-reduce 4096 1024 20.5 21.0 22.0 19.0 23.0 0.200",            // a column short
        "COMMS-RES-reduce 4096 1024 20.5 21.0 22.0 19.0 23.0 0.200 0.2",        // cut in a number
        "COMMS-RES-reduce 4096 1024 20.5 21.0 22.0 19.0 23.0 0.200 0.200 9",    // one too many
        "COMMS-RES-reduce 40x6 1024 20.5 21.0 22.0 19.0 23.0 0.200 0.200",      // no number
        "COMMS-RES-reduce 4096 1024 nan 21.0 22.0 19.0 23.0 0.200 0.200",       // no time
        "COMMS-RES-reduce -4096 1024 20.5 21.0 22.0 19.0 23.0 0.200 0.200"}) {  // no size
    EXPECT_FALSE(columns.ParseRow(LineOf(torn)).has_value()) << torn;
  }
}

TEST(ResultColumnsTest, WhatIsNotOneCollectiveAloneSaysWhy) {
  EXPECT_THAT(ColumnsOf(kHeader).skip_reason(), IsEmpty());
  EXPECT_THAT(ColumnsOf(std::string(kHeader) + " TFlops").skip_reason(),
              HasSubstr("concurrently with computation"));
  EXPECT_THAT(ColumnsOf("COMMS-RES total-size (B) nElementsPerRank Latency(us):p50").skip_reason(),
              HasSubstr("two concurrent collectives"));
  EXPECT_THAT(ColumnsOf("COMMS-RES size (B) pingLatency(us):p50 p75 p95").skip_reason(),
              HasSubstr("pt2pt"));
  EXPECT_THAT(
      ColumnsOf("COMMS-RES-QUANT\t size (B) nElementsPerRank P95 Latency(us): Quant").skip_reason(),
      HasSubstr("quantised"));
}

TEST(ResultColumnsTest, NamesWeDoNotKnowAreKept) {
  EXPECT_THAT(ColumnsOf(std::string(kHeader) + " Humidity").unknown(), ElementsAre("Humidity"));
}

TEST(ResultColumnsTest, ColumnsAreAssumedForTheTwoUsualNumbersAlone) {
  EXPECT_TRUE(ResultColumns::Assumed(9).has_value());
  EXPECT_TRUE(ResultColumns::Assumed(7).has_value());
  EXPECT_FALSE(ResultColumns::Assumed(8).has_value());
}

}  // namespace
}  // namespace orrery::ingest::param_comms
