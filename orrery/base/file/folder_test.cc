#include "orrery/base/file/folder.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace orrery {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class FolderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "orrery-folder-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    top_ = pattern;
  }

  void TearDown() override { fs::remove_all(top_); }

  [[nodiscard]] std::string In(const std::string& name) const { return top_ + "/" + name; }

  void AddFile(const std::string& name) const { std::ofstream(In(name)) << "x"; }

  std::string top_;
};

TEST_F(FolderTest, WhatIsInAFolderIsSorted) {
  AddFile("b");
  fs::create_directory(In("c"));
  AddFile("a");
  EXPECT_THAT(PathsIn(top_).value(), ElementsAre(In("a"), In("b"), In("c")));
}

TEST_F(FolderTest, FilesBelowAreThoseOfAllFoldersButLinkedOnes) {
  fs::create_directories(In("b/deep"));
  AddFile("b/deep/y");
  AddFile("a");
  fs::create_symlink("a", In("c"));
  fs::create_directory_symlink("b", In("again"));
  fs::create_symlink("nowhere", In("dangling"));
  EXPECT_THAT(FilesBelow(top_).value(), ElementsAre(In("a"), In("b/deep/y"), In("c")));
}

TEST_F(FolderTest, AFolderThatCannotBeListedIsNamedWithTheReason) {
  AddFile("file");
  fs::create_symlink("loop", In("loop"));
  EXPECT_EQ(PathsIn(In("absent")).error().message(), In("absent") + ": no such folder");
  EXPECT_EQ(PathsIn(In("file")).error().message(),
            In("file") + ": cannot read the folder: Not a directory");
  EXPECT_EQ(PathsIn(In("loop")).error().message(),
            In("loop") + ": cannot read the folder: Too many levels of symbolic links");
  EXPECT_THAT(PathsIn(In(std::string(300, 'n'))).error().message(), EndsWith("File name too long"));
}

// Names of 250 characters, 20 deep: the path of a folder below is longer than any that can be
// opened (PATH_MAX, 4096), also for root.
TEST_F(FolderTest, OneBelowThatCannotBeListedIsAnErrorToo) {
  const std::string name(250, 'd');
  int folder = open(top_.c_str(), O_DIRECTORY);
  for (int depth = 0; depth < 20; ++depth) {
    ASSERT_EQ(mkdirat(folder, name.c_str(), 0700), 0);
    const int below = openat(folder, name.c_str(), O_DIRECTORY);
    close(folder);
    folder = below;
  }
  close(folder);
  const auto files = FilesBelow(top_);
  ASSERT_FALSE(files.has_value());
  EXPECT_THAT(files.error().message(), StartsWith(In(name)));
  EXPECT_THAT(files.error().message(), HasSubstr("cannot read the folder: File name too long"));
  AddFile("kept");
  std::vector<UnlistedFolder> unlisted;
  EXPECT_THAT(FilesBelow(top_, &unlisted).value(), ElementsAre(In("kept")));
  ASSERT_EQ(unlisted.size(), 1);
  EXPECT_EQ(unlisted.front().error.message(), files.error().message());
}

}  // namespace
}  // namespace orrery
