#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/ingest/database_test.h"
#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"

namespace orrery::ingest::nsys_report {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kReport =
    "NVIDIA Tegra Profiler Report 2026@2@1@210-000000000000v0.\n\x0bLocal (CLI)\x12\n";

// A folder that is the whole PATH, and the whole place for temporary files.
class NsysReportTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "orrery-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    fs::create_directory(folder_ / "temporary");
    old_path_ = std::getenv("PATH");
    setenv("PATH", folder_.c_str(), 1);
    setenv("TMPDIR", (folder_ / "temporary").c_str(), 1);
  }

  void TearDown() override {
    setenv("PATH", old_path_.c_str(), 1);
    unsetenv("TMPDIR");
    EXPECT_TRUE(fs::is_empty(folder_ / "temporary")) << "something was left behind";
    fs::remove_all(folder_);
  }

  void InstallNsys(const std::string& script) const {
    std::ofstream(folder_ / "nsys") << "#!/bin/sh\n" << script;
    fs::permissions(folder_ / "nsys", fs::perms::owner_all);
  }

  Result<FileContent> ReadReport() const {
    ORRERY_TRY(const InputFile file, InputFile::FromMemory("run.nsys-rep", kReport));
    return kFormat.Read(file, {});
  }

  fs::path folder_;
  std::string old_path_;
};

TEST_F(NsysReportTest, AReportIsRecognisedByItsFirstWordsAndNotByItsName) {
  const auto report = InputFile::FromMemory("run.bin", kReport);
  const auto other = InputFile::FromMemory("run.nsys-rep", "NVIDIA something else");

  ASSERT_TRUE(report && other);
  EXPECT_TRUE(kFormat.matches(*report));
  EXPECT_FALSE(kFormat.matches(*other));
}

TEST_F(NsysReportTest, WithoutNsysTheErrorSaysHowToExport) {
  const auto content = ReadReport();

  ASSERT_FALSE(content);
  EXPECT_EQ(content.error().kind(), Error::Kind::kUnsupported);
  EXPECT_NE(content.error().message().find("run.nsys-rep: this is a report"), std::string::npos);
  EXPECT_NE(content.error().message().find("nsys export --type sqlite --include-blobs=true"),
            std::string::npos);
}

TEST_F(NsysReportTest, WhatNsysExportsIsReadAndNamedAfterTheReport) {
  TestDatabase database;
  ASSERT_EQ(database.Run("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
                         "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end);"
                         "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 30);"),
            "");
  std::ofstream(folder_ / "ready.sqlite", std::ios::binary) << database.Bytes();
  // Arguments: export --type sqlite --include-blobs=true --force-overwrite=true -o OUT IN
  InstallNsys(
      "test \"$1 $2 $3 $4 $6\" = 'export --type sqlite --include-blobs=true -o' || exit 9\n"
      "/bin/grep -q 'Tegra Profiler Report' \"$8\" || exit 8\n"
      "/bin/cp " +
      (folder_ / "ready.sqlite").string() + " \"$7\"\n");

  const auto content = ReadReport();

  ASSERT_TRUE(content) << content.error().message();
  ASSERT_EQ(content->traces.size(), 1U);
  EXPECT_EQ(content->traces[0].activities.size(), 1U);
  EXPECT_EQ(content->traces[0].info.files, std::vector<std::string>{"run.nsys-rep"});
}

TEST_F(NsysReportTest, ARefusalOfNsysIsQuoted) {
  InstallNsys("echo 'The report is from a newer version.' >&2\nexit 1\n");

  const auto content = ReadReport();

  ASSERT_FALSE(content);
  EXPECT_NE(content.error().message().find("nsys reported: The report is from a newer version."),
            std::string::npos);
}

}  // namespace
}  // namespace orrery::ingest::nsys_report
