#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::serving_benchmark {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kRecord =
    R"json({"backend": "sglang", "duration": 12.5, "completed": 2, "total_input_tokens": 64,
    "total_output_tokens": 7, "request_throughput": 0.16, "output_throughput": 0.56,
    "mean_ttft_ms": 30.0, "median_ttft_ms": 30.0, "mean_tpot_ms": 11, "median_tpot_ms": 10.5,
    "ttfts": [0.02, 0.04], "itls": [[0.01, 0.03], []], "output_lens": [3, 4],
    "generated_texts": ["a", "b"]})json";

FileContent ReadText(std::string_view text) {
  const auto file = InputFile::FromMemory("bench_results.jsonl", text);
  EXPECT_TRUE(kFormat.matches(*file));
  auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? *std::move(content) : FileContent{};
}

TEST(ServingBenchmarkTest, ARecordIsARowOfScalars) {
  const FileContent content = ReadText(kRecord);

  ASSERT_EQ(content.tables.size(), 2U);
  const Table& rows = content.tables[0].rows;
  ASSERT_EQ(rows.num_rows(), 1U);
  EXPECT_EQ(rows.Number(0, "duration_s"), 12.5);
  EXPECT_EQ(rows.Integer(0, "completed"), 2);
  EXPECT_EQ(rows.Integer(0, "total_input_tokens"), 64);
  EXPECT_EQ(rows.Integer(0, "total_output_tokens"), 7);
  EXPECT_EQ(rows.Number(0, "request_throughput"), 0.16);
  EXPECT_EQ(rows.Number(0, "output_throughput"), 0.56);
  EXPECT_EQ(rows.Number(0, "mean_ttft_ms"), 30.0);
  EXPECT_EQ(rows.Number(0, "median_ttft_ms"), 30.0);
  EXPECT_EQ(rows.Number(0, "mean_tpot_ms"), 11.0);
  EXPECT_EQ(rows.Number(0, "median_tpot_ms"), 10.5);
  EXPECT_TRUE(content.tables[0].problems.all().empty());
}

// The intervals of the first request are 10 and 30 ms; the second has none.
TEST(ServingBenchmarkTest, ListedRequestsAreRowsOfASecondTable) {
  const Table rows = ReadText(kRecord).tables.at(1).rows;

  ASSERT_EQ(rows.num_rows(), 2U);
  EXPECT_EQ(rows.Integer(1, "record"), 0);
  EXPECT_EQ(rows.Integer(1, "request"), 1);
  EXPECT_EQ(rows.Number(0, "ttft_s"), 0.02);
  EXPECT_EQ(rows.Number(0, "mean_itl_s"), 0.02);
  EXPECT_EQ(rows.Number(1, "mean_itl_s"), std::nullopt);
  EXPECT_EQ(rows.Number(1, "output_tokens"), 4);
}

TEST(ServingBenchmarkTest, ARecordWithoutListsHasNoRequests) {
  const FileContent content = ReadText(
      "{\"duration\": 1, \"total_output_tokens\": 5}\n"
      "{\"duration\": 2, \"total_output_tokens\": 6}\n");

  ASSERT_EQ(content.tables.size(), 1U);
  ASSERT_EQ(content.tables[0].rows.num_rows(), 2U);
  EXPECT_EQ(content.tables[0].rows.Integer(1, "total_output_tokens"), 6);
  EXPECT_EQ(content.tables[0].rows.Number(1, "mean_ttft_ms"), std::nullopt);
}

TEST(ServingBenchmarkTest, NotANumberIsMissingAndTextIsALoss) {
  const FileContent content =
      ReadText(R"json({"duration": NaN, "total_output_tokens": "many", "mean_ttft_ms": null})json");

  const Table& rows = content.tables.at(0).rows;
  EXPECT_EQ(rows.Number(0, "duration_s"), std::nullopt);
  EXPECT_EQ(rows.Integer(0, "total_output_tokens"), std::nullopt);
  ASSERT_EQ(content.tables[0].problems.all().size(), 2U);
  EXPECT_THAT(content.tables[0].problems.all()[1].first, "total_output_tokens");
}

TEST(ServingBenchmarkTest, ACutFileKeepsWhatIsWhole) {
  const std::string text = std::string(kRecord) + "\n" + std::string(kRecord);

  const FileContent content = ReadText(text.substr(0, text.rfind("\"itls\"") + 12));

  EXPECT_EQ(content.tables.at(0).rows.num_rows(), 2U);
  EXPECT_EQ(content.tables.at(1).rows.num_rows(), 4U);
  EXPECT_EQ(content.tables[1].rows.Number(3, "ttft_s"), 0.04);
  EXPECT_EQ(content.tables[1].rows.Number(2, "mean_itl_s"), std::nullopt);
  EXPECT_TRUE(content.tables[0].problems.has_loss());
}

TEST(ServingBenchmarkTest, AFileWithoutAnyValueIsRefused) {
  const auto file = InputFile::FromMemory("b.jsonl", R"json({"duration": 1)json");

  const auto content = kFormat.Read(*file, {});

  ASSERT_FALSE(content.has_value());
  EXPECT_THAT(content.error().message(), HasSubstr("b.jsonl: a serving benchmark without"));
}

TEST(ServingBenchmarkTest, OtherJsonIsLeftAlone) {
  for (const std::string_view text :
       {"", "[]", R"json({"duration": 3})json", R"json({"latency": 3})json"}) {
    EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("x.json", text))) << text;
  }
}

}  // namespace
}  // namespace orrery::ingest::serving_benchmark
