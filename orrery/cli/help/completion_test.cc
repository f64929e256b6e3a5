#include "orrery/cli/help/completion.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/cli/description.h"

namespace orrery::cli {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// orrery simulate [--gpu NAME] [--gpus N] [--overlap a|b] [--set K=V]; fit kernels; help.
VerbDescription Program() {
  const auto option = [](std::string name, std::string value, std::vector<std::string> choices) {
    return OptionDescription{.names = {std::move(name)},
                             .value = std::move(value),
                             .text = "text",
                             .group = "Options",
                             .choices = std::move(choices)};
  };
  VerbDescription program{.name = "orrery", .text = "", .usage = "", .footer = ""};
  program.verbs = {
      {.name = "simulate",
       .text = "s",
       .usage = "",
       .footer = "",
       .options = {option("--gpu", " NAME", {}), option("--gpus", " INT", {}),
                   option("--overlap", " none|model", {"none", "model"}),
                   option("--set", " KEY=VALUE ...", {}), option("--json", "", {})}},
      {.name = "fit", .text = "f", .usage = "", .footer = "", .options = {}, .verbs = {}},
      {.name = "help", .text = "h", .usage = "", .footer = ""}};
  program.verbs[1].verbs = {{.name = "kernels", .text = "k", .usage = "", .footer = ""}};
  return program;
}

std::vector<std::string> WordsFor(const std::vector<std::string>& words) {
  std::vector<std::string> found;
  for (const Candidate& candidate : CandidatesFor(Program(), words)) {
    found.push_back(candidate.word);
  }
  return found;
}

TEST(Completion, VerbsOptionsAndChoices) {
  EXPECT_THAT(WordsFor({""}), ElementsAre("simulate", "fit", "help"));
  EXPECT_THAT(WordsFor({"fit", ""}), ElementsAre("kernels"));
  EXPECT_THAT(WordsFor({"help", "fit", "k"}), ElementsAre("kernels"));
  EXPECT_THAT(WordsFor({"simulate", "job.yaml", "--g"}), ElementsAre("--gpu", "--gpus"));
  EXPECT_THAT(WordsFor({"simulate", "--overlap", "m"}), ElementsAre("model"));
  EXPECT_THAT(WordsFor({"simulate", "--json", "--o"}), ElementsAre("--overlap"));
}

TEST(Completion, FilesAreLeftToTheShell) {
  EXPECT_THAT(WordsFor({"simulate", ""}), IsEmpty());
  EXPECT_THAT(WordsFor({"simulate", "--gpus", ""}), IsEmpty());
}

TEST(Completion, NamesOfTheCatalogues) {
  EXPECT_THAT(WordsFor({"simulate", "--gpu", "h2"}), ElementsAre("H20", "H200"));
  EXPECT_THAT(WordsFor({"simulate", "--set", "model=gpt2-m"}), ElementsAre("model=gpt2-medium"));
}

// Bash splits at "=" and replaces only what stands behind it.
TEST(Completion, WordsThatBashSplit) {
  EXPECT_THAT(WordsFor({"simulate", "--gpu=h20"}), ElementsAre("--gpu=H20", "--gpu=H200"));
  EXPECT_THAT(WordsFor({"simulate", "--gpu", "=", "h20"}), ElementsAre("H20", "H200"));
  EXPECT_THAT(WordsFor({"simulate", "--set", "model", "="}), Contains("gpt2-medium"));
  EXPECT_THAT(WordsFor({"simulate", "--gpu", "=", "H200", "--j"}), ElementsAre("--json"));
}

}  // namespace
}  // namespace orrery::cli
