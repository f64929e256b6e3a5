#include "orrery/workload/model/presets.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

Model Named(std::string_view name) {
  return *ModelOf(**FindPreset(name), DataType::kFp32);
}

std::int64_t Parameters(std::string_view name) {
  return TotalParameters(Named(name));
}

TEST(Presets, SayWhatIsSpelledOutByHand) {
  EXPECT_EQ(*Named("llama3-8b").transformer(), Llama3());
  EXPECT_EQ(*Named("mixtral-8x7b").transformer(), Mixtral());
  EXPECT_EQ(*Named("deepseek-v3").transformer(), DeepseekV3());
  EXPECT_EQ(*Named("vit-b16").transformer(), VitBase());
}

struct Published {
  std::string_view name;
  std::int64_t parameters;
};

class PublishedCount : public testing::TestWithParam<Published> {};

// As the public checkpoints have them.
TEST_P(PublishedCount, OfParameters) {
  EXPECT_EQ(Parameters(GetParam().name), GetParam().parameters) << GetParam().name;
}

INSTANTIATE_TEST_SUITE_P(
    Presets, PublishedCount,
    testing::Values(
        Published{"gpt2", 124'439'808}, Published{"gpt2-medium", 354'823'168},
        Published{"gpt2-large", 774'030'080}, Published{"gpt2-xl", 1'557'611'200},
        Published{"llama2-7b", 6'738'415'616}, Published{"llama2-13b", 13'015'864'320},
        Published{"llama2-70b", 68'976'648'192}, Published{"llama3-70b", 70'553'706'496},
        Published{"llama3.1-405b", 405'853'388'800}, Published{"llama3.2-1b", 1'235'814'400},
        Published{"llama3.2-3b", 3'212'749'824}, Published{"llama-65b", 65'285'660'672},
        Published{"mistral-7b", 7'241'732'096}, Published{"mixtral-8x22b", 140'620'634'112},
        Published{"qwen2-0.5b", 494'032'768}, Published{"qwen2-1.5b", 1'543'714'304},
        Published{"qwen2.5-3b", 3'085'938'688}, Published{"qwen2-7b", 7'615'616'512},
        Published{"qwen2.5-14b", 14'770'033'664}, Published{"qwen2.5-32b", 32'763'876'352},
        Published{"qwen2-72b", 72'706'203'648}, Published{"qwen3-0.6b", 596'049'920},
        Published{"qwen3-4b", 4'022'468'096}, Published{"qwen3-8b", 8'190'735'360},
        Published{"qwen3-14b", 14'768'307'200}, Published{"qwen3-32b", 32'762'123'264},
        Published{"qwen3-30b-a3b", 30'532'122'624}, Published{"qwen3-235b-a22b", 235'093'634'560},
        Published{"deepseek-v2", 235'741'434'880}, Published{"deepseek-v2-lite", 15'706'484'224},
        Published{"bert-base", 109'514'298}, Published{"bert-large", 335'174'458},
        Published{"t5-small", 60'506'624}, Published{"t5-base", 222'903'552},
        Published{"t5-large", 737'668'096}, Published{"t5-3b", 2'851'598'336},
        Published{"t5-11b", 11'307'321'344}, Published{"vit-l16", 304'326'632},
        Published{"vit-h14", 632'045'800}, Published{"opt-125m", 125'239'296},
        Published{"opt-1.3b", 1'315'758'080}, Published{"opt-6.7b", 6'658'473'984},
        Published{"opt-13b", 12'853'473'280}, Published{"opt-30b", 29'974'540'288},
        Published{"neox-20b", 20'554'567'680}, Published{"bloom-176b", 176'247'271'424},
        Published{"resnet50", 25'557'032}));

// In billions, within what papers round.
TEST(Presets, HaveTheSizeThatPapersPrint) {
  for (const auto& [name, billions] : {std::pair("megatron-1.7b", 1.7),
                                       {"megatron-3.6b", 3.6},
                                       {"megatron-7.5b", 7.5},
                                       {"megatron-18.4b", 18.4},
                                       {"megatron-39.1b", 39.1},
                                       {"megatron-76.1b", 76.1},
                                       {"megatron-145.6b", 145.6},
                                       {"megatron-310.1b", 310.1},
                                       {"megatron-529.6b", 529.6},
                                       {"megatron-1008b", 1008.0},
                                       {"qwen2-57b-a14b", 57.4},
                                       {"nemotron4-15b", 15.6},
                                       {"nemotron4-340b", 341}}) {
    EXPECT_NEAR(static_cast<double>(Parameters(name)) / 1e9, billions,
                std::max(0.05, 0.005 * billions))
        << name;
  }
}

// The checkpoint also has a bias of each router and a number for each head, which are not counted.
TEST(Presets, GptOssLacksRouterBiasesAndSinks) {
  EXPECT_EQ(Parameters("gpt-oss-120b"), 116'829'156'672 - 36 * (128 + 64));
}

TEST(Presets, AllAreSoundAndHaveOneNameEach) {
  for (const Preset& preset : Presets().models) {
    EXPECT_TRUE(ModelOf(preset, DataType::kBf16)) << preset.name;
    EXPECT_EQ(*FindPreset(preset.name), &preset);
    for (const std::string& name : preset.also) {
      EXPECT_EQ(*FindPreset(name), &preset) << name;
    }
  }
}

TEST(Presets, NamesMayBeWrittenInManyWays) {
  EXPECT_EQ((*FindPreset("Llama-3 8B"))->name, "llama3-8b");
  EXPECT_EQ((*FindPreset("GPT_3 175b"))->name, "gpt3-175b");
}

TEST(Presets, AnUnknownNameGetsTheNearest) {
  EXPECT_EQ(FindPreset("llama4-8b").error().message(),
            "'llama4-8b' is not a known model; the nearest is llama3-8b");
}

TEST(Presets, AWrongFieldIsNamed) {
  const auto read = ReadPresets(
      "families: {llama: {rope: true}}\n"
      "models: [{name: x, family: llama, hiden: 3, source: me}]");
  EXPECT_EQ(read.error().message(),
            "model 'x': hiden is not a field that is known here; the nearest is hidden");
}

}  // namespace
}  // namespace orrery::workload
