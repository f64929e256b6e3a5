#include "orrery/workload/job/launch_script.h"

#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> WordsOf(std::string_view script, const ShellVariables& given = {}) {
  return ReadLaunchScript(script, given).value().words;
}

LaunchCommand CommandOf(std::string_view script, const ShellVariables& given) {
  return ReadLaunchScript(script, given).value();
}

// The form of Megatron-LM's own examples: arrays that are put together at the end.
TEST(LaunchScript, ArraysAreElementsOfTheCommand) {
  EXPECT_THAT(WordsOf("GPUS_PER_NODE=8\n"
                      "MODEL_ARGS=(\n"
                      "    --num-layers 96   # layers\n"
                      "    --lr $LR\n"
                      ")\n"
                      "MODEL_ARGS+=(--bf16)\n"
                      "torchrun --nproc_per_node ${GPUS_PER_NODE} pretrain_gpt.py \\\n"
                      "    ${MODEL_ARGS[@]} \"${MODEL_ARGS[0]}\"\n"),
              ElementsAre("torchrun", "--nproc_per_node", "8", "pretrain_gpt.py", "--num-layers",
                          "96", "--lr", "$LR", "--bf16", "${MODEL_ARGS[0]}"));
}

// The older form: one text over many lines, split where it is used without quotes.
TEST(LaunchScript, TextIsSplitOutsideOfQuotesOnly) {
  EXPECT_THAT(WordsOf("ARGS=\"\n    --num-layers 24 \\\n    --name 'a'\n\"\n"
                      "python train.py $ARGS --title \"x $UNSET\" --title=\"a b\"\n"),
              ElementsAre("python", "train.py", "--num-layers", "24", "--name", "'a'", "--title",
                          "x $UNSET", "--title=a b"));
}

// 2 · 8 = 16, 16 / 4 = 4; sums are not read.
TEST(LaunchScript, DefaultsAndProductsAreComputed) {
  EXPECT_THAT(
      WordsOf("NODES=${1:-2}\nWORLD=$(($NODES * 8))\n: ${TP:=4}\n"
              "run --a $((WORLD / TP)) --b ${NONE:-$TP} --c $((TP+1)) --d $(nproc --all)\n"),
      ElementsAre("run", "--a", "4", "--b", "4", "--c", "$((TP+1))", "--d", "$(nproc--all)"));
}

TEST(LaunchScript, GivenVariablesWin) {
  EXPECT_THAT(WordsOf("TP=1\nrun --tp $TP --pp $PP\n", {{"TP", {"8"}}, {"PP", {"2"}}}),
              ElementsAre("run", "--tp", "8", "--pp", "2"));
}

TEST(LaunchScript, BatchLinesSetTheVariablesOfSlurm) {
  const LaunchCommand command = CommandOf(
      "#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --gres=gpu:h100:8\n"
      "srun torchrun --nnodes $SLURM_NNODES --nproc-per-node $SLURM_GPUS_ON_NODE x.py\n",
      {});
  EXPECT_THAT(command.words,
              ElementsAre("srun", "torchrun", "--nnodes", "4", "--nproc-per-node", "8", "x.py"));
  EXPECT_EQ(command.variables.at("SLURM_GPUS_PER_NODE"), std::vector<std::string>{"8"});
}

TEST(LaunchScript, BranchesCountInOrderAndAreNamed) {
  const LaunchCommand command =
      CommandOf("if [ $SIZE = 8b ]; then TP=1; else TP=8; fi\nPP=2\nrun --tp $TP --pp $PP\n", {});
  EXPECT_THAT(command.words, ElementsAre("run", "--tp", "8", "--pp", "2"));
  ASSERT_EQ(command.assumed.size(), 1U);
  EXPECT_THAT(command.assumed[0], HasSubstr("sets TP under a condition"));
}

