#include "orrery/cli/verb.h"

#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/api/session.h"
#include "orrery/base/error.h"

namespace orrery::cli {
namespace {

using ::testing::HasSubstr;

// The exit status and the text on standard error when the only verb does `run`.
std::pair<int, std::string> RunOf(const std::function<Result<int>()>& run) {
  std::string program = "orrery";
  std::string verb = "work";
  char* words[] = {program.data(), verb.data(), nullptr};
  ::testing::internal::CaptureStderr();
  const int status = RunCommandLine(2, words, "description", "version", [&](Verb& app) {
    app.AddVerb("work", "does the work").OnRun([&](const api::Session& /*session*/) {
      return run();
    });
  });
  return {status, ::testing::internal::GetCapturedStderr()};
}

TEST(RunCommandLine, AnExceptionThatNobodyCaughtIsReportedAsABug) {
  const auto [status, sentence] =
      RunOf([]() -> Result<int> { throw std::out_of_range("column 7"); });
  EXPECT_EQ(status, 70);
  EXPECT_THAT(sentence, HasSubstr("orrery: this is a bug in Orrery (column 7); please report it"));
}

TEST(RunCommandLine, SoIsWhatIsNoException) {
  const auto [status, sentence] = RunOf([]() -> Result<int> { throw 7; });
  EXPECT_EQ(status, 70);
  EXPECT_THAT(sentence, HasSubstr("this is a bug"));
}

TEST(RunCommandLine, TooLittleMemoryIsNone) {
  const auto [status, sentence] = RunOf([]() -> Result<int> { throw std::bad_alloc(); });
  EXPECT_EQ(status, kExitUnusable);
  EXPECT_EQ(sentence, "orrery: out of memory\n");
}

TEST(RunCommandLine, TheCommandIsWhatAShellTakes) {
  std::string words[] = {"/usr/bin/orrery", "work", "a b", "it's", "run.json", ""};
  char* argv[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(),
                  words[4].data(), words[5].data(), nullptr};
  std::string command;
  RunCommandLine(6, argv, "description", "version", [&](Verb& app) {
    command = app.invocation().command;
    app.AddVerb("work", "");
  });
  EXPECT_EQ(command, "orrery work 'a b' 'it'\\''s' run.json ''");
}

}  // namespace
}  // namespace orrery::cli
