#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::operation_timeline {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHeader =
    "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n";

Result<FileContent> ReadText(std::string_view text) {
  return kFormat.Read(*InputFile::FromMemory("t.csv", text), {});
}

std::string ErrorOf(std::string_view row) {
  const auto content = ReadText(std::string(kHeader) + std::string(row));
  return content ? "" : content.error().message();
}

TEST(OperationTimelineTest, TheHeaderTellsTheFormat) {
  const auto matches = [](std::string_view text) {
    return kFormat.matches(*InputFile::FromMemory("any", text));
  };
  EXPECT_TRUE(matches(kHeader));
  EXPECT_TRUE(matches("optype,start_ts,duration,seq_id,step,rank,stage,dp_rank\r\n"));
  EXPECT_FALSE(matches("dp_rank,stage,rank,step,optype,start_ts,duration\n"));
  EXPECT_FALSE(matches(""));
  EXPECT_FALSE(matches("{\"dp_rank\": 0}"));
}

TEST(OperationTimelineTest, SecondsBecomeNanoseconds) {
  const auto content =
      ReadText(std::string(kHeader) +
               "0,1,4,16,forward-compute,2.6883304,0.85434765,3,0,7,1\n1,1,5,16,gc,4.7683716e-7,"
               "0,0,-1,-1,-1\n");
  const Table& rows = content.value().tables.at(0).rows;

  ASSERT_EQ(rows.num_rows(), 2U);
  EXPECT_EQ(rows.Integer(0, "rank"), 4);
  EXPECT_EQ(rows.Integer(0, "step"), 16);
  EXPECT_EQ(rows.Integer(0, "seq_id"), 3);
  EXPECT_EQ(rows.Integer(0, "mb_id"), 7);
  EXPECT_EQ(rows.Text(0, "optype"), "forward-compute");
  EXPECT_EQ(rows.Integer(0, "start_ns"), 2'688'330'400);
  EXPECT_EQ(rows.Integer(0, "duration_ns"), 854'347'650);
  EXPECT_EQ(rows.Integer(1, "start_ns"), 477);
  EXPECT_EQ(rows.Integer(1, "mc"), -1);
}

TEST(OperationTimelineTest, ARowThatCannotBeUsedIsNamedByItsLine) {
  EXPECT_EQ(ErrorOf("0,0,0,1,gc,0,0,0,0,0,0\n0,0,zero,1,gc,0,0,0,0,0,0\n"),
            "t.csv: line 3: rank is 'zero', but must be a whole number from 0");
  EXPECT_THAT(ErrorOf("0,0,0,1,gc,-1,0,0,0,0,0\n"),
              HasSubstr("line 2: start_ts is '-1', but must be a number of seconds from 0"));
  EXPECT_THAT(ErrorOf("0,0,0,1,gc,0,nan,0,0,0,0\n"), HasSubstr("line 2: duration is 'nan'"));
  EXPECT_THAT(ErrorOf("0,0,0,1,gc,0,0\n"), HasSubstr("line 2: seq_id is ''"));
  EXPECT_THAT(ErrorOf("0,0,0,1,,0,0,0,0,0,0\n"), HasSubstr("line 2: optype is ''"));
  EXPECT_THAT(ErrorOf("0,0,0,1,gc,0,0,0,-2,0,0\n"), HasSubstr("mc is '-2'"));
  EXPECT_THAT(ErrorOf("0,0,0,9999999999,gc,0,0,0,0,0,0\n"), HasSubstr("step is '9999999999'"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("without an operation"));
}

}  // namespace
}  // namespace orrery::ingest::operation_timeline
