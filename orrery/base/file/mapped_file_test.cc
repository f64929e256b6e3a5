#include "orrery/base/file/mapped_file.h"

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"

namespace orrery {
namespace {

using ::testing::HasSubstr;

class MappedFileTest : public ::testing::Test {
 protected:
  ~MappedFileTest() override { std::filesystem::remove(path_); }

  MappedFile Map(std::string_view content) {
    EXPECT_TRUE(WriteFile(path_, content).has_value());
    return MappedFile::Open(path_).value();
  }

  std::string path_ = ::testing::TempDir() + "mapped_file_test_" +
                      ::testing::UnitTest::GetInstance()->current_test_info()->name();
};

TEST_F(MappedFileTest, TheContentIsThere) {
  EXPECT_EQ(Map("content").bytes(), "content");
}

TEST_F(MappedFileTest, AnEmptyFileIsEmpty) {
  EXPECT_EQ(Map("").bytes(), "");
}

TEST_F(MappedFileTest, TheContentMovesWithTheObject) {
  MappedFile first = Map("content");
  MappedFile second = std::move(first);
  MappedFile third = std::move(second);
  second = std::move(third);

  EXPECT_EQ(second.bytes(), "content");
}

TEST_F(MappedFileTest, AMissingFileIsNotFound) {
  const auto file = MappedFile::Open("/no/such/file");

  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().kind(), Error::Kind::kNotFound);
  EXPECT_THAT(file.error().message(), HasSubstr("/no/such/file"));
}

TEST_F(MappedFileTest, ADirectoryIsRefused) {
  const auto file = MappedFile::Open(::testing::TempDir());

  ASSERT_FALSE(file.has_value());
  EXPECT_THAT(file.error().message(), HasSubstr("is not a regular file"));
}

}  // namespace
}  // namespace orrery
