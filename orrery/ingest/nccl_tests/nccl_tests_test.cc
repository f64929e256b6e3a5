#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/file/byte_source.h"
#include "orrery/base/text/table.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/problems.h"
#include "test_paths.h"

namespace orrery::ingest::nccl_tests {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kHeader =
    "#       size         count      type   redop    root     time   algbw   busbw #wrong     time "
    "  algbw   busbw #wrong\n";
constexpr std::string_view kRow =
    "           8             2     float     sum      -1    12.90    0.00    0.00      0    12.87 "
    "   0.00    0.00      0\n";

MeasurementTable ReadText(std::string_view text) {
  const auto file = InputFile::FromMemory("run.log", text);
  EXPECT_TRUE(kFormat.matches(*file));
  auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? content->tables.at(0) : MeasurementTable{};
}

MeasurementTable ReadPath(const std::string& path) {
  const auto file = InputFile::Open(path);
  EXPECT_TRUE(file.has_value() && kFormat.matches(*file)) << path;
  auto content = kFormat.Read(*file, {});
  EXPECT_TRUE(content.has_value()) << content.error().message();
  return content ? content->tables.at(0) : MeasurementTable{};
}

MeasurementTable ReadTestData(const std::string& name) {
  return ReadPath(ORRERY_TEST_DATA "/nccl_tests/" + name);
}

std::int64_t CountOf(const trace::ProblemLog& problems, std::string_view what) {
  std::int64_t count = 0;
  for (const trace::Problem& problem : problems.all()) {
    count += problem.what.find(what) != std::string::npos ? problem.count : 0;
  }
  return count;
}

TEST(NcclTestsTest, ANewLogGivesAllItsColumnsAndHeaderFacts) {
  const MeasurementTable log = ReadTestData("all_gather_iterations.log");

  const Table& rows = log.rows;
  ASSERT_EQ(rows.num_rows(), 6U);
  EXPECT_EQ(rows.Text(0, "test"), "all_gather");
  EXPECT_EQ(rows.Integer(0, "nranks"), 4);
  EXPECT_EQ(rows.Integer(2, "size_bytes"), 16'777'216);
  EXPECT_EQ(rows.Integer(2, "count"), 1'048'576);
  EXPECT_EQ(rows.Text(2, "data_type"), "float");
  EXPECT_EQ(rows.Text(2, "redop"), "none");
  EXPECT_EQ(rows.Integer(2, "root"), -1);
  EXPECT_EQ(rows.Number(2, "oop_time_us"), 171.0);
  EXPECT_EQ(rows.Number(2, "oop_algbw_GBps"), 98.11);
  EXPECT_EQ(rows.Number(2, "oop_busbw_GBps"), 73.58);
  EXPECT_EQ(rows.Number(2, "oop_wrong"), std::nullopt);  // printed as N/A
  EXPECT_EQ(rows.Number(2, "oop_iteration_p99_us"), 179.55);
  EXPECT_EQ(rows.Number(2, "ip_time_us"), 169.29);
  EXPECT_EQ(rows.Number(2, "ip_iteration_cv_percent"), 1.8);
  EXPECT_EQ(rows.Text(2, "timestamp"), "2026-05-01 10:00:06");
  EXPECT_EQ(rows.Integer(0, "nodes"), 2);
  EXPECT_EQ(rows.Text(0, "gpu"), "NVIDIA H200");
  EXPECT_EQ(rows.Integer(0, "threads"), 1);
  EXPECT_EQ(rows.Integer(0, "warmup_iters"), 1);
  EXPECT_EQ(rows.Integer(0, "iters"), 20);
  EXPECT_EQ(rows.Integer(0, "aggregated_iters"), 1);
  EXPECT_EQ(rows.Text(0, "tests_version"), "2.17.9");
  EXPECT_EQ(rows.Text(0, "nccl_version"), "2.29.3");
  EXPECT_EQ(rows.Number(0, "run_mean_busbw_GBps"), 60.1234);
  EXPECT_TRUE(log.problems.all().empty());
}

// Eight rows were printed. 2 MiB was cut in two by another process, 128 MiB by the end of the file,
// and somebody left 32 MiB out; 4 and 8 MiB share a line, and 16 MiB stands after a warning.
TEST(NcclTestsTest, OfATornLogAllCompleteRowsAreKeptAndTheOthersCounted) {
  const MeasurementTable log = ReadTestData("torn_srun.log");

  ASSERT_EQ(log.rows.num_rows(), 5U);
  EXPECT_EQ(log.rows.Integer(0, "size_bytes"), 1 << 20);
  EXPECT_EQ(log.rows.Integer(1, "size_bytes"), 1 << 22);
  EXPECT_EQ(log.rows.Integer(2, "size_bytes"), 1 << 23);
  EXPECT_EQ(log.rows.Integer(3, "size_bytes"), 1 << 24);
  EXPECT_EQ(log.rows.Integer(4, "size_bytes"), 1 << 26);
  EXPECT_EQ(log.rows.Text(0, "test"), "all_reduce");  // from the command line
  EXPECT_EQ(log.rows.Integer(0, "nranks"), 8);
  EXPECT_EQ(log.rows.Text(0, "gpu"), "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(CountOf(log.problems, "incomplete row"), 2 + 1);  // and the piece of 2 MiB
  EXPECT_EQ(CountOf(log.problems, "fragment of an incomplete row"), 1);
  EXPECT_EQ(CountOf(log.problems, "incomplete device line"), 1);
  EXPECT_EQ(CountOf(log.problems, "omitted from the log"), 1);
  EXPECT_EQ(CountOf(log.problems, "other text"), 1);
  EXPECT_TRUE(log.problems.has_loss());
}

TEST(NcclTestsTest, RowsOfTwoProcessesThatPrintInTurnStayApart) {
  const std::string log =
      "[1,0]<stdout>:# Collective test starting: all_reduce_perf\n"
      "[1,1]<stdout>:# Collective test starting: broadcast_perf\n"
      "[1,0]<stdout>:" +
      std::string(kHeader) + "[1,1]<stdout>:" + std::string(kHeader) +
      "[1,1]<stdout>:" + std::string(kRow) + "[1,0]<stdout>:" + std::string(kRow);

  const Table rows = ReadText(log).rows;

  ASSERT_EQ(rows.num_rows(), 2U);
  EXPECT_EQ(rows.Text(0, "test"), "all_reduce");
  EXPECT_EQ(rows.Text(1, "test"), "broadcast");
}

TEST(NcclTestsTest, ALogOfSeveralTestsKeepsTheirHeadersApart) {
  const std::string log =
      "+ ./all_reduce_perf -g 2\n"
      "# nThread 1 nGpus 2 warmup iters: 5 iters: 20\n" +
      std::string(kHeader) + std::string(kRow) +
      "# Out of bounds values : 0 OK\n"
      "+ ./alltoall_perf -g 4\n"
      "# nThread 1 nGpus 4 warmup iters: 1 iters: 7\n" +
      std::string(kHeader) + std::string(kRow) + "# Out of bounds values : 3 FAILED\n" +
      std::string(kHeader) + std::string(kRow);

  const MeasurementTable table = ReadText(log);

  ASSERT_EQ(table.rows.num_rows(), 3U);
  EXPECT_EQ(table.rows.Text(0, "test"), "all_reduce");
  EXPECT_EQ(table.rows.Integer(0, "iters"), 20);
  EXPECT_EQ(table.rows.Text(1, "test"), "all_to_all");
  EXPECT_EQ(table.rows.Integer(1, "gpus_per_thread"), 4);
  EXPECT_EQ(table.rows.Integer(1, "iters"), 7);
  EXPECT_EQ(table.rows.Text(2, "test"), std::nullopt);  // the second command line was used up
  EXPECT_EQ(table.rows.Integer(2, "iters"), std::nullopt);
  EXPECT_EQ(CountOf(table.problems, "unknown collective"), 1);
  EXPECT_EQ(CountOf(table.problems, "out of bounds"), 3);
}

TEST(NcclTestsTest, GroupsThatRunSideBySideAreCountedByThemselves) {
  std::string log = "# nThread 1 nGpus 1\n";
  for (const char* device :
       {"Rank 0 Group 0", "Rank 1 Group 1", "Rank 2 Group 0", "Rank 3 Group 1"}) {
    log += "#  " + std::string(device) + " Pid 1 on node device 0 [0000:01:00] NVIDIA H200\n";
  }

  EXPECT_EQ(ReadText(log + std::string(kHeader) + std::string(kRow)).rows.Integer(0, "nranks"), 2);
}

TEST(NcclTestsTest, RowsWithoutTheirHeaderLineAreReadByTheirLength) {
  const MeasurementTable table = ReadText("# nThread 1 nGpus 1\n" + std::string(kRow));

  ASSERT_EQ(table.rows.num_rows(), 1U);
  EXPECT_EQ(table.rows.Number(0, "ip_time_us"), 12.87);
  EXPECT_EQ(CountOf(table.problems, "without a header"), 1);
}

TEST(NcclTestsTest, AJsonReportGivesTheSameColumns) {
  const MeasurementTable report = ReadTestData("report.json");

  const Table& rows = report.rows;
  ASSERT_EQ(rows.num_rows(), 3U);
  EXPECT_EQ(rows.Text(0, "test"), "reduce_scatter");
  EXPECT_EQ(rows.Integer(0, "nranks"), 2);
  EXPECT_EQ(rows.Integer(0, "size_bytes"), 1 << 20);
  EXPECT_EQ(rows.Integer(0, "root"), -1);
  EXPECT_EQ(rows.Number(0, "oop_time_us"), 20.0);
  EXPECT_EQ(rows.Number(0, "oop_algbw_GBps"), 52.4288);
  EXPECT_EQ(rows.Number(0, "oop_wrong"), 0.0);
  EXPECT_EQ(rows.Number(0, "oop_iteration_max_us"), 24.0);
  EXPECT_EQ(rows.Number(0, "ip_wrong"), std::nullopt);     // null
  EXPECT_EQ(rows.Number(1, "ip_time_us"), std::nullopt);   // "nan"
  EXPECT_EQ(rows.Number(2, "oop_time_us"), std::nullopt);  // null for a replayed trace
  EXPECT_EQ(rows.Number(2, "ip_time_us"), 100.0);
  EXPECT_EQ(rows.Text(0, "nccl_version"), "2.27.4");
  EXPECT_EQ(rows.Text(0, "gpu"), "NVIDIA H200");
  EXPECT_EQ(rows.Integer(0, "iters"), 20);
  EXPECT_TRUE(report.problems.all().empty());
}

TEST(NcclTestsTest, OfACutReportTheCompleteResultsAreKept) {
  const auto source = OpenFile(ORRERY_TEST_DATA "/nccl_tests/report.json");
  const std::string text = ReadAll(**source).value();
  // In the middle of the last result, inside a string.
  const std::string cut = text.substr(0, text.rfind("experiment_name") + 5);

  const MeasurementTable report = ReadText(cut);

  EXPECT_EQ(report.rows.num_rows(), 2U);
  EXPECT_TRUE(report.problems.has_loss());
}

TEST(NcclTestsTest, ALogWithoutRowsIsAnErrorThatNamesTheFile) {
  const auto file = InputFile::FromMemory("empty.log", "# nThread 1 nGpus 8\n#\n");

  ASSERT_TRUE(kFormat.matches(*file));
  const auto content = kFormat.Read(*file, {});

  ASSERT_FALSE(content.has_value());
  EXPECT_THAT(content.error().message(), HasSubstr("empty.log"));
}

TEST(NcclTestsTest, OtherFilesAreNotTaken) {
  for (const std::string_view text :
       {"", "size,count,type,algbw,busbw\n", R"({"traceEvents":[],"nccl_version":"2.21.5"})",
        "the size of algbw\n", "\x1f\x8b"}) {
    EXPECT_FALSE(kFormat.matches(*InputFile::FromMemory("other", text))) << text;
  }
}

struct SharedLog {
  const char* path;
  std::size_t num_rows;  // lines that match '[0-9]+ +[0-9]+ +float +sum +', counted with grep
  const char* test;      // empty: the log does not say and one or two ranks do not tell
  std::int64_t num_ranks;
  const char* source;  // in truth/nccl.csv
  const char* gpu;     // in truth/nccl.csv
};

class SharedLogTest : public ::testing::TestWithParam<SharedLog> {
 protected:
  void SetUp() override {
    path_ = std::string(ORRERY_SHARED "/comm/") + GetParam().path;
    if (!std::filesystem::exists(path_)) {
      GTEST_SKIP() << "needs the shared data: " << path_;
    }
  }

  std::string path_;
};

constexpr const char* kEcho = "Echo (NetX-lab) nccl-test-log";
constexpr const char* kEchoGpu = "A100-SXM4-40GB";
constexpr const char* kAws = "AWS awsome-distributed-training nccl-tests";
constexpr const char* kBatch = "AWS awsome-distributed-training aws-batch";

INSTANTIATE_TEST_SUITE_P(
    All, SharedLogTest,
    ::testing::Values(SharedLog{"echo/nccl_1.log", 28, "", 1, kEcho, kEchoGpu},
                      SharedLog{"echo/nccl_2.log", 28, "", 2, kEcho, kEchoGpu},
                      SharedLog{"echo/nccl_4.log", 28, "all_reduce", 4, kEcho, kEchoGpu},
                      SharedLog{"echo/nccl_8.log", 28, "all_reduce", 8, kEcho, kEchoGpu},
                      SharedLog{"echo/nccl_16.log", 25, "all_reduce", 16, kEcho, kEchoGpu},
                      SharedLog{"echo/nccl_32.log", 23, "all_reduce", 32, kEcho, kEchoGpu},
                      SharedLog{"other/aws_batch_p5_1node.log", 32, "all_reduce", 8, kBatch, ""},
                      SharedLog{"other/aws_p4de_2node.log", 29, "all_reduce", 16, kAws, ""},
                      SharedLog{"other/aws_p5_2node.log", 32, "all_reduce", 16, kAws, ""},
                      SharedLog{"other/aws_p5_2node_eks.log", 7, "all_reduce", 16, kAws, ""},
                      SharedLog{"other/dgxc_h100_1node.log", 32, "all_reduce", 8,
                                "NVIDIA DGX Cloud Benchmarking nccl README",
                                "NVIDIA H100 80GB HBM3"},
                      SharedLog{"other/oci_a100_2node_nccl229.log", 4, "all_reduce", 16,
                                "OCI OKE docs nccl-tests", "NVIDIA A100-SXM4-40GB"},
                      SharedLog{"other/oci_mi300x_2node_rccl.log", 5, "all_reduce", 16,
                                "OCI OKE docs rccl-tests", ""}));

TEST_P(SharedLogTest, EveryCompleteRowIsRead) {
  const MeasurementTable log = ReadPath(path_);

  ASSERT_EQ(log.rows.num_rows(), GetParam().num_rows);
  EXPECT_EQ(log.rows.Text(0, "test").value_or(""), GetParam().test);
  EXPECT_EQ(log.rows.Integer(0, "nranks"), GetParam().num_ranks);
  EXPECT_EQ(log.rows.Text(0, "gpu").value_or(""), GetParam().gpu);
  EXPECT_FALSE(log.problems.has_loss());
}

using Values = std::tuple<double, double, double, double, double, double>;

Values ValuesOf(const Table& table, std::size_t row) {
  const auto value = [&](std::string_view name) { return table.Number(row, name).value_or(-1); };
  return {value("oop_time_us"), value("oop_algbw_GBps"), value("oop_busbw_GBps"),
          value("ip_time_us"),  value("ip_algbw_GBps"),  value("ip_busbw_GBps")};
}

// The table of measurements was made from the same logs by another program.
TEST_P(SharedLogTest, RowsAgreeWithTheTableOfMeasurements) {
  const MeasurementTable log = ReadPath(path_);
  const auto truth = ReadCsvFile(ORRERY_SHARED "/truth/nccl.csv");
  ASSERT_TRUE(truth.has_value()) << truth.error().message();
  std::multimap<std::int64_t, Values> values_of_size;
  for (std::size_t row = 0; row < truth->num_rows(); ++row) {
    if (truth->Text(row, "source") == GetParam().source &&
        truth->Integer(row, "n_gpus") == GetParam().num_ranks) {
      values_of_size.emplace(truth->Integer(row, "size_bytes").value_or(-1), ValuesOf(*truth, row));
    }
  }

  for (std::size_t row = 0; row < log.rows.num_rows(); ++row) {
    const auto [begin, end] = values_of_size.equal_range(*log.rows.Integer(row, "size_bytes"));
    const Values read = ValuesOf(log.rows, row);
    EXPECT_TRUE(std::any_of(begin, end, [&](const auto& entry) { return entry.second == read; }))
        << "row " << row;
  }
}

}  // namespace
}  // namespace orrery::ingest::nccl_tests
