#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"
#include "test_paths.h"

namespace orrery::ingest::param_comms {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHeader =
    "\tCOMMS-RES  size (B)  nElementsPerRank  Latency(us):p50  p75  p95  Min  Max  AlgBW(GB/s)  "
    "BusBW(GB/s)\n";

MeasurementTable ReadFile(const InputFile& file) {
  EXPECT_TRUE(kFormat.matches(file));
  auto content = kFormat.Read(file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? content->tables.at(0) : MeasurementTable{};
}

MeasurementTable ReadText(const std::string& text) {
  return ReadFile(*InputFile::FromMemory("run.log", text));
}

MeasurementTable ReadTestData(const std::string& name) {
  return ReadFile(*InputFile::Open(ORRERY_TEST_DATA "/param_comms/" + name));
}

std::int64_t CountOf(const trace::ProblemLog& problems, std::string_view what) {
  std::int64_t count = 0;
  for (const trace::Problem& problem : problems.all()) {
    count += problem.what.find(what) != std::string::npos ? problem.count : 0;
  }
  return count;
}

// Two collectives of four sizes; the third all-gather is truncated.
TEST(ParamCommsTest, ALogGivesTheColumnsOfNcclTests) {
  const MeasurementTable log = ReadTestData("two_nodes.log");

  const Table& rows = log.rows;
  ASSERT_EQ(rows.num_rows(), 7U);
  EXPECT_EQ(rows.Text(0, "test"), "all_reduce");
  EXPECT_EQ(rows.Integer(0, "nranks"), 8);
  EXPECT_EQ(rows.Integer(0, "size_bytes"), 1 << 20);
  EXPECT_EQ(rows.Integer(0, "count"), 1 << 19);
  EXPECT_EQ(rows.Text(0, "data_type"), "bfloat16");
  EXPECT_EQ(rows.Text(0, "redop"), "sum");
  EXPECT_EQ(rows.Number(0, "oop_time_us"), 30.5);
  EXPECT_EQ(rows.Number(0, "oop_algbw_GBps"), 34.396);
  EXPECT_EQ(rows.Number(0, "oop_busbw_GBps"), 60.192);
  EXPECT_EQ(rows.Number(0, "ip_time_us"), std::nullopt);
  EXPECT_EQ(rows.Number(0, "rank_p95_us"), 31.1);
  EXPECT_EQ(rows.Integer(0, "nodes"), 2);
  EXPECT_EQ(rows.Text(0, "nccl_version"), "2.29.3");
  EXPECT_EQ(rows.Text(0, "source"), "param");
  EXPECT_EQ(rows.Text(4, "test"), "all_gather");
  EXPECT_EQ(rows.Integer(4, "size_bytes"), 1 << 20);  // of the full side
  EXPECT_EQ(rows.Text(4, "redop"), "none");
  EXPECT_EQ(rows.Integer(6, "size_bytes"), 1 << 26);
  EXPECT_EQ(CountOf(log.problems, "incomplete row"), 1);
  EXPECT_EQ(log.problems.all().size(), 1U);
}

TEST(ParamCommsTest, TheFirstVersionNamesCollectiveAndRanksElsewhere) {
  const MeasurementTable log = ReadTestData("first_version.log");

  ASSERT_EQ(log.rows.num_rows(), 3U);
  EXPECT_EQ(log.rows.Text(0, "test"), "all_to_all");
  EXPECT_EQ(log.rows.Integer(0, "nranks"), 4);
  EXPECT_EQ(log.rows.Number(2, "oop_time_us"), 61.9);
  EXPECT_EQ(log.rows.Number(2, "rank_p75_us"), 62.6);
  EXPECT_EQ(log.rows.Number(2, "rank_min_us"), std::nullopt);
  EXPECT_TRUE(log.problems.all().empty());
}

// 1 MiB over 4 ranks are shares of 256 KiB, 65536 floats; 52.43 GB/s of shares are 209.7 of the
// whole.
TEST(ParamCommsTest, AShareOfAReduceScatterIsMultipliedByTheRanks) {
  const std::string world = "'world_size': 4\n" + std::string(kHeader);
  for (const char* count : {"65536", "262144"}) {
    const MeasurementTable log = ReadText(world + "COMMS-RES-reduce_scatter_base-float32 262144 " +
                                          count + " 5.0 5.0 5.0 5.0 5.0 52.430 39.320\n");

    ASSERT_EQ(log.rows.num_rows(), 1U);
    EXPECT_EQ(log.rows.Text(0, "test"), "reduce_scatter");
    EXPECT_EQ(log.rows.Integer(0, "size_bytes"), 1 << 20);
    EXPECT_DOUBLE_EQ(log.rows.Number(0, "oop_algbw_GBps").value_or(0), 4 * 52.430);
    EXPECT_DOUBLE_EQ(log.rows.Number(0, "oop_busbw_GBps").value_or(0), 4 * 39.320);
    EXPECT_EQ(CountOf(log.problems, "one rank's shard"), 1);
    EXPECT_FALSE(log.problems.has_loss());
  }
}

TEST(ParamCommsTest, TheWholeOfAReduceScatterIsLeftAsItIs) {
  const MeasurementTable log =
      ReadText("'world_size': 4\n" + std::string(kHeader) +
               "COMMS-RES-reduce_scatter_base-float32 1048576 65536 5.0 5.0 5.0 5.0 5.0 209.715 "
               "157.286\n"
               "COMMS-RES-reduce_scatter-float32 1048576 262144 5.0 5.0 5.0 5.0 5.0 209.715 "
               "157.286\n");

  ASSERT_EQ(log.rows.num_rows(), 2U);
  EXPECT_EQ(log.rows.Integer(0, "size_bytes"), 1 << 20);
  EXPECT_EQ(log.rows.Integer(1, "size_bytes"), 1 << 20);
  EXPECT_TRUE(log.problems.all().empty());
}

TEST(ParamCommsTest, CollectivesWithSizesForEachRankKeepTheirName) {
  const MeasurementTable log =
      ReadText("groupSize 4\n" + std::string(kHeader) +
               "COMMS-RES-all_to_allv-long 1048576 1 5.0 5.0 5.0 5.0 5.0 209.715 157.286\n");

  EXPECT_EQ(log.rows.Text(0, "test"), "all_to_allv");
  EXPECT_EQ(log.rows.Text(0, "data_type"), "int64");
}

TEST(ParamCommsTest, TimesBesideComputationAreLeftOutAndCounted) {
  const std::string row = "COMMS-RES-reduce-float32 8 2 5.0 5.0 5.0 5.0 5.0 0.002 0.002";
  const MeasurementTable log = ReadText("world_size: 2\n" + std::string(kHeader) + row + "\n" +
                                        std::string(kHeader.substr(0, kHeader.size() - 1)) +
                                        " TFlops\n" + row + " 1.00000\n");

  EXPECT_EQ(log.rows.num_rows(), 1U);
  EXPECT_EQ(CountOf(log.problems, "concurrently with computation"), 1);
  EXPECT_TRUE(log.problems.has_loss());
}

// 2(n-1)/n is 1.5 for 4 ranks.
TEST(ParamCommsTest, RanksThatNoLineNamesAreGuessedFromBandwidths) {
  const MeasurementTable log =
      ReadText(std::string(kHeader) +
               "COMMS-RES-all_reduce-float32 1048576 262144 5.0 5.0 5.0 5.0 5.0 209.715 314.573\n");

  EXPECT_EQ(log.rows.Integer(0, "nranks"), 4);
  EXPECT_EQ(CountOf(log.problems, "number of ranks was inferred"), 1);
}

TEST(ParamCommsTest, AFileWithoutACompleteRowIsRefused) {
  for (const std::string& rows :
       {std::string(), std::string("COMMS-RES-all_reduce-float32 8 2\n")}) {
    const std::string text = std::string(kHeader) + rows;
    const auto file = InputFile::FromMemory("run.log", text);
    ASSERT_TRUE(kFormat.matches(*file));
    const auto content = kFormat.Read(*file, {});

    ASSERT_FALSE(content.has_value());
    EXPECT_THAT(content.error().message(), HasSubstr("run.log: a log of PARAM's comms.py without"));
  }
}

TEST(ParamCommsTest, OtherTextsAreLeftAlone) {
  for (const char* text :
       {"", "#  size  count  type  redop  time  algbw  busbw  error\n",
        "header = \"\\n\\tCOMMS-RES\"\n  \"size (B)\",\n  \"Latency(us):p50\",\n",
        "print(\"nw-stack: %s mode: %s args.dtype: %s\")\n"}) {
    EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("x", text))) << text;
  }
}

}  // namespace
}  // namespace orrery::ingest::param_comms
