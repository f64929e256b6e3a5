#include "orrery/workload/job/job_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/plan_yaml.h"
#include "orrery/workload/model/dlrm.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using Overrides = std::vector<std::string>;

constexpr const char* kLlama = R"(
model: llama3-8b
training: {sequence: 8192, micro_batch: 1, global_batch: 32}
plan: {tp: 2, pp: 2}
cluster: DGX H100
gpus: 16
)";

Result<JobFile> TryRead(const std::string& yaml, const Overrides& overrides = {}) {
  return ReadJob({.yaml = yaml, .place = "llama.yaml"}, overrides);
}

Job Read(const std::string& yaml, const Overrides& overrides = {}) {
  const auto read = TryRead(yaml, overrides);
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return read ? read->job : Job{};
}

std::string ErrorOf(const std::string& yaml, const Overrides& overrides = {}) {
  const auto read = TryRead(yaml, overrides);
  return read ? "" : read.error().message();
}

TEST(JobFile, ReadsASmallJob) {
  const Job job = Read(kLlama);
  EXPECT_EQ(job.name, "llama");
  EXPECT_EQ(*job.model.transformer(), Llama3());
  EXPECT_EQ(job.plan, (Plan{.tp = 2, .pp = 2, .dp = 4}));
  EXPECT_EQ(job.training.global_batch, 32);
  EXPECT_EQ(job.gpus, 16);
  EXPECT_EQ(job.gpu.name, "H100");
  EXPECT_EQ(job.framework.name, "megatron-lm");
}

TEST(JobFile, ReadsEveryKeyOfAPlan) {
  const Job job = Read(R"(
model: mixtral-8x7b
training: {sequence: 8192, micro_batch: 2, global_batch: 128, precision: fp8, optimizer: sgd,
           gradient_bytes: 2, moment_bytes: 2, activation_input_bytes: 1}
plan: {tp: 2, pp: 4, cp: 2, dp: 4, ep: 8, expert_tp: 2, sequence_parallel: true, chunks: 2,
       context: ulysses_ring, ulysses_ranks: 2, context_is_balanced: false, sharding: shard_grad_op, shard_ranks: 4,
       reshard: never, offload_optimizer: true, recompute: full, recompute_layers: 3, recompute_share: 0.5,
       recompute_parts: [norms, experts],
       dispatch: flex, capacity_factor: 1.25, token_imbalance: 1.1, pipeline_is_innermost: true}
cluster: DGX H100
gpus: 64
)");
  EXPECT_EQ(job.plan, (Plan{.tp = 2,
                            .pp = 4,
                            .cp = 2,
                            .dp = 4,
                            .ep = 8,
                            .expert_tp = 2,
                            .sequence_parallel = true,
                            .schedule = PipelineSchedule::kInterleaved,
                            .chunks = 2,
                            .pipeline_is_innermost = true,
                            .context = ContextKind::kUlyssesRing,
                            .ulysses_ranks = 2,
                            .context_is_balanced = false,
                            .sharding = Sharding::kKeepGathered,
                            .shard_ranks = 4,
                            .reshard = Reshard::kNever,
                            .offload_optimizer = true,
                            .recompute = Recompute::kFull,
                            .recompute_layers = 3,
                            .recompute_share = 0.5,
                            .recompute_parts = {.norms = true, .experts = true},
                            .dispatch = TokenDispatch::kFlex,
                            .capacity_factor = 1.25,
                            .token_imbalance = 1.1}));
  EXPECT_EQ(job.training.precision, (Precision{.compute = DataType::kBf16,
                                               .gemm_type = DataType::kFp8,
                                               .gradient_bytes = 2,
                                               .moment_bytes = 2,
                                               .activation_input_bytes = 1}));
  EXPECT_EQ(job.training.optimizer, OptimizerKind::kSgd);
}