TEST(LaunchScript, KnownConditionsChooseTheBranch) {
  const LaunchCommand command = CommandOf(
      "TP=4\nCKPT=false\nARGS=(--a)\n"
      "if [ \"$CKPT\" = true ]; then\n  ARGS+=(--full)\n"
      "elif [[ $TP -gt 1 ]]; then\n  ARGS+=(--sp)\nelse ARGS+=(--none)\nfi\n"
      "if [ -z \"\" ]; then if [ $TP != 4 ]; then ARGS=(); fi; X=\"b c\"; fi\n"
      "if [ $TP = 4 ] && [ $UNKNOWN = 1 ]; then Y=1; fi\n"
      "run ${ARGS[@]} --x \"$X\" --y $Y\n",
      {});
  EXPECT_THAT(command.words, ElementsAre("run", "--a", "--sp", "--x", "b c", "--y", "1"));
  ASSERT_EQ(command.assumed.size(), 1U);
  EXPECT_THAT(command.assumed[0], HasSubstr("sets Y under a condition"));
}

TEST(LaunchScript, TheCommandWithMostOptionsIsTaken) {
  EXPECT_THAT(
      WordsOf("pip install --quiet x\nCUDA_DEVICE_MAX_CONNECTIONS=1 run --a 1 --b 2 | tee log\n"
              "echo --done\n"),
      ElementsAre("run", "--a", "1", "--b", "2"));
}

TEST(LaunchScript, ACommandInsideOfATextIsSplit) {
  EXPECT_THAT(WordsOf("A='--x 1'\nsrun bash -c \"python t.py $A --y 2\"\n"),
              ElementsAre("srun", "bash", "-c", "python", "t.py", "--x", "1", "--y", "2"));
}

TEST(LaunchScript, TextForOtherProgramsIsSkipped) {
  EXPECT_THAT(WordsOf("cat > hosts <<EOF\ndon't --read --this --text\nEOF\nrun --a 1\n"),
              ElementsAre("run", "--a", "1"));
}

TEST(LaunchScript, UnfinishedScriptsEnd) {
  for (const char* script : {"", "'", "\"$", "${", "$((", "A=(", "x <<", "x <<EOF\n", "`", "\\"}) {
    EXPECT_THAT(WordsOf(script), IsEmpty()) << script;
  }
}

std::string Repeated(std::string_view text, int times) {
  std::string repeated;
  for (int i = 0; i < times; ++i) {
    repeated += text;
  }
  return repeated;
}

std::string RefusalOf(const std::string& script) {
  const Result<LaunchCommand> command = ReadLaunchScript(script, {});
  return command ? "" : command.error().message();
}

TEST(LaunchScript, NestedDefaultsAreReadUpToADepth) {
  const auto nested = [](int depth) {
    return "X=" + Repeated("${A:-", depth) + "1" + Repeated("}", depth) + "\nrun --a $X\n";
  };
  EXPECT_THAT(WordsOf(nested(100)), ElementsAre("run", "--a", "1"));
  for (const int depth : {101, 50'000}) {
    EXPECT_THAT(RefusalOf(nested(depth)), HasSubstr("more than 100 expansions"));
  }
}

// Twenty-nine variables, each ten times the one before: 10^29 letters.
TEST(LaunchScript, ExpansionsHaveALimitOfSize) {
  std::string bomb = "A0=x\n";
  std::string array = "B0=(a '' b)\n";
  for (int i = 1; i < 30; ++i) {
    bomb += "A" + std::to_string(i) + "=\"" + Repeated("$A" + std::to_string(i - 1), 10) + "\"\n";
    array += "B" + std::to_string(i) + "=(" +
             Repeated("\"${B" + std::to_string(i - 1) + "[@]}\" ", 10) + ")\n";
  }
  EXPECT_THAT(RefusalOf(bomb + "run --a 1\n"), HasSubstr("expand to more than 1048576 bytes"));
  EXPECT_THAT(RefusalOf(array + "run --a 1\n"), HasSubstr("expand to more than 1048576 bytes"));
  EXPECT_THAT(RefusalOf("A=x\n" + Repeated("A=$A$A; ", 40)), HasSubstr("expand to more than"));
}

TEST(LaunchScript, ScriptsHaveALimitOfSize) {
  EXPECT_THAT(RefusalOf(std::string((1 << 20) + 1, '#')), HasSubstr("at most 1048576 bytes"));
  EXPECT_THAT(RefusalOf(Repeated("${", 500'000)), HasSubstr("brackets are never closed"));
  EXPECT_EQ(RefusalOf(std::string(1 << 20, 'a')), "");
}

}  // namespace
}  // namespace orrery::workload
