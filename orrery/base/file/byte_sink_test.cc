#include "orrery/base/file/byte_sink.h"

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "orrery/base/file/byte_source.h"
#include "orrery/base/file/unfinished_file.h"

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

TEST_F(ByteSinkTest, ALinkToNothingCreatesItsTarget) {
  fs::create_symlink("real.json", Path("link.json"));
  ASSERT_TRUE(WriteFile(Path("link.json"), "new"));
  EXPECT_TRUE(fs::is_symlink(Path("link.json")));
  EXPECT_EQ(Content(Path("real.json")), "new");
}

TEST_F(ByteSinkTest, ALoopOfLinksIsRefused) {
  fs::create_symlink("b", Path("a"));
  fs::create_symlink("a", Path("b"));
  EXPECT_FALSE(CreateFile(Path("a")));
  EXPECT_EQ(NumFiles(), 2U);
}

TEST_F(ByteSinkTest, ANewFileFollowsTheUmaskAndAReplacedOneKeepsItsMode) {
  const mode_t before = umask(027);
  ASSERT_TRUE(WriteFile(Path("new"), "1"));
  EXPECT_EQ(fs::status(Path("new")).permissions(), fs::perms(0640));
  fs::permissions(Path("new"), fs::perms(0604));
  ASSERT_TRUE(WriteFile(Path("new"), "2"));
  umask(before);
  EXPECT_EQ(fs::status(Path("new")).permissions(), fs::perms(0604));
  EXPECT_EQ(Content(Path("new")), "2");
}

// Root may write everything: the test is somebody else for a moment.
TEST_F(ByteSinkTest, AReadOnlyFileIsNotReplaced) {
  std::ofstream(Path("kept")) << "old";
  fs::permissions(Path("kept"), fs::perms(0444));
  fs::permissions(folder_, fs::perms(0777));
  const uid_t user = geteuid();
  ASSERT_TRUE(user != 0 || seteuid(65534) == 0);
  const auto sink = CreateFile(Path("kept"));
  ASSERT_EQ(seteuid(user), 0);
  ASSERT_FALSE(sink);
  EXPECT_NE(sink.error().message().find("kept: cannot write: Permission denied"),
            std::string::npos);
}

TEST_F(ByteSinkTest, TwoWritersOfOneFileDoNotShareATemporaryFile) {
  auto one = CreateFile(Path("out")).value();
  auto other = CreateFile(Path("out")).value();
  EXPECT_EQ(NumFiles(), 2U);
  ASSERT_TRUE(one->Write("one"));
  ASSERT_TRUE(other->Write("other"));
  ASSERT_TRUE(one->Close());
  EXPECT_EQ(Content(Path("out")), "one");
  ASSERT_TRUE(other->Close());
  EXPECT_EQ(Content(Path("out")), "other");
}

TEST_F(ByteSinkTest, TheLongestNameCanBeWritten) {
  const std::string name(255, 'n');  // NAME_MAX
  ASSERT_TRUE(WriteFile(Path(name), "x"));
  EXPECT_EQ(Content(Path(name)), "x");
}

TEST_F(ByteSinkTest, ASignalEndsTheProgramWithoutATemporaryFileOrFolder) {
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    const pid_t child = fork();
    if (child == 0) {
      std::signal(signal,
                  SIG_DFL);  // a shell starts programs in the background with SIGINT ignored
      RemoveUnfinishedFilesOnSignals();
      const auto closed = CreateFile(Path("closed"));
      const auto open = CreateFile(Path("open"));
      fs::create_directories(Path("folder") + "/below");
      std::ofstream(Path("folder") + "/below/file") << "x";
      const UnfinishedFile folder(Path("folder"));
      if ((*closed)->Write("x") && (*closed)->Close() && (*open)->Write("x")) {
        std::raise(signal);
      }
      std::_Exit(1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal) << status;
    EXPECT_EQ(NumFiles(), 1U) << signal;  // the one that was closed
  }
}

TEST_F(ByteSinkTest, UnfinishedFilesAreKnownByTheirNames) {
  auto sink = CreateFile(Path("out.json")).value();
  EXPECT_TRUE(IsUnfinishedFile(fs::directory_iterator(folder_)->path().filename().string()));
  for (const char* name : {"rank0.json.part-123", "rank0.json.gz.part"}) {
    EXPECT_TRUE(IsUnfinishedFile(name)) << name;
  }
  for (const char* name : {"rank0.json", "part", "a.part-", "a.part-1.json", "a.part-x", "a.parts",
                           "part-00000", ""}) {
    EXPECT_FALSE(IsUnfinishedFile(name)) << name;
  }
}

TEST_F(ByteSinkTest, AFolderIsNotReplaced) {
  fs::create_directory(Path("folder"));
  const auto sink = CreateFile(Path("folder"));
  ASSERT_FALSE(sink);
  EXPECT_NE(sink.error().message().find("Is a directory"), std::string::npos);
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