TEST(JobFile, OverridesComeBeforeReading) {
  const Job job =
      Read(kLlama, {"plan.tp=4", "model.layers=16", "name=half", "framework.is_compiled=true",
                    "cluster.nics.per_node=4", "plan.layers_per_stage=[7, 9]"});
  EXPECT_EQ(job.plan.tp, 4);
  EXPECT_EQ(job.plan.dp, 2);
  EXPECT_EQ(job.model.transformer()->num_blocks(), 16);
  EXPECT_EQ(job.name, "half");
  EXPECT_EQ(job.cluster.nics.per_node, 4);
  EXPECT_EQ(job.plan.layers_per_stage, (std::vector<int>{7, 9}));
  EXPECT_EQ(ErrorOf(kLlama, {"plan.tp"}),
            "llama.yaml: 'plan.tp' is not an override: write it as plan.tp=4");
}

TEST(JobFile, AGpuMayHaveAnotherPowerLimitAndMemory) {
  const Job job = Read(kLlama, {"gpu={name: H200, power_w: 500, memory_gb: 96}"});
  EXPECT_EQ(job.gpu.name, "H200");
  EXPECT_EQ(job.gpu.power_watts, 500);
  EXPECT_EQ(job.gpu.memory_size.count, 96'000'000'000);
  EXPECT_EQ(Read(kLlama, {"gpu=H200"}).gpu.power_watts, 700);
  EXPECT_NE(ErrorOf(kLlama, {"gpu={name: H200, power_w: 0}"}), "");
  EXPECT_NE(ErrorOf(kLlama, {"gpu={name: H200, watts: 500}"}), "");
}

TEST(JobFile, FrameworkPropertiesAreOverridden) {
  EXPECT_FALSE(Read(kLlama).framework.is_compiled);
  EXPECT_TRUE(
      Read(kLlama, {"framework={name: megatron-lm, is_compiled: true}"}).framework.is_compiled);
}

TEST(JobFile, OfTheFittedScalarsTheHostsAloneIsOverridden) {
  EXPECT_EQ(Read(kLlama, {"framework.launch_us=65.5"}).framework.launch_us, 65.5);
  EXPECT_EQ(ErrorOf(kLlama, {"framework.launch_us=201"}),
            "llama.yaml: framework: launch_us must be a number of at most 200, not '201'");
  EXPECT_NE(ErrorOf(kLlama, {"framework.gemm_rate=0.9"}), "");
}

TEST(JobFile, TheUsualFrameworkFollowsFromTheJob) {
  EXPECT_EQ(Read(kLlama, {"plan={sharding: fsdp}"}).framework.name, "torch-fsdp");
  EXPECT_EQ(
      Read("model: resnet50\ntraining: {global_batch: 64}\ngpu: H100\ngpus: 8\n").framework.name,
      "pytorch");
}

TEST(JobFile, TheTextKeepsOverrides) {
  const auto read = TryRead(kLlama, {"plan.tp=4"});
  EXPECT_EQ(Read(read->yaml).plan, read->job.plan);
}

TEST(JobFile, GpusFollowFromThePlan) {
  EXPECT_EQ(Read("model: llama3-8b\n"
                 "training: {sequence: 8192, global_batch: 32}\n"
                 "plan: {tp: 2, dp: 4}\n"
                 "gpu: A100-80GB\n")
                .gpus,
            8);
}

// Eight GPUs of a node hold one copy, two of them a slice of each matrix.
TEST(JobFile, HybridShardsFillANode) {
  EXPECT_EQ(Read(kLlama, {"plan={tp: 1, sharding: hsdp}"}).plan.shard_ranks, 8);
  EXPECT_EQ(Read(kLlama, {"plan={tp: 2, sharding: hsdp, shard_ranks: 2}"}).plan.shard_ranks, 2);
}

// DualPipe has two copies of every layer, so that a single pipeline has two replicas.
TEST(JobFile, HybridShardsMayBeThoseOfMirroredStages) {
  EXPECT_EQ(
      Read(kLlama, {"plan={tp: 1, pp: 16, schedule: dualpipe, sharding: hsdp}"}).plan.shard_ranks,
      2);
}

// As the framework does, unless the job says otherwise.
TEST(JobFile, ParametersAreReshardedAsTheFrameworkDoes) {
  const auto reshard = [](const std::string& plan, const std::string& framework) {
    return Read(kLlama, {"plan={" + plan + "}", "framework=" + framework}).plan.reshard;
  };
  EXPECT_EQ(reshard("sharding: fsdp", "torch-fsdp"), Reshard::kDefault);
  EXPECT_EQ(reshard("sharding: fsdp", "nemo"), Reshard::kAlways);
  EXPECT_EQ(reshard("sharding: fsdp", "{name: nemo, reshard: never}"), Reshard::kNever);
  EXPECT_EQ(reshard("sharding: fsdp, reshard: always", "torch-fsdp"), Reshard::kAlways);
  EXPECT_EQ(ErrorOf(kLlama, {"plan.reshard=sometimes"}),
            "llama.yaml: plan: reshard must be one of always, never, default, not 'sometimes'");
}

// A node of eight GPUs has 8 / tp ranks of a data-parallel group. With one or none there is nothing
// to shard among in a node; 8 / 16 used to be 0, which stands for all ranks.
TEST(JobFile, HybridShardsNeedSeveralRanksInANode) {
  EXPECT_EQ(Read(kLlama, {"plan={tp: 4, sharding: hsdp}"}).plan.shard_ranks, 2);
  for (const std::string tp : {"8", "16"}) {
    EXPECT_EQ(
        ErrorOf(kLlama, {"gpus=32", "plan={tp: " + tp + ", sharding: hsdp}"}),
        "llama.yaml: plan.sharding hsdp shards among the data-parallel ranks of a node, and with "
        "plan.tp " +
            tp + " no node of 8 GPUs has two: set plan.shard_ranks, or plan.sharding to fsdp");
  }
  EXPECT_EQ(
      Read(kLlama, {"gpus=32", "plan={tp: 16, sharding: hsdp, shard_ranks: 2}"}).plan.shard_ranks,
      2);
  // A single replica has nothing to shard.
  EXPECT_EQ(Read(kLlama, {"plan={tp: 16, sharding: hsdp}"}).plan.shard_ranks, 1);
}

TEST(JobFile, AModelMayBeSpelledOut) {
  const Job job = Read(kLlama, {"model={hidden: 4096, layers: 32, heads: 32, kv_heads: 8, "
                                "ffn: 14336, vocabulary: 128256, activation: silu, gated: true, "
                                "norm: rms, rope: true}"});
  EXPECT_EQ(*job.model.transformer(), Llama3());
  EXPECT_EQ(*Read(kLlama, {"model={family: llama, hidden: 4096, layers: 32, heads: 32, "
                           "kv_heads: 8, ffn: 14336, vocabulary: 128256}"})
                 .model.transformer(),
            Llama3());
}

TEST(JobFile, AModelMayBeAListOfLayers) {
  const std::string yaml = R"(
model:
  name: two
  layers:
    - gemm m=1 n=10 k=20 layout=nt fp32
    - {name: loss, forward: [crossentropy rows=1 cols=10 fp32],
       backward: [crossentropy rows=1 cols=10 pass=bwd fp32], output: 1}
training: {global_batch: 64, micro_batch: 8, precision: fp32}
cluster: DGX A100
gpus: 8
framework: pytorch
)";
  const Job job = Read(yaml);
  EXPECT_EQ(job.model.name, "two");
  ASSERT_EQ(job.model.layer_list()->layers.size(), 2U);
  EXPECT_EQ(TotalParameters(job.model), 200);
  EXPECT_FALSE(job.training.precision.has_master);
  EXPECT_EQ(ErrorOf("model: {layers: [gem m=1]}\ntraining: {global_batch: 8}\ngpu: H100\ngpus: 8")
                .substr(0, 36),
            "llama.yaml: model: layers 1: unknown");
}

