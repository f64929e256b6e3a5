#include "orrery/workload/job/job_draft.h"

#include <filesystem>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/file/byte_sink.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::string_view kScript =
    "TP=2\nARGS=(--num-layers 24 --hidden-size 1024 --num-attention-heads 16 --seq-length 1024\n"
    "  --micro-batch-size 2 --global-batch-size 16 --tensor-model-parallel-size $TP --lr 1e-4\n"
    "  --vocab-size 50257 --bf16 --data-path $DATA)\n";

JobDraft DraftOf(std::string_view script, const DraftRequest& request = {.path = "train.sh"}) {
  auto draft = DraftJob(script, request);
  EXPECT_TRUE(draft.has_value()) << (draft ? "" : draft.error().message());
  return draft ? *std::move(draft) : JobDraft();
}

TEST(JobDraft, AScriptThatSaysEverythingLeavesTheMachineOpen) {
  const JobDraft draft =
      DraftOf(std::string(kScript) + "torchrun --nproc_per_node 8 p.py ${ARGS[@]}\n");
  EXPECT_EQ(draft.file.job.gpus, 8);
  EXPECT_EQ(draft.file.job.plan.tp, 2);
  EXPECT_EQ(draft.file.job.plan.dp, 4);
  EXPECT_EQ(draft.file.job.model.transformer()->num_blocks(), 24);
  EXPECT_THAT(draft.assumed, ElementsAre(HasSubstr("cluster: DGX H100 (")));
  EXPECT_THAT(draft.not_read, IsEmpty());
  EXPECT_FALSE(draft.is_partial);
  EXPECT_THAT(draft.yaml, HasSubstr("cluster: DGX H100  # assumed\n"));
  EXPECT_THAT(draft.yaml, Not(HasSubstr("--lr")));  // no effect on the time of a step
}

// Without a value for PP the job has Megatron's default, which is not what the script runs.
TEST(JobDraft, AnArgumentWithoutAValueIsNamed) {
  const std::string script =
      std::string(kScript) + "run ${ARGS[@]} --pipeline-model-parallel-size $PP $EXTRA\n";
  const JobDraft draft = DraftOf(script, {.path = "train.sh", .gpus = 4, .cluster = "DGX A100"});
  EXPECT_THAT(draft.not_read, ElementsAre(HasSubstr("--pipeline-model-parallel-size $PP: "),
                                          HasSubstr("$EXTRA: ")));
  EXPECT_TRUE(draft.is_partial);
  EXPECT_THAT(draft.assumed, IsEmpty());
  EXPECT_THAT(draft.yaml, HasSubstr("#   - --pipeline-model-parallel-size $PP: "));
  EXPECT_EQ(DraftOf(script, {.path = "t.sh", .variables = {{"PP", {"4"}}, {"EXTRA", {""}}}})
                .file.job.plan.pp,
            4);
}

// tp 2 and no other degree: two GPUs are the fewest.
TEST(JobDraft, UnknownGpusAreAssumedToBeTheFewest) {
  const JobDraft draft =
      DraftOf(std::string(kScript) + "torchrun --nproc_per_node $N p.py ${ARGS[@]}\n");
  EXPECT_EQ(draft.file.job.gpus, 2);
  EXPECT_THAT(draft.yaml, HasSubstr("gpus: 2  # assumed\n"));
  EXPECT_THAT(draft.not_read, ElementsAre(HasSubstr("--nproc-per-node $N: ")));
}

TEST(JobDraft, TheBatchSystemKnowsTheGpus) {
  EXPECT_EQ(DraftOf("#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=8\n" + std::string(kScript) +
                    "srun python p.py ${ARGS[@]} --global-batch-size 32\n")
                .file.job.gpus,
            16);
}

TEST(JobDraft, NemoOverridesAreArguments) {
  const JobDraft draft = DraftOf(
      "torchrun train.py trainer.num_nodes=2 trainer.devices=8 trainer.precision=bf16 "
      "model.num_layers=24 ++model.hidden_size=1024 model.num_attention_heads=16 "
      "model.encoder_seq_length=2048 model.micro_batch_size=1 model.global_batch_size=64 "
      "model.tensor_model_parallel_size=4 model.sequence_parallel=True exp_manager.name=x\n");
  EXPECT_EQ(draft.file.job.gpus, 16);
  EXPECT_EQ(draft.file.job.training.sequence, 2048);
  EXPECT_EQ(draft.file.job.training.global_batch, 64);
  EXPECT_TRUE(draft.file.job.plan.sequence_parallel);
  EXPECT_EQ(draft.file.job.framework.name, "nemo");
  EXPECT_THAT(draft.assumed,
              ElementsAre(HasSubstr("cluster: DGX H100 ("), HasSubstr("no --vocab-size")));
  EXPECT_THAT(draft.not_read, IsEmpty());
}

TEST(JobDraft, AFileWithoutAModelIsRefused) {
  EXPECT_EQ(DraftJob("echo hello\n", {.path = "x.sh"}).error().message(),
            "x.sh: no command in it has --num-layers and --hidden-size with a value: give the "
            "script that starts Megatron-LM, a config.json of Hugging Face, or --set NAME=VALUE "
            "for a shell variable");
  EXPECT_THAT(DraftJob("{\"model_type\": \"made\"}", {.path = "c.json"}).error().message(),
              HasSubstr("c.json: model_type 'made' is not supported"));
}

// GPT-2 has 12 blocks of 12 · 768² + 13 · 768, 50,257 + 1,024 rows of 768 and a last norm of
// 2 · 768: 124,439,808. Its positions end at 1,024.
TEST(JobDraft, AConfigurationIsNamedByItsPathFromTheJob) {
  const std::string folder = ::testing::TempDir() + "job_draft_test";
  const std::string path = folder + "/config.json";
  constexpr std::string_view kGpt2 =
      "{\"model_type\": \"gpt2\", \"n_embd\": 768, \"n_layer\": 12, \"n_head\": 12, "
      "\"vocab_size\": 50257, \"n_positions\": 1024, \"_name_or_path\": \"made/gpt2\"}";
  std::filesystem::create_directories(folder + "/jobs");
  ASSERT_TRUE(WriteFile(path, kGpt2));
  const JobDraft draft = DraftOf(kGpt2, {.path = path, .folder = folder + "/jobs", .gpus = 4});
  EXPECT_THAT(draft.yaml, HasSubstr("model: {hugging_face: \"../config.json\"}\n"));
  EXPECT_THAT(draft.yaml, HasSubstr("  sequence: 1024  # assumed\n"));
  EXPECT_THAT(draft.yaml, HasSubstr("name: \"gpt2\"\n"));
  EXPECT_THAT(draft.yaml, HasSubstr("gpus: 4\n"));
  EXPECT_EQ(TotalParameters(draft.file.job.model), 124'439'808);
  EXPECT_EQ(draft.assumed.size(), 6U);  // sequence, two batches, precision, plan, cluster
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace orrery::workload
