#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/ingest/format.h"
#include "orrery/ingest/input_file.h"
#include "orrery/ingest/registry.h"
#include "orrery/trace/trace_set.h"
#include "test_paths.h"

namespace orrery::ingest::card {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

FileContent ReadText(std::string_view text) {
  return kFormat.Read(*InputFile::FromMemory("card.yaml", text), {}).value();
}

FileContent ReadTestData(const std::string& name) {
  const auto file = InputFile::Open(ORRERY_TEST_DATA "/card/" + name);
  EXPECT_TRUE(file.has_value() && kFormat.matches(*file));
  return kFormat.Read(*file, {}).value();
}

bool IsCard(std::string_view text) {
  return kFormat.matches(*InputFile::FromMemory("x", text));
}

TEST(CardTest, ScalarsAreFoundByTheirPath) {
  const FileContent content = ReadTestData("irregular.yaml");

  ASSERT_TRUE(content.card.has_value());
  const trace::WorkloadCard& card = *content.card;
  EXPECT_EQ(card.Text("workload.model.phase"), "training");
  EXPECT_EQ(card.Integer("workload.model.iteration"), 10);
  EXPECT_EQ(card.Integer("workload.data.batch_size"), 64);
  EXPECT_EQ(card.Integer("workload.hardware.xpu_spec.total_count"), 16);
  EXPECT_EQ(card.Text("workload.hardware.notes_by_hand"), "rail-optimised: yes");
  EXPECT_TRUE(content.problems.all().empty());
}

TEST(CardTest, EmptyValuesAreAbsent) {
  const auto card = ReadTestData("irregular.yaml").card;

  EXPECT_EQ(card->Text("hf_url"), std::nullopt);
  EXPECT_EQ(card->Text("workload.model.precision"), std::nullopt);
  EXPECT_EQ(card->Text("workload.data.dataset"), std::nullopt);
  EXPECT_EQ(card->Text("model_executor.protocol_selection.1"), std::nullopt);
  EXPECT_EQ(ReadText("workload:\n  data: {dataset: '', seq_len: 8}\n").card->values.size(), 1U);
}

TEST(CardTest, AListMayHoldWordsAndNumbers) {
  const auto card = ReadTestData("irregular.yaml").card;

  EXPECT_EQ(card->Number("workload.hardware.network_topo.bandwidth_gbps.0"), std::nullopt);
  EXPECT_EQ(card->Number("workload.hardware.network_topo.bandwidth_gbps.1"), 3600.0);
}

TEST(CardTest, KeysAreFoldedButNamesOfVariablesAreNot) {
  const auto card = ReadTestData("irregular.yaml").card;

  EXPECT_EQ(card->Text("model_executor.framework.name"), "torchtitan");
  EXPECT_EQ(card->Text("model_executor.communication_library.version"), "2.27.5");
  EXPECT_EQ(card->Text("model_executor.communication_library.env.NCCL_ALGO"), "Ring");
  EXPECT_EQ(card->Text("model_executor.communication_library.env.NCCL_DEBUG"), "1");
}

TEST(CardTest, TheArchitectureMayStandDirectlyUnderTheModel) {
  const auto card = ReadTestData("irregular.yaml").card;

  EXPECT_EQ(card->Integer("workload.model.model_arch.num_params"), 46'700'000'000);
  EXPECT_EQ(card->Integer("workload.model.model_arch.num_layers"), 33);  // its own place wins
}

TEST(CardTest, ListsOfTracesAreSplitAtCommas) {
  const auto card = ReadTestData("irregular.yaml").card;

  EXPECT_EQ(card->Text("metric_source.traces.0"), "nsys");
  EXPECT_EQ(card->Text("metric_source.traces.1"), "json");
  EXPECT_EQ(card->Text("metric_source.traces.2"), "kineto_trace");
  EXPECT_EQ(card->Text("metric_source.traces.3"), std::nullopt);
  EXPECT_EQ(card->Text("metric_source.metrics_specific_trace.1"), "step_time");
}

TEST(CardTest, ACardThatDoesNotParseIsAProblemWithLineAndColumn) {
  const FileContent content = ReadTestData("stray_word.yaml");

  EXPECT_FALSE(content.card.has_value());
  ASSERT_TRUE(content.problems.has_loss());
  EXPECT_EQ(content.problems.all()[0].what, "workload card that cannot be used");
  // The parser notices the stray word of line 5 at the colon after the next key.
  EXPECT_THAT(content.problems.all()[0].first, StartsWith("line 6, column 7: "));
}

TEST(CardTest, ATabAsIndentationIsAProblemToo) {
  const FileContent content = ReadText("workload:\n\tmodel:\n\t\tphase: training\n");

  EXPECT_FALSE(content.card.has_value());
  ASSERT_TRUE(content.problems.has_loss());
  EXPECT_THAT(content.problems.all()[0].first, StartsWith("line 2, column "));
}

TEST(CardTest, OfTwoEqualKeysTheLastCounts) {
  const FileContent content =
      ReadText("workload: {model: {phase: training, moe: true}, Model: {phase: inference}}\n");

  EXPECT_EQ(content.card->Text("workload.model.phase"), "inference");
  EXPECT_EQ(content.card->Text("workload.model.moe"), std::nullopt);
  EXPECT_EQ(content.problems.all().at(0).count, 1);
}

TEST(CardTest, AFurtherDocumentIsCountedAsLost) {
  const FileContent content = ReadText("workload: {a: 1}\n---\nworkload: {a: 2}\n");

  EXPECT_EQ(content.card->Text("workload.a"), "1");
  EXPECT_TRUE(content.problems.has_loss());
}

// The parser ends at the stray comma of line 1 without an error; its function for several documents
// takes all memory.
TEST(CardTest, TextAtWhichTheParserStopsWithoutAWordIsAProblem) {
  const FileContent nothing_read = ReadText(", x\nworkload: {a: 1}\n");
  EXPECT_FALSE(nothing_read.card.has_value());
  EXPECT_TRUE(nothing_read.problems.has_loss());

  const FileContent partly_read = ReadText("workload: {a: 1}\n}\nb: 2\n");
  EXPECT_TRUE(partly_read.problems.has_loss());
}

// Nine lists of nine aliases each unfold to 9^9 values.
TEST(CardTest, AliasesThatUnfoldToTooMuchAreRefused) {
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n";
  for (int level = 1; level < 9; ++level) {
    const std::string before = "*a" + std::to_string(level - 1);
    bomb += "a" + std::to_string(level) + ": &a" + std::to_string(level) + " [" + before;
    for (int item = 1; item < 9; ++item) {
      bomb += ", " + before;
    }
    bomb += "]\n";
  }

  const FileContent content = ReadText(bomb + "workload: *a8\n");

  EXPECT_FALSE(content.card.has_value());
  EXPECT_THAT(content.problems.all().at(0).first, HasSubstr("more than 10000 values"));
}

TEST(CardTest, DeepNestingIsRefused) {
  for (const std::size_t depth : {100U, 100'000U}) {
    const FileContent content = ReadText("workload: " + std::string(depth, '['));
    EXPECT_FALSE(content.card.has_value());
    EXPECT_TRUE(content.problems.has_loss());
  }
  const auto nested = [](std::size_t depth) {
    return "workload: " + std::string(depth, '[') + "x" + std::string(depth, ']') + "\n";
  };
  EXPECT_FALSE(ReadText(nested(65)).card.has_value());
  EXPECT_TRUE(ReadText(nested(60)).card.has_value());
}

TEST(CardTest, ALargeFileIsRefusedWithItsLimit) {
  const FileContent content = ReadText("workload: {a: 1}\n" + std::string(1 << 20, '#'));

  EXPECT_FALSE(content.card.has_value());
  EXPECT_THAT(content.problems.all().at(0).first, HasSubstr("larger than 1048576 bytes"));
}

TEST(CardTest, ACardIsKnownByItsKeys) {
  EXPECT_TRUE(IsCard("version: 1\nworkload:\n  model: x\n"));
  EXPECT_TRUE(IsCard("metric_source: {traces: [json]}\n"));
  EXPECT_TRUE(IsCard("\"workload\" : {}\r\n"));
  EXPECT_TRUE(IsCard("oops\nWorkload:\n\tbroken"));
}

TEST(CardTest, OtherFilesAreNoCards) {
  EXPECT_FALSE(IsCard("8 0.5 0.5\n"));  // gpu_step_score_config.yaml
  EXPECT_FALSE(IsCard("G0: 8\nT0: 1.5\nw: 0.5\n"));
  EXPECT_FALSE(IsCard("topology: [ Ring ]\nnpus_count: [ 8 ]\n"));
  EXPECT_FALSE(IsCard("job:\n  workload: gpt\n"));
  EXPECT_FALSE(IsCard(R"({"workload_graph": []})"));
  EXPECT_FALSE(IsCard(std::string_view("workload:\0", 10)));
  EXPECT_FALSE(IsCard(""));
}

class SharedCardTest : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(All, SharedCardTest,
                         ::testing::Values("workloads/card/irregular.yaml",
                                           "workloads/card/megatron-tp8.yaml",
                                           "golden/workload_card_used.yaml"));

TEST_P(SharedCardTest, CardsOfTheReferenceDataAreRead) {
  const std::string path = std::string(ORRERY_SHARED "/") + GetParam();
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "needs the shared data: " << path;
  }
  const auto file = InputFile::Open(path);
  ASSERT_TRUE(kFormat.matches(*file));

  const auto content = kFormat.Read(*file, {});

  ASSERT_TRUE(content->card.has_value());
  EXPECT_TRUE(content->problems.all().empty());
  EXPECT_EQ(content->card->Text("workload.model.phase"), "training");
  EXPECT_EQ(content->card->Integer("workload.hardware.xpu_spec.count_per_node"), 8);
}

}  // namespace
}  // namespace orrery::ingest::card
