#include "orrery/base/mapped_file.h"

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace orrery {
namespace {

std::string WriteFile(const std::string& name, std::string_view content) {
  const std::string path = ::testing::TempDir() + name;
  std::ofstream(path, std::ios::binary) << content;
  return path;
}

TEST(MappedFileTest, BytesAreThoseOfTheFileAndSurviveAMove) {
  const std::string path = WriteFile("mapped_file", "some bytes");

  auto opened = MappedFile::Open(path);
  ASSERT_TRUE(opened);
  const MappedFile moved = *std::move(opened);

  EXPECT_EQ(moved.bytes(), "some bytes");
}

TEST(MappedFileTest, AnEmptyFileHasNoBytes) {
  const auto file = MappedFile::Open(WriteFile("mapped_empty", ""));

  ASSERT_TRUE(file);
  EXPECT_TRUE(file->bytes().empty());
}

TEST(MappedFileTest, AMissingFileIsNotFound) {
  const auto file = MappedFile::Open("/no/such/file");

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), Error::Kind::kNotFound);
  EXPECT_EQ(file.error().message(), "/no/such/file: cannot open: No such file or directory");
}

TEST(MappedFileTest, AFolderIsRefused) {
  const auto file = MappedFile::Open(::testing::TempDir());

  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().kind(), Error::Kind::kUnsupported);
}

}  // namespace
}  // namespace orrery