TEST(JobFile, AModelMayBeARecommendation) {
  const Job job = Read(R"(
model: {dlrm: {dense_features: 13, bottom: [64, 16], top: [64, 1], random: {tables: 8, seed: 2}}}
training: {global_batch: 2048, micro_batch: 256, precision: fp32}
plan: {tables: column}
cluster: DGX A100
gpus: 8
)");
  EXPECT_EQ(job.model.dlrm()->tables, DrawTables({.count = 8, .dim = 16, .seed = 2}));
  EXPECT_EQ(job.plan.tables, TableSharding::kColumn);
}

TEST(JobFile, AModelMayBeAConfiguration) {
  const std::filesystem::path folder = testing::TempDir();
  std::ofstream(folder / "config.json")
      << R"json({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
                 "num_attention_heads": 4, "num_hidden_layers": 8, "vocab_size": 100})json";
  const auto read = ReadJob({.yaml = "model: {hugging_face: config.json, layers: 4}\n"
                                     "training: {sequence: 32, global_batch: 8}\n"
                                     "gpu: H100\ngpus: 8\n",
                             .place = "job.yaml",
                             .folder = folder});
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->job.model.transformer()->num_blocks(), 4);
  EXPECT_EQ(read->job.model.transformer()->hidden, 64);
  EXPECT_EQ(read->job.model.name, "llama");  // its type: neither file nor folder names it
}

