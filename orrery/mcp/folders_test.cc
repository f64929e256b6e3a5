#include "orrery/mcp/folders.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/document/value.h"

namespace orrery::mcp {
namespace {

namespace fs = std::filesystem;

// "open" may be read, "secret" not; the test works in "open", as the program does.
class FoldersTest : public testing::Test {
 protected:
  FoldersTest() {
    fs::create_directories(root_ / "open" / "below");
    fs::create_directories(root_ / "out");
    Write("secret", "{}");
    fs::current_path(root_ / "open");
    fs::create_symlink(root_ / "secret", "link");
    fs::create_symlink("below", "inner");
  }

  ~FoldersTest() override {
    fs::current_path(before_);
    fs::remove_all(root_);
  }

  void Write(const fs::path& path, std::string_view text) { std::ofstream(root_ / path) << text; }

  [[nodiscard]] Folders Open(const std::string& writable = "") const {
    return *Folders::Open({root_ / "open"}, writable.empty() ? "" : (root_ / writable).string());
  }

  // The error without its end, which is always the same.
  [[nodiscard]] std::string Checked(std::string_view name, Value value) const {
    const Status checked = Open().CheckArguments(Value::Object().Set(name, std::move(value)));
    return checked
               ? ""
               : checked.error().message().substr(0, checked.error().message().find(": outside"));
  }

  fs::path before_ = fs::current_path();
  fs::path root_ = fs::canonical(fs::temp_directory_path()) /
                   (std::string("folders_test_") +
                    testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(FoldersTest, TakesWhatLiesBelowTheFolders) {
  EXPECT_EQ(Checked("jobs", "job.yaml"), "");
  EXPECT_EQ(Checked("jobs", "below/../job.yaml"), "");
  EXPECT_EQ(Checked("jobs", (root_ / "open" / "job.yaml").string()), "");
  EXPECT_EQ(Checked("jobs", "inner/job.yaml"), "");
  EXPECT_EQ(Checked("gpu", "B200"), "");
  EXPECT_EQ(Checked("checkpoint_traffic", "200GB/s"), "");
  EXPECT_EQ(Checked("steps", 10), "");
}

TEST_F(FoldersTest, RefusesWhatLiesOutside) {
  EXPECT_EQ(Checked("jobs", "../secret"), "jobs: ../secret");
  EXPECT_EQ(Checked("topology", "/etc/passwd"), "topology: /etc/passwd");
  EXPECT_EQ(Checked("background", "below/../../none"), "background: below/../../none");
  EXPECT_EQ(Checked("jobs", "link"), "jobs: link");
  EXPECT_EQ(Checked("jobs", (root_ / "open2").string()), "jobs: " + (root_ / "open2").string());
}

TEST_F(FoldersTest, LooksAtEachTextOfAListAndOfAnObject) {
  EXPECT_EQ(Checked("jobs", Value::List().Add("a.yaml").Add("../secret")), "jobs: ../secret");
  EXPECT_EQ(Checked("x", Value::Object().Set("y", "../secret")), "y: ../secret");
}

TEST_F(FoldersTest, RefusesValuesOfSettings) {
  EXPECT_EQ(Checked("set", "plan.tp=4"), "");
  EXPECT_EQ(Checked("set", "model={config: /etc/passwd}"), "set: /etc/passwd");
  EXPECT_EQ(Checked("set", "model.config=../secret"), "set: ../secret");
}

TEST_F(FoldersTest, RefusesPathsInsideOfJobs) {
  Write("open/below/good.yaml", "model: {config: ../model.json}\nname: a/b");
  Write("open/below/bad.yaml", "model:\n  - {config: ../../secret}\n");
  Write("open/bad", "megatron: /etc/passwd");

  EXPECT_EQ(Checked("jobs", "below/good.yaml"), "");
  EXPECT_EQ(Checked("jobs", "below/bad.yaml"), "jobs: below/bad.yaml: ../../secret");
  EXPECT_EQ(Checked("jobs", "bad"), "jobs: bad: /etc/passwd");
  EXPECT_EQ(Checked("job_yaml", "model: {config: ../secret}"), "job_yaml: ../secret");
  EXPECT_EQ(Checked("job_yaml", "model: gpt2  # not ../secret"), "");
}

TEST_F(FoldersTest, RefusesFoldersThatLeadOut) {
  fs::create_symlink(root_ / "secret", "below/rank0.json");
  EXPECT_EQ(Checked("from", "below"), "from: below/rank0.json");

  fs::remove("below/rank0.json");
  Write("open/below/job.yaml", "model: /etc/passwd");
  EXPECT_EQ(Checked("from", "below"), "from: below/job.yaml: /etc/passwd");
}

TEST_F(FoldersTest, RefusesNullCharactersAndEndlessJobs) {
  EXPECT_EQ(Checked("jobs", std::string("a\0b", 3)), "jobs: a text must not have a null character");
  EXPECT_EQ(Checked("job_yaml", "a: &a [*a]"), "job_yaml: the job has too many levels or aliases");
}

TEST_F(FoldersTest, WritesOnlyNewFilesBelowTheWritableFolder) {
  const Folders folders = Open("out");
  Write("out/old.html", "");

  EXPECT_EQ(folders.OutputPath("page", "new.html"), (root_ / "out" / "new.html").string());
  for (const char* const file : {"old.html", "../open/x.html", "/x.html", ".", ""}) {
    EXPECT_FALSE(folders.OutputPath("page", file)) << file;
  }
  EXPECT_EQ(Open().OutputPath("page", "x.html").error().message(),
            "page: nothing may be written; orrery mcp --write DIR allows it in DIR");
}

TEST_F(FoldersTest, NeedsFoldersThatExist) {
  EXPECT_EQ(Folders::Open({"none"}, "").error().message(), "none: there is no such folder");
  EXPECT_FALSE(Folders::Open({root_ / "secret"}, ""));
}

}  // namespace
}  // namespace orrery::mcp
