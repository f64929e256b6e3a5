#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::latency_benchmark {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kResult = R"json({
    "avg_latency": 1.5,
    "latencies": [1.0, 2.0],
    "percentiles": {"10": 1.1, "99": 1.99}
})json";

Result<FileContent> ReadText(std::string_view text) {
  const auto file = InputFile::FromMemory("x.latency.json", text);
  return kFormat.Read(*file, {});
}

TEST(LatencyBenchmarkTest, AveragePercentilesAndIterationsAreRows) {
  const auto file = InputFile::FromMemory("x.latency.json", kResult);
  ASSERT_TRUE(kFormat.matches(*file));

  const FileContent content = kFormat.Read(*file, {}).value();

  const Table& rows = content.tables.at(0).rows;
  ASSERT_EQ(rows.num_rows(), 5U);
  const char* const statistics[] = {"average", "p10", "p99", "iteration", "iteration"};
  const double latencies[] = {1.5, 1.1, 1.99, 1.0, 2.0};
  for (std::size_t row = 0; row < 5; ++row) {
    EXPECT_EQ(rows.Text(row, "statistic"), statistics[row]);
    EXPECT_EQ(rows.Number(row, "latency_s"), latencies[row]);
  }
  EXPECT_EQ(rows.Integer(0, "iteration"), std::nullopt);
  EXPECT_EQ(rows.Integer(4, "iteration"), 1);
  EXPECT_TRUE(content.tables[0].problems.all().empty());
}

TEST(LatencyBenchmarkTest, ACutFileKeepsWhatIsWhole) {
  const FileContent content = ReadText(kResult.substr(0, kResult.find("2.0"))).value();

  ASSERT_EQ(content.tables.at(0).rows.num_rows(), 1U);
  EXPECT_EQ(content.tables[0].rows.Text(0, "statistic"), "average");
  EXPECT_TRUE(content.tables[0].problems.has_loss());
}

TEST(LatencyBenchmarkTest, ValuesThatAreNoNumbersAreCounted) {
  const FileContent content =
      ReadText(R"json({"avg_latency": "slow", "latencies": [1.0, null, [2]]})json").value();

  EXPECT_EQ(content.tables.at(0).rows.num_rows(), 1U);
  ASSERT_EQ(content.tables[0].problems.all().size(), 1U);
  EXPECT_EQ(content.tables[0].problems.all()[0].count, 3);
}

TEST(LatencyBenchmarkTest, AFileWithoutAnyValueIsRefused) {
  const auto content = ReadText(R"json({"avg_latency": null, "latencies": []})json");

  ASSERT_FALSE(content.has_value());
  EXPECT_THAT(content.error().message(), HasSubstr("x.latency.json: a latency benchmark without"));
}

TEST(LatencyBenchmarkTest, OtherJsonIsLeftAlone) {
  EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("x.json", R"json({"avg_latency": 3})json")));
}

}  // namespace
}  // namespace orrery::ingest::latency_benchmark