TEST(JobFile, MegatronArgumentsTakeThePlaceOfThreeSections) {
  const auto read = TryRead(R"(
megatron: >-
  --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 --bf16
  --micro-batch-size 2 --global-batch-size 64 --tensor-model-parallel-size 2 --vocab-size 51200
  --use-distributed-optimizer --num-distributed-optimizer-instances 2 --magic
cluster: DGX H100
gpus: 16
)");
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(read->job.plan.dp, 8);
  EXPECT_EQ(read->job.plan.shard_ranks, 4);
  EXPECT_EQ(read->job.microbatches(), 4);
  EXPECT_EQ(read->job.model.name, "llama");  // that of the job's file
  EXPECT_EQ(read->not_modelled, (std::vector<std::string>{"--magic is not understood"}));
}

// 16 GPUs without tensor parallelism are 16 replicas; 16 / 32 used to be 0, which is one instance.
TEST(JobFile, MegatronsOptimizerInstancesDivideTheReplicas) {
  const auto error = [](const std::string& instances) {
    return ErrorOf(
        "megatron: --num-layers 32 --hidden-size 4096 --num-attention-heads 32 --seq-length 2048 "
        "--global-batch-size 64 --vocab-size 51200 --use-distributed-optimizer "
        "--num-distributed-optimizer-instances " +
        instances + "\ncluster: DGX H100\ngpus: 16\n");
  };
  EXPECT_EQ(error("4"), "");
  for (const std::string instances : {"3", "32"}) {
    EXPECT_EQ(error(instances), "llama.yaml: --num-distributed-optimizer-instances " + instances +
                                    " does not divide the 16 data-parallel ranks: take a divisor");
  }
}

TEST(JobFile, AnImageHasItsOwnSequence) {
  const std::string yaml = "model: vit-b16\ntraining: {global_batch: 64}\ngpu: H100\ngpus: 8\n";
  EXPECT_EQ(Read(yaml).training.sequence, 197);
  EXPECT_EQ(Read(yaml, {"training.sequence=197"}).training.sequence, 197);
  EXPECT_EQ(
      ErrorOf(yaml, {"training.sequence=2048"}),
      "llama.yaml: training.sequence 2048 is not the 197 tokens of an image of 224 in patches "
      "of 16: leave it out");
}

TEST(JobFile, AGpuWithoutAClusterAsksForOne) {
  EXPECT_EQ(ErrorOf("model: gpt2\ngpu: L4\ngpus: 4\n", {}),
            "llama.yaml: no cluster in the catalogue has gpu 'L4'; name the cluster too, such as "
            "'cluster: L40 PCIe'");
}

