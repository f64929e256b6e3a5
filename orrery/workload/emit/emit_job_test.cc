#include "orrery/workload/emit/emit_job.h"

#include <array>
#include <fstream>
#include <ios>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr std::array<std::pair<LaunchFormat, std::string_view>, 4> kFiles{
    {{LaunchFormat::kMegatron, "megatron.sh"},
     {LaunchFormat::kNemo, "nemo.sh"},
     {LaunchFormat::kTorchtitan, "torchtitan.toml"},
     {LaunchFormat::kDeepSpeed, "deepspeed.json"}}};

std::string ReadText(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The texts of a job in tests/data/launch, whose keys were looked up in what
/// docs/formats/launch.md names; what is not expressed has a line for each sentence.
class EmitExample : public testing::TestWithParam<std::string_view> {};

TEST_P(EmitExample, IsWrittenAsDocumented) {
  const auto file = ReadJobFile(fmt::format("{}/{}.yaml", ORRERY_EXAMPLES, GetParam()));
  ASSERT_TRUE(file.has_value()) << file.error().message();
  const std::string folder = fmt::format("{}/launch/{}", ORRERY_TEST_DATA, GetParam());
  std::string not_expressed;
  for (const auto& [format, name] : kFiles) {
    const auto emitted = EmitJob(file->job, format);
    ASSERT_TRUE(emitted.has_value()) << emitted.error().message();
    EXPECT_EQ(emitted->text, ReadText(fmt::format("{}/{}", folder, name))) << name;
    for (const std::string& sentence : emitted->not_expressed) {
      not_expressed += fmt::format("{}: {}\n", name, sentence);
    }
  }
  EXPECT_EQ(not_expressed, ReadText(folder + "/not_expressed.txt"));
}

INSTANTIATE_TEST_SUITE_P(OfEachKind, EmitExample,
                         testing::Values("llama3-70b-512-h100",     // tensor and pipeline parallel
                                         "llama3-8b-fsdp-64-h100",  // FSDP
                                         "mixtral-8x7b-64-h100"));  // experts

EmittedJob Emit(const std::string& yaml, LaunchFormat format) {
  const auto file = ReadJob({.yaml = yaml + "\ncluster: DGX H100\n", .place = "job.yaml"});
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
  auto emitted = EmitJob(file ? file->job : Job(), format);
  EXPECT_TRUE(emitted.has_value()) << (emitted ? "" : emitted.error().message());
  return emitted.value_or(EmittedJob());
}

// Half of all layers are each second one.
TEST(EmitTorchtitan, NamesModulesOfUnevenStages) {
  const EmittedJob job = Emit(
      "model: {preset: llama3-8b, layers: 4}\ntraining: {sequence: 8192, global_batch: 16}\n"
      "plan: {pp: 2, layers_per_stage: [3, 1], sharding: fsdp, recompute: full, recompute_share: "
      "0.5}\ngpus: 8\nframework: torch-fsdp",
      LaunchFormat::kTorchtitan);
  EXPECT_THAT(job.text,
              HasSubstr("module_fqns_per_model_part = [\n"
                        "  [\"tok_embeddings\", \"layers.0\", \"layers.1\", \"layers.2\"],\n"
                        "  [\"layers.3\", \"norm\", \"output\"],\n]\n"));
  EXPECT_THAT(job.text, HasSubstr("local_batch_size = 4\n"));  // 16 samples of four replicas
  EXPECT_THAT(job.text, HasSubstr("mode = \"selective\"\nselective_ac_option = \"2\"\n"));
  EXPECT_THAT(job.not_expressed, ElementsAre(HasSubstr("model llama3-8b: ")));
}

// Context parallelism belongs to the ranks that FSDP shards over: 8 = 4 · 2.
TEST(EmitTorchtitan, ShardsOverContextRanks) {
  const EmittedJob job = Emit(
      "model: llama3-8b\ntraining: {sequence: 8192, global_batch: 16, precision: fp8}\n"
      "plan: {cp: 2, sharding: fsdp, shard_ranks: 8, recompute: operators}\ngpus: 32\n"
      "framework: torch-fsdp",
      LaunchFormat::kTorchtitan);
  EXPECT_THAT(job.text, HasSubstr("data_parallel_replicate_degree = 4\n"
                                  "data_parallel_shard_degree = 4\n"));
  EXPECT_THAT(job.text, HasSubstr("context_parallel_rotate_method = \"alltoall\"\n"));
  EXPECT_THAT(job.text, HasSubstr("converters = [\"quantize.linear.float8\"]\n"));
  EXPECT_THAT(job.text, HasSubstr("selective_ac_option = \"op\"\n"));
}

TEST(EmitDeepSpeed, HasStatesInHalfPrecision) {
  const EmittedJob job = Emit(
      "model: gpt3-13b\ntraining: {sequence: 2048, micro_batch: 2, global_batch: 64, has_master: "
      "false, moment_bytes: 2, gradient_bytes: 2}\nplan: {sharding: zero2, offload_optimizer: "
      "true}\ngpus: 8\nframework: megatron-deepspeed",
      LaunchFormat::kDeepSpeed);
  EXPECT_EQ(job.text,
            "{\n"
            "  \"train_batch_size\": 64,\n"
            "  \"train_micro_batch_size_per_gpu\": 2,\n"
            "  \"gradient_accumulation_steps\": 4,\n"
            "  \"zero_optimization\": {\n"
            "    \"stage\": 2,\n"
            "    \"overlap_comm\": false,\n"
            "    \"offload_optimizer\": {\n"
            "      \"device\": \"cpu\"\n"
            "    }\n"
            "  },\n"
            "  \"bf16\": {\n"
            "    \"enabled\": true,\n"
            "    \"bf16_master_weights_and_grads\": true,\n"
            "    \"bf16_optimizer_states\": true\n"
            "  },\n"
            "  \"communication_data_type\": \"bf16\"\n"
            "}\n");
  EXPECT_THAT(job.not_expressed, ElementsAre(HasSubstr("model gpt3-13b and ")));
}

TEST(EmitDeepSpeed, AnyModelHasABatch) {
  const EmittedJob job =
      Emit("model: resnet50\ntraining: {micro_batch: 32, global_batch: 256}\ngpus: 8",
           LaunchFormat::kDeepSpeed);
  EXPECT_THAT(job.text, HasSubstr("\"train_batch_size\": 256,"));
}

}  // namespace
}  // namespace orrery::workload
