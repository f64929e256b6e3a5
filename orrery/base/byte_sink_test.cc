#include "orrery/base/byte_sink.h"

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <unistd.h>

#include "orrery/base/byte_source.h"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class ByteSinkTest : public ::testing::Test {
 protected:
  ByteSinkTest()
      : folder_(fs::temp_directory_path() /
                ("orrery_byte_sink_" + std::to_string(getpid()) + "_" +
                 ::testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(folder_);
  }

  ~ByteSinkTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string Path(const std::string& name) const { return folder_ / name; }

  [[nodiscard]] std::size_t NumFiles() const {
    return static_cast<std::size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// Several megabytes that compress, but not to nothing, so that every inner buffer is filled.
std::string LongText() {
  std::string text;
  for (int i = 0; i < 400'000; ++i) {
    text += std::to_string(i * 2654435761LL % 1'000'003) + ",";
  }
  return text;
}

std::string Unpacked(const std::string& packed) {
  auto source = Unpack(OpenMemory(packed));
  return ReadAll(*source).value();
}

TEST_F(ByteSinkTest, TheFileAppearsOnlyWhenItIsClosed) {
  auto sink = CreateFile(Path("out.json")).value();
  ASSERT_TRUE(sink->Write("half "));
  EXPECT_FALSE(fs::exists(Path("out.json")));
  ASSERT_TRUE(sink->Write("done"));
  ASSERT_TRUE(sink->Close());
  EXPECT_EQ(Content(Path("out.json")), "half done");
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(ByteSinkTest, AnUnclosedSinkLeavesTheOldFileAndNothingElse) {
  std::ofstream(Path("out.json")) << "old";
  {
    auto sink = CreateFile(Path("out.json")).value();
    ASSERT_TRUE(sink->Write("new"));
  }
  EXPECT_EQ(Content(Path("out.json")), "old");
  EXPECT_EQ(NumFiles(), 1U);
}

TEST_F(ByteSinkTest, ALinkStaysALinkToTheNewContent) {
  std::ofstream(Path("real.json")) << "old";
  fs::create_symlink(Path("real.json"), Path("link.json"));
  auto sink = CreateFile(Path("link.json")).value();
  ASSERT_TRUE(sink->Write("new"));
  ASSERT_TRUE(sink->Close());
  EXPECT_TRUE(fs::is_symlink(Path("link.json")));
  EXPECT_EQ(Content(Path("real.json")), "new");
}

TEST_F(ByteSinkTest, ADeviceIsWrittenAndNotReplaced) {
  auto sink = CreateFile("/dev/null").value();
  ASSERT_TRUE(sink->Write("gone"));
  ASSERT_TRUE(sink->Close());
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

TEST_F(ByteSinkTest, AFolderThatIsNotThereIsAnErrorWithThePath) {
  const auto sink = CreateFile(Path("missing/out.json"));
  ASSERT_FALSE(sink);
  EXPECT_NE(sink.error().message().find("missing/out.json"), std::string::npos);
}

TEST_F(ByteSinkTest, NamesChooseTheCompressionAndContentComesBack) {
  const std::string text = LongText();
  for (const std::string name : {"a.json.gz", "a.json.zst", "a.json"}) {
    auto sink = CreatePackedFile(Path(name)).value();
    ASSERT_TRUE(sink->Write(std::string_view(text).substr(0, 1000)));
    ASSERT_TRUE(sink->Write(std::string_view(text).substr(1000)));
    ASSERT_TRUE(sink->Close());
    const std::string packed = Content(Path(name));
    EXPECT_EQ(SniffCompression(packed), CompressionOfName(name)) << name;
    EXPECT_EQ(Unpacked(packed), text) << name;
  }
  EXPECT_LT(fs::file_size(Path("a.json.gz")), text.size());
  EXPECT_LT(fs::file_size(Path("a.json.zst")), text.size());
}

TEST_F(ByteSinkTest, NothingWrittenPacksToAnEmptyMember) {
  for (const std::string name : {"empty.gz", "empty.zst"}) {
    auto sink = CreatePackedFile(Path(name)).value();
    ASSERT_TRUE(sink->Close());
    const std::string packed = Content(Path(name));
    EXPECT_EQ(SniffCompression(packed), CompressionOfName(name));
    EXPECT_EQ(Unpacked(packed), "");
  }
}

}  // namespace
}  // namespace orrery