TEST(JobFile, RefusesInOneSentence) {
  EXPECT_EQ(ErrorOf(kLlama, {"plan.sequence_paralel=true"}),
            "llama.yaml: plan: sequence_paralel is not a field that is known here; the nearest is "
            "sequence_parallel");
  EXPECT_EQ(ErrorOf(kLlama, {"modle=3"}),
            "llama.yaml: modle is not a field that is known here; the nearest is model");
  EXPECT_EQ(ErrorOf(kLlama, {"model.hiden=3"}),
            "llama.yaml: model: hiden is not a field that is known here; the nearest is hidden");
  EXPECT_EQ(ErrorOf(kLlama, {"model=llama9-8b"}),
            "llama.yaml: model: 'llama9-8b' is not a known model; the nearest is "
            "llama3-8b");
  EXPECT_EQ(ErrorOf(kLlama, {"plan.schedule=zb"}),
            "llama.yaml: plan: schedule must be one of gpipe, 1f1b, interleaved, zb-h1, zb-1p, "
            "zb-2p, zb-v, "
            "dualpipe, not 'zb'");
  EXPECT_EQ(ErrorOf(kLlama, {"cluster=DGX H10"}),
            "llama.yaml: cluster 'DGX H10' is not in the catalogue; the nearest is DGX H100");
  EXPECT_EQ(ErrorOf(kLlama, {"framework=megatron"}),
            "llama.yaml: framework 'megatron' is not known; the nearest is megatron-lm");
  EXPECT_EQ(ErrorOf(kLlama, {"plan.tp=3"}),
            "llama.yaml: plan.tp 3 · plan.pp 2 · plan.cp 1 = 6 does not divide gpus 16: change one "
            "of them");
  EXPECT_EQ(ErrorOf(kLlama, {"plan.tp=two"}),
            "llama.yaml: plan: tp must be a whole number of at least 1, not 'two'");
  EXPECT_EQ(ErrorOf(kLlama, {"model=gpt2"}),
            "llama.yaml: training.sequence 8192 is longer than the 1024 positions of the model: "
            "raise model.positions");
  EXPECT_EQ(ErrorOf("model: gpt2\ntraining: {sequence: 8}\ngpu: H100\ngpus: 8"),
            "llama.yaml: training: global_batch is missing");
  EXPECT_EQ(ErrorOf("model: gpt2\ntraining: {sequence: 8, global_batch: 8}\ngpu: H100"),
            "llama.yaml: gpus is missing: give it, or plan.dp");
  EXPECT_EQ(ErrorOf("training: {global_batch: 8}\ngpus: 8"), "llama.yaml: cluster is missing");
  EXPECT_EQ(ErrorOf("- 1"),
            "llama.yaml: a job is a mapping that begins with model, training, plan, cluster and "
            "gpus");
  EXPECT_EQ(ErrorOf("model: [").substr(0, 18), "llama.yaml: line 1");
}

TEST(JobFile, RefusesSizesThatNobodyHas) {
  EXPECT_EQ(ErrorOf(kLlama, {"model.layers=99999999999"}),
            "llama.yaml: model: a size of the model is beyond what is simulated: 100000 layers, "
            "sizes of 1000000000, 1e+17 parameters");
  EXPECT_EQ(ErrorOf(kLlama, {"training.global_batch=1000000000"}),
            "llama.yaml: training.global_batch 1000000000 makes 250000000 micro-batches: lower it "
            "or raise training.micro_batch");
  EXPECT_EQ(ErrorOf(kLlama, {"plan.tp=2000000"}),
            "llama.yaml: plan: tp must be at most 1000000, not '2000000'");
}

// Every file that people are told to start from.
TEST(Examples, AreSoundJobs) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(ORRERY_EXAMPLES)) {
    if (entry.path().extension() != ".yaml") {
      continue;
    }
    const auto read = ReadJobFile(entry.path().string());
    EXPECT_TRUE(read) << (read ? "" : read.error().message());
    ++count;
  }
  EXPECT_GE(count, 15);
}

Job Example(const std::string& name) {
  const auto read = ReadJobFile(std::string(ORRERY_EXAMPLES) + "/" + name + ".yaml");
  return read ? read->job : Job{};
}

TEST(Examples, SayWhatTheirNamesSay) {
  const Job llama = Example("llama3-70b-512-h100");
  EXPECT_EQ(llama.plan.dp, 32);
  EXPECT_EQ(llama.microbatches(), 32);
  EXPECT_EQ(TotalParameters(llama.model), 70'553'706'496);
  const Job gpt = Example("gpt-175b-8192");
  EXPECT_EQ(gpt.gpus, gpt.plan.tp * gpt.plan.pp * gpt.plan.dp);
  EXPECT_EQ(gpt.microbatches(), 24);
  EXPECT_EQ(JobLine(Example("mixtral-8x7b-64-h100")).substr(0, 72),
            "mixtral-8x7b (46.7 B parameters, 12.9 B active) on 64 H100 (DGX H100), m");
  const Job megatron = Example("gpt-22b-megatron");
  EXPECT_EQ(megatron.plan.recompute, Recompute::kSelective);
  EXPECT_EQ(megatron.framework.name, "megatron-2021");
}

}  // namespace
}  // namespace orrery::workload
