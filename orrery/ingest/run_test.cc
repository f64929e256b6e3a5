#include "orrery/ingest/run.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/database_test.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "test_paths.h"

namespace orrery::ingest {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A folder that is gone when the test is.
class RunTest : public testing::Test {
 protected:
  RunTest()
      : folder_(fs::temp_directory_path() /
                ("orrery_run_test_" +
                 std::string(testing::UnitTest::GetInstance()->current_test_info()->name()))) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  ~RunTest() override { fs::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
    return (folder_ / name).string();
  }

  // A Kineto file with one operator; `rank` goes into its content unless it is negative.
  std::string WriteTrace(const std::string& name, int rank) {
    const std::string info =
        rank < 0 ? "" : R"("distributedInfo": {"rank": )" + std::to_string(rank) + "}, ";
    return Write(name, "{" + info +
                           R"("deviceProperties": [], "traceEvents": [{"ph": "X", "cat": "cpu_op",
                              "name": "a", "pid": 1, "tid": 1, "ts": 1, "dur": 1}]})");
  }

  fs::path folder_;
};

TEST_F(RunTest, RanksComeFromContentBeforeNames) {
  WriteTrace("rank7.json", 1);
  WriteTrace("sub/kineto_trace_0.json", -1);

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->set.ranks.size(), 2U);
  EXPECT_EQ(run->set.ranks[0].info.rank, 0);
  EXPECT_EQ(run->set.ranks[1].info.rank, 1);
  EXPECT_THAT(run->set.ranks[1].info.files.at(0), HasSubstr("rank7.json"));
}

// Of the streams of ranks 0 and 1 the second got lost on the way; rank 2 never wrote one.
TEST_F(RunTest, WhatAManifestNamesAndIsNotThereIsALoss) {
  WriteTrace("run.rank-0.json", 0);
  Write("run.host.manifest.json", R"({"orrery_manifest": 1, "world_size": 3, "files": [
      {"file": "run.rank-0.json", "rank": 0}, {"file": "run.rank-1.json", "rank": 1}]})");

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run) << run.error().message();
  EXPECT_TRUE(run->is_partial());
  const auto& problems = run->set.problems.all();
  ASSERT_EQ(problems.size(), 2U);
  EXPECT_THAT(problems[0].first, HasSubstr("run.rank-1.json"));
  EXPECT_EQ(problems[1].first, "rank 2");
}

// Each host of a job writes a manifest of its own ranks.
TEST_F(RunTest, ManifestsOfHostsAddUp) {
  WriteTrace("run.rank-0.json", 0);
  WriteTrace("run.rank-1.json", 1);
  Write("run.a.manifest.json", R"({"orrery_manifest": 1, "world_size": 2, "files": [
      {"file": "run.rank-0.json", "rank": 0}]})");
  Write("run.b.manifest.json", R"({"orrery_manifest": 1, "world_size": 2, "files": [
      {"file": "run.rank-1.json", "rank": 1}]})");

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run) << run.error().message();
  EXPECT_FALSE(run->is_partial());
  EXPECT_TRUE(run->skipped.empty());
}

// A program that starts others has processes without ranks.
TEST_F(RunTest, ProcessesWithoutRanksAreNotMissed) {
  WriteTrace("run.json", -1);
  WriteTrace("run.41.json", -1);
  Write("run.a.manifest.json", R"({"orrery_manifest": 1, "world_size": 1, "files": [
      {"file": "run.json"}, {"file": "run.41.json"}]})");

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run) << run.error().message();
  EXPECT_FALSE(run->is_partial());
}

TEST_F(RunTest, TwoFilesOfOneRankAreRefusedByName) {
  WriteTrace("a.json", 3);
  WriteTrace("b.json", 3);

  const auto run = ReadRun({folder_.string()});

  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message(), HasSubstr("a.json and "));
  EXPECT_THAT(run.error().message(), HasSubstr("b.json both claim rank 3"));
}

TEST_F(RunTest, ForeignFilesOfAFolderAreSkippedAndListed) {
  WriteTrace("a.json", 0);
  Write("notes.txt", "hello");
  Write(".hidden", "hello");

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run);
  ASSERT_EQ(run->skipped.size(), 1U);
  EXPECT_THAT(run->skipped[0].file, HasSubstr("notes.txt"));
  EXPECT_FALSE(run->is_partial());
}

TEST_F(RunTest, AFolderWithoutAnythingUsableIsAnError) {
  Write("notes.txt", "hello");

  const auto run = ReadRun({folder_.string()});

  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message(), HasSubstr("nothing here that Orrery reads"));
}

TEST_F(RunTest, ANamedFileThatIsForeignIsAnError) {
  const std::string notes = Write("notes.txt", "hello");
  const std::string trace = WriteTrace("a.json", 0);

  EXPECT_FALSE(ReadRun({trace, notes}));
}

TEST_F(RunTest, ADamagedFileOfAFolderMakesTheRunPartial) {
  WriteTrace("rank0.json", 0);
  Write("rank1.json", R"({"deviceProperties": [], "traceEvents": [{"ph": "X")");

  const auto run = ReadRun({folder_.string()});

  ASSERT_TRUE(run);
  EXPECT_TRUE(run->is_partial());
}

// Returns true if a format reads the file, or the database that its SQL creates. Reading nsys
// reports is tested in nsys_report_test.
bool Reads(const Format& format, const fs::path& path) {
  std::string bytes;
  if (path.extension() == ".sql") {
    std::stringstream statements;
    statements << std::ifstream(path).rdbuf();
    TestDatabase database;
    bytes = database.Run(statements.str()).empty() ? database.Bytes() : "";
  }
  const auto file =
      bytes.empty() ? InputFile::Open(path.string()) : InputFile::FromMemory("a.sqlite", bytes);
  return file && format.matches(*file) &&
         (&format == &nsys_report::kFormat || format.Read(*file, {}).has_value());
}

TEST(FormatTest, EveryFormatHasASampleOfOurOwn) {
  for (const Format* const format : KnownFormats()) {
    const fs::recursive_directory_iterator files(ORRERY_TEST_DATA);
    EXPECT_TRUE(std::any_of(begin(files), end(files),
                            [&](const fs::directory_entry& entry) {
                              return entry.is_regular_file() && Reads(*format, entry.path());
                            }))
        << format->name << ": add a small file to tests/data and test it";
  }
}

}  // namespace
}  // namespace orrery::ingest
