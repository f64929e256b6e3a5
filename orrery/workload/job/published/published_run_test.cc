#include "orrery/workload/job/published/published_run.h"

#include <cstddef>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/cluster.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using testing::Contains;
using testing::HasSubstr;

// A row that is complete; a test changes what it is about. An empty cell is missing.
std::map<std::string, std::string> CompleteRow() {
  return {{"id", "r1"},
          {"source", "Made"},
          {"completeness", "A"},
          {"gpu", "H100 80GB"},
          {"n_gpus", "64"},
          {"gpus_per_node", "8"},
          {"inter_node", "8x 400 Gb/s NDR IB per node"},
          {"framework", "Megatron-LM"},
          {"framework_version", "core"},
          {"model", "a model"},
          {"layers", "32"},
          {"hidden", "4096"},
          {"heads", "32"},
          {"kv_heads", "8"},
          {"ffn", "14336"},
          {"ffn_act", "swiglu"},
          {"vocab", "128256"},
          {"seq_len", "4096"},
          {"tied_embed", "no"},
          {"moe_experts", ""},
          {"moe_topk", ""},
          {"moe_ffn", ""},
          {"tp", "4"},
          {"pp", "2"},
          {"cp", "1"},
          {"ep", "1"},
          {"mbs", "1"},
          {"gbs", "64"},
          {"seq_parallel", "yes"},
          {"recompute", ""},
          {"recompute_kind", "none"},
          {"team", "Makers"},
          {"release", "1.0"},
          {"schedule", "1f1b"},
          {"chunks", "1"},
          {"number_format", "bf16"},
          {"zero_fsdp", ""},
          {"precision", ""},
          {"options", ""},
          {"step_time_s", "2.5"},
          {"tokens_per_s", ""},
          {"mfu_pct", "41.5"},
          {"hfu_pct", ""},
          {"missing_or_inferred", ""},
          {"notes", ""}};
}

Result<PublishedRun> Read(const std::map<std::string, std::string>& changes) {
  std::map<std::string, std::string> cells = CompleteRow();
  for (const auto& [column, value] : changes) {
    cells[column] = value;
  }
  Table table;
  const std::size_t row = table.AddRow();
  for (const auto& [column, value] : cells) {
    const std::size_t index = table.AddColumn(column, Table::Type::kText);
    if (!value.empty()) {
      table.Set(row, index, value);
    }
  }
  return ReadPublishedRun(table, row);
}

PublishedRun Described(const std::map<std::string, std::string>& changes) {
  const Result<PublishedRun> run = Read(changes);
  EXPECT_TRUE(run) << run.error().message();
  return run ? *run : PublishedRun{};
}

std::string Refusal(const std::map<std::string, std::string>& changes) {
  const Result<PublishedRun> run = Read(changes);
  return run ? "not refused" : run.error().message();
}

TEST(PublishedRunTest, ACompleteRowNeedsNoAssumption) {
  const PublishedRun run = Described({});
  EXPECT_EQ(run.id, "r1");
  EXPECT_EQ(run.source, "Made");
  EXPECT_EQ(run.grade, "A");
  EXPECT_EQ(run.team, "Makers");
  EXPECT_EQ(run.release, "1.0");
  EXPECT_EQ(run.measured_s, 2.5);
  EXPECT_EQ(run.mfu_percent, 41.5);
  EXPECT_THAT(run.assumptions, testing::IsEmpty());
  EXPECT_EQ(run.job.gpu.name, "H100");
  EXPECT_EQ(run.job.gpus, 64);
  EXPECT_EQ(run.job.plan.dp, 8);  // 64 / (4 · 2)
  EXPECT_TRUE(run.job.plan.sequence_parallel);
  EXPECT_EQ(run.job.framework.name, "megatron-lm");
  EXPECT_EQ(run.job.microbatches(), 8);  // 64 / (1 · 8)
}

TEST(PublishedRunTest, ANetworkWithoutANumberIsThatOfTheCatalogue) {
  EXPECT_THAT(Described({{"inter_node", "InfiniBand"}}).assumptions,
              Contains(HasSubstr("network of")));
  // Within one node it does not matter.
  EXPECT_THAT(Described({{"inter_node", ""}, {"n_gpus", "8"}}).assumptions, testing::IsEmpty());
}

TEST(PublishedRunTest, PrecisionsAreThoseOfGemmsAndGradients) {
  const auto precision = [](const std::string& word) {
    return Described({{"number_format", word}}).job.training.precision;
  };
  EXPECT_EQ(precision("bf16").gemm_type, DataType::kBf16);
  EXPECT_EQ(precision("fp16").compute, DataType::kFp16);
  EXPECT_EQ(precision("fp8").gemm_type, DataType::kFp8);
  EXPECT_EQ(precision("fp8").compute, DataType::kBf16);
  EXPECT_EQ(precision("nvfp4").gemm_type, DataType::kNvfp4);
  EXPECT_EQ(precision("tf32").compute, DataType::kFp32);
  EXPECT_FALSE(precision("fp32").has_master);
  EXPECT_EQ(precision("bf16").gradient_bytes, 4);
  EXPECT_EQ(Described({{"precision", "bf16 (mixed_precision PURE)"}})
                .job.training.precision.gradient_bytes,
            2);
  // A column of its own takes precedence over the name of a policy.
  EXPECT_EQ(Described({{"precision", "bf16 (mixed_precision PURE)"}, {"gradient_type", "fp32"}})
                .job.training.precision.gradient_bytes,
            4);
  // Megatron with DeepSpeed sums fp16 gradients as fp16, bf16 ones in fp32.
  EXPECT_EQ(precision("fp16").gradient_bytes, 4);
  const auto gradient_bytes = [](const std::string& word) {
    return Described({{"framework", "Megatron-DeepSpeed"}, {"number_format", word}})
        .job.training.precision.gradient_bytes;
  };
  EXPECT_EQ(gradient_bytes("fp16"), 2);
  EXPECT_EQ(gradient_bytes("bf16"), 4);
  EXPECT_THAT(Described({{"number_format", ""}}).assumptions, Contains("bf16"));
}

// A row without a format whose free text names one: the first, and it says so.
TEST(PublishedRunTest, UnstatedFormatsAreTheFirstThatTheTextNames) {
  const auto run = [](const std::string& text) {
    return Described({{"number_format", ""}, {"precision", text}});
  };
  EXPECT_EQ(run("FP8/BF16 per config").job.training.precision.gemm_type, DataType::kFp8);
  EXPECT_THAT(run("FP8/BF16 per config").assumptions, Contains("fp8"));
  EXPECT_EQ(run("bf16/fp16 mixed (not stated)").job.training.precision.gemm_type, DataType::kBf16);
  EXPECT_EQ(run("mixed").job.training.precision.gemm_type, DataType::kBf16);
}

// A row that lists Megatron's options has Megatron's defaults elsewhere: biases, learned positions,
// a dropout of 0.1 and layer norms, whatever its activation is.
TEST(PublishedRunTest, OptionsOfMegatronAreThoseOfItsCommandLine) {
  const auto run = [](const std::string& options) {
    return Described({{"options", "transformer_impl=local" + options}});
  };
  const Transformer plain = *run("").job.model.transformer();
  EXPECT_EQ(plain.dropout, 0.1);
  EXPECT_EQ(plain.norm, NormKind::kLayer);
  EXPECT_GT(plain.positions, 0);
  EXPECT_TRUE(plain.blocks.front().block.feed_forward()->is_gated);
  EXPECT_TRUE(run("").job.framework.has_eager_modules);
  EXPECT_FALSE(run("").job.framework.logs_parameter_norm);

  const PublishedRun stated =
      run("; deterministic_mode=yes; NCCL_ALGO=Ring; hidden-dropout=0.0; log-params-norm=True; "
          "position-embedding-type=rope; frobnicate-twice=True; "
          "num-distributed-optimizer-instances=2");
  EXPECT_EQ(stated.job.model.transformer()->dropout, 0);
  EXPECT_EQ(stated.job.model.transformer()->positions, 0);
  EXPECT_TRUE(stated.job.framework.logs_parameter_norm);
  EXPECT_EQ(stated.job.plan.shard_ranks, 4);  // of 8
  EXPECT_THAT(stated.assumptions, Contains("no effect of --frobnicate-twice"));
  EXPECT_THAT(Refusal({{"options", "transformer_impl=local; hidden-dropout=some"}}),
              HasSubstr("--hidden-dropout cannot be 'some'"));
  // Words of other tables are no options.
  EXPECT_FALSE(Described({{"options", "tp_comm_overlap=True"}}).job.framework.has_eager_modules);
}

TEST(PublishedRunTest, MegatronsBertSeesBothDirections) {
  const Transformer model = *Described({{"options", "transformer_impl=local"},
                                        {"model", "BERT 4096x32"},
                                        {"vocab", ""}})
                                 .job.model.transformer();
  EXPECT_FALSE(model.blocks.front().block.self.is_causal);
  EXPECT_TRUE(model.has_head_transform);
  EXPECT_EQ(model.vocabulary, 30'522);
}

TEST(PublishedRunTest, FamiliesOfSeveralStacksAreRefusedByName) {
  for (const char* const model : {"T5 768x12", "Retro 2B", "Multimodal LLaVA", "Mamba 2B"}) {
    EXPECT_THAT(Refusal({{"model", model}}), HasSubstr(model));
  }
  EXPECT_EQ(Refusal({{"model", "Paxml GPT5B"}}), "not refused");
}

TEST(PublishedRunTest, APeakOfMemoryIsTakenAsStated) {
  EXPECT_EQ(Described({{"peak_memory_bytes", "5631605760"}}).peak_allocated_bytes, 5'631'605'760);
  EXPECT_EQ(Described({{"peak_memory_bytes", ""}}).peak_allocated_bytes, std::nullopt);
}

// A third of a forward and a backward pass is the forward pass: 46 % over 43 % mean that
// 3 · (46/43 − 1) of the blocks run again, 49 % over 38 % most of them, 74 % over 55 % all.
TEST(PublishedRunTest, SelectiveCheckpointingIsAShareOfBlocks) {
  const auto plan = [](const char* hardware, const char* model) {
    return Described({{"recompute_kind", "blocks"}, {"mfu_pct", model}, {"hfu_pct", hardware}})
        .job.plan;
  };
  EXPECT_EQ(plan("46", "43").recompute, Recompute::kFull);
  EXPECT_NEAR(plan("46", "43").recompute_share, 3.0 * 3 / 43, 1e-9);
  EXPECT_NEAR(plan("49", "38").recompute_share, 3.0 * 11 / 38, 1e-9);
  EXPECT_EQ(plan("74", "55").recompute_share, 1);
  EXPECT_EQ(plan("", "55").recompute_share, 1);
}

TEST(PublishedRunTest, RecomputationIsReadOrAssumedAbsent) {
  const auto plan = [](const std::string& kind, const std::string& text = "") {
    return Described({{"recompute_kind", kind}, {"recompute", text}}).job.plan;
  };
  EXPECT_EQ(plan("full").recompute, Recompute::kFull);
  EXPECT_EQ(plan("selective").recompute, Recompute::kSelective);
  EXPECT_EQ(plan("ops").recompute, Recompute::kOperators);
  const Plan words = plan("parts", "RMSNorm and MLA up-projection only");
  EXPECT_EQ(words.recompute, Recompute::kNothing);
  EXPECT_EQ(words.recompute_parts, (RecomputedParts{.norms = true, .latent_up = true}));
  const Plan modules = plan("selective", "selective, modules [mla_up_proj, mlp]");
  EXPECT_EQ(modules.recompute, Recompute::kNothing);
  EXPECT_EQ(modules.recompute_parts, (RecomputedParts{.latent_up = true, .mlp = true}));
  EXPECT_EQ(plan("selective", "selective, modules [core_attn]").recompute, Recompute::kSelective);
  EXPECT_EQ(plan("parts", "only q saved").recompute, Recompute::kFull);
  const PublishedRun unsaid = Described({{"recompute_kind", ""}});
  EXPECT_EQ(unsaid.job.plan.recompute, Recompute::kNothing);
  EXPECT_TRUE(unsaid.recompute_is_open);
  EXPECT_THAT(unsaid.assumptions, Contains("no recomputation"));
}

TEST(PublishedRunTest, ShardingHasManyNames) {
  const auto sharding = [](const std::string& text) {
    return Described({{"zero_fsdp", text}}).job.plan.sharding;
  };
  EXPECT_EQ(sharding(""), Sharding::kReplicated);
  EXPECT_EQ(sharding("ZeRO-1"), Sharding::kOptimizer);
  EXPECT_EQ(sharding("distributed optimizer"), Sharding::kOptimizer);
  EXPECT_EQ(sharding("sharding stage2"), Sharding::kGradients);
  EXPECT_EQ(sharding("FSDP FULL_SHARD"), Sharding::kParameters);
  EXPECT_EQ(sharding("FSDP SHARD_GRAD_OP"), Sharding::kKeepGathered);
}

TEST(PublishedRunTest, AShardGroupIsNoLargerThanTheReplicas) {
  EXPECT_EQ(Described({{"zero_fsdp", "HSDP shard group 4"}}).job.plan.shard_ranks, 4);
  EXPECT_EQ(Described({{"zero_fsdp", "HSDP shard group 32"}}).job.plan.shard_ranks, 8);
  EXPECT_EQ(Described({{"zero_fsdp", "FSDP2 over 4 ranks"}}).job.plan.shard_ranks, 4);
}

// 64 GPUs in nodes of eight.
TEST(PublishedRunTest, AGroupWithinANodeHasItsDataParallelRanks) {
  const auto ranks = [](const std::string& text, const std::string& tp) {
    return Described({{"zero_fsdp", text}, {"tp", tp}}).job.plan.shard_ranks;
  };
  EXPECT_EQ(ranks("FSDP in each node", "2"), 4);
  EXPECT_EQ(ranks("ZeRO-1 within a node", "1"), 8);
  EXPECT_EQ(ranks("ZeRO-1", "1"), 0);
  EXPECT_EQ(ranks("FSDP FULL_SHARD", "1"), 0);
}

TEST(PublishedRunTest, SchedulesAreThoseOfTheColumn) {
  const auto plan = [](const std::string& schedule, const std::string& chunks) {
    return Described({{"schedule", schedule}, {"chunks", chunks}}).job.plan;
  };
  EXPECT_EQ(plan("interleaved", "4").chunks, 4);
  EXPECT_EQ(plan("zb-1p", "1").schedule, PipelineSchedule::kZeroBubbleH1);
  EXPECT_EQ(plan("zb-2p", "1").schedule, PipelineSchedule::kZeroBubble2p);
  EXPECT_EQ(plan("1f1b", "4").schedule, PipelineSchedule::kInterleaved);
  // Sixteen layers a stage: eight chunks, the most within Megatron's twelve that divide them.
  const PublishedRun open = Described({{"schedule", ""}, {"chunks", ""}});
  EXPECT_EQ(open.job.plan.chunks, 8);
  EXPECT_THAT(open.assumptions, Contains("8 virtual stages per GPU"));
  const PublishedRun plain =
      Described({{"schedule", ""}, {"chunks", ""}, {"framework", "nanotron"}});
  EXPECT_EQ(plain.job.plan.schedule, PipelineSchedule::k1f1b);
  EXPECT_THAT(plain.assumptions, Contains("schedule 1F1B"));
  EXPECT_THAT(Refusal({{"schedule", "interleaved"}, {"chunks", ""}, {"framework", "nanotron"}}),
              HasSubstr("chunks"));
  EXPECT_THAT(Refusal({{"schedule", "alphabetical"}}), HasSubstr("is not known"));
}

TEST(PublishedRunTest, StagesHaveTheLayersOfTheColumn) {
  const auto layers = [](const std::string& text, const std::string& count) {
    return Described({{"stage_layers", text}, {"layers", count}}).job.plan;
  };
  EXPECT_TRUE(layers("embedding and loss count as layers", "30").counts_loss);
  EXPECT_THAT(layers("layout Et*15|t*17L", "32").layers_per_stage, testing::ElementsAre(15, 17));
  EXPECT_EQ(layers("layout Et*8|t*8|t*8|t*8L", "32").chunks, 2);
  EXPECT_THAT(Refusal({{"stage_layers", "as the wind blows"}}), HasSubstr("is not understood"));
  const Plan four = Described({{"stage_layers",
                                "num_layers_in_first_pipeline_stage=7, middle 8, "
                                "last 9 (+MTP, loss)"},
                               {"pp", "4"}})
                        .job.plan;
  EXPECT_THAT(four.layers_per_stage, testing::ElementsAre(7, 8, 8, 9));
}

TEST(PublishedRunTest, WhatARunSaysOfItsExecutionGoesBeforeTheFramework) {
  const Framework eager =
      Described({{"execution", "eager"}, {"attention", "materialised"}}).job.framework;
  EXPECT_FALSE(eager.is_compiled);
  EXPECT_EQ(eager.attention, AttentionKernel::kMaterialised);
  const auto flash_of = [](const std::string& framework) {
    return Described({{"framework", framework}, {"attention", "flash"}}).job.framework.attention;
  };
  EXPECT_EQ(flash_of("Composer"), AttentionKernel::kFlash1);
  EXPECT_EQ(flash_of("Megatron-DeepSpeed"), AttentionKernel::kFlash2);
  EXPECT_TRUE(Described({{"execution", "compile"}}).job.framework.is_compiled);
  EXPECT_EQ(Described({{"execution", "cuda_graph: per layer"}}).job.framework.graphs,
            CudaGraphs::kLayers);
  EXPECT_EQ(Described({{"execution", "cuda_graph: whole step"}}).job.framework.graphs,
            CudaGraphs::kStep);
  const Framework alone = Described({{"tp_overlap", "no"},
                                     {"grad_overlap", "no"},
                                     {"param_overlap", "no"},
                                     {"p2p_overlap", "no"}})
                              .job.framework;
  EXPECT_EQ(alone.tensor_overlap, TensorOverlap::kBackward);  // Megatron's, without user buffers
  EXPECT_EQ(alone.data_overlap, DataOverlap::kAfterBackward);
  EXPECT_FALSE(alone.gathers_in_forward);
  EXPECT_FALSE(alone.overlaps_pipeline_sends);
  EXPECT_EQ(Described({{"tp_overlap", "yes"}}).job.framework.tensor_overlap,
            TensorOverlap::kPipelined);
  EXPECT_THAT(Refusal({{"execution", "by hand"}}), HasSubstr("execution 'by hand'"));
}

TEST(PublishedRunTest, ExpertsThatAreNotGroupedAreLaunchedOneByOne) {
  const auto launches_each = [](const std::string& framework, const std::string& grouped) {
    return Described({{"framework", framework}, {"grouped_gemm", grouped}})
        .job.framework.launches_each_expert;
  };
  EXPECT_FALSE(launches_each("torchtitan", ""));
  EXPECT_TRUE(launches_each("torchtitan", "no"));
  EXPECT_TRUE(launches_each("Megatron-LM", "yes"));  // its grouped GEMM is a loop on the host
}

TEST(PublishedRunTest, BlockingLaunchesAreThoseOfTheRow) {
  EXPECT_TRUE(Described({{"launch_blocking", "yes"}}).job.framework.launch_blocking);
  EXPECT_FALSE(Described({}).job.framework.launch_blocking);
}

TEST(PublishedRunTest, BlockScalesAreATypeOfGemms) {
  const auto type = [](const std::string& recipe) {
    return Described({{"number_format", "fp8"}, {"fp8_recipe", recipe}})
        .job.training.precision.gemm_type;
  };
  EXPECT_EQ(type("block"), DataType::kFp8Block);
  EXPECT_EQ(type("mxfp8"), DataType::kFp8);
  EXPECT_THAT(Refusal({{"fp8_recipe", "by ear"}}), HasSubstr("fp8_recipe 'by ear'"));
}

TEST(PublishedRunTest, CardsOnPcieHaveNoOtherLinks) {
  const hardware::Cluster with = Described({{"intra_node", "NVLink4 NVSwitch"}}).job.cluster;
  const hardware::Cluster without = Described({{"intra_node", "PCIe 5.0 x16"}}).job.cluster;
  EXPECT_EQ(with.island.kind, hardware::IslandKind::kNvswitch);
  EXPECT_EQ(without.island.kind, hardware::IslandKind::kPcie);
  EXPECT_EQ(without.island.gpus, 8);
  EXPECT_EQ(without.nics.per_node, with.nics.per_node);
}

TEST(PublishedRunTest, APowerLimitIsThatOfTheRow) {
  EXPECT_EQ(Described({{"power_w", "500"}}).job.gpu.power_watts, 500);
}

TEST(PublishedRunTest, TheBatchMayFollowFromTokensASecond) {
  // 104857.6 tokens/s · 2.5 s / 4096 = 64.
  const PublishedRun run = Described({{"gbs", ""}, {"tokens_per_s", "104857.6"}});
  EXPECT_EQ(run.job.training.global_batch, 64);
  EXPECT_THAT(run.assumptions, Contains("global batch 64 from tokens per second"));
}

TEST(PublishedRunTest, TheActivationTellsTheFamily) {
  const PublishedRun llama = Described({});
  const Transformer& gated = *llama.job.model.transformer();
  EXPECT_EQ(gated.norm, NormKind::kRms);
  EXPECT_TRUE(gated.blocks.front().block.self.has_rope);
  EXPECT_EQ(gated.positions, 0);
  const PublishedRun gpt =
      Described({{"ffn_act", "gelu"}, {"tied_embed", ""}, {"ffn", ""}, {"kv_heads", ""}});
  const Transformer& plain = *gpt.job.model.transformer();
  EXPECT_EQ(plain.norm, NormKind::kLayer);
  EXPECT_TRUE(plain.is_tied);
  EXPECT_EQ(plain.positions, 4096);
  EXPECT_EQ(plain.dropout, 0.1);
  EXPECT_EQ(plain.blocks.front().block.feed_forward()->width, 4 * 4096);
  EXPECT_EQ(plain.blocks.front().block.self.kv_heads, 32);
}

TEST(PublishedRunTest, WhatNoColumnCanSayComesFromThePresetOfThatName) {
  const std::map<std::string, std::string> deepseek = {{"model", "DeepSeekV3 (w/o MTP)"},
                                                       {"layers", "61"},
                                                       {"hidden", "7168"},
                                                       {"heads", "128"},
                                                       {"kv_heads", "MLA"},
                                                       {"ffn", "18432"},
                                                       {"moe_experts", "256"},
                                                       {"moe_topk", "8"},
                                                       {"moe_ffn", "2048"},
                                                       {"tp", "1"},
                                                       {"pp", "1"},
                                                       {"ep", "8"},
                                                       {"seq_parallel", "no"},
                                                       {"vocab", "129280"}};
  const PublishedRun run = Described(deepseek);
  const Transformer& model = *run.job.model.transformer();
  ASSERT_EQ(model.blocks.size(), 2U);  // three dense layers, then 58 with experts
  EXPECT_EQ(model.blocks[0].count, 3);
  const Block& block = model.blocks[1].block;
  ASSERT_TRUE(block.self.latent);
  EXPECT_EQ(block.self.latent->key_value_rank, 512);
  EXPECT_EQ(block.self.head_size, 128);
  ASSERT_TRUE(block.experts()->shared);
  EXPECT_EQ(block.experts()->shared->width, 2048);
  EXPECT_EQ(model.extra_predictions, 0);
}

TEST(PublishedRunTest, BiasesAreThoseOfThePresetOfThatName) {
  const PublishedRun run = Described({{"model", "GPT OSS 120B"},
                                      {"layers", "36"},
                                      {"hidden", "2880"},
                                      {"heads", "64"},
                                      {"kv_heads", "8"},
                                      {"ffn", "2880"},
                                      {"moe_experts", "128"},
                                      {"moe_topk", "4"},
                                      {"moe_ffn", "2880"},
                                      {"tp", "1"},
                                      {"pp", "1"},
                                      {"ep", "8"},
                                      {"seq_parallel", "no"},
                                      {"vocab", "201088"}});
  const Block& block = run.job.model.transformer()->blocks.front().block;
  EXPECT_TRUE(block.self.has_bias);
  EXPECT_TRUE(block.experts()->expert.has_bias);
}

TEST(PublishedRunTest, APresetThatTheColumnsContradictIsNotUsed) {
  // Called DeepSeekV3, but with other sizes: plain attention of 4096 / 32.
  const PublishedRun run = Described({{"model", "DeepSeekV3"}});
  EXPECT_FALSE(run.job.model.transformer()->blocks.front().block.self.latent);
}

TEST(PublishedRunTest, SizesOfAKnownModelNeedNotBeStated) {
  const PublishedRun run = Described(
      {{"model", "Llama 3 8B"}, {"layers", ""}, {"hidden", ""}, {"heads", ""}, {"kv_heads", ""}});
  EXPECT_EQ(run.job.model.transformer()->hidden, 4096);
  EXPECT_THAT(run.assumptions, Contains(HasSubstr("as published elsewhere")));
}

TEST(PublishedRunTest, DroppedTokensLeaveRoomForTheMean) {
  const PublishedRun run = Described({{"capacity", "capacity factor 1.0, padded (token drop)"},
                                      {"dispatcher", "deepep"},
                                      {"etp", "1"},
                                      {"moe_experts", "8"},
                                      {"moe_topk", "2"},
                                      {"moe_ffn", "14336"}});
  EXPECT_EQ(run.job.plan.capacity_factor, 1);
  EXPECT_EQ(run.job.plan.dispatch, TokenDispatch::kFlex);
  EXPECT_EQ(run.job.plan.expert_tp, 1);
}

// 64 sequences of 4,096 tokens on 64 GPUs.
TEST(PublishedRunTest, AStepFollowsFromThroughput) {
  const auto seconds = [](const std::string& column, const std::string& rate) {
    const PublishedRun run = Described({{"step_time_s", ""}, {"mfu_pct", ""}, {column, rate}});
    EXPECT_FALSE(run.derived_from.empty());
    return run.measured_s;
  };
  EXPECT_DOUBLE_EQ(seconds("tokens_per_s", "131072"), 2);  // 64 · 4096 / 131072
  EXPECT_DOUBLE_EQ(seconds("tokens_per_s_per_gpu", "2048"), 2);
  EXPECT_DOUBLE_EQ(seconds("samples_per_s", "32"), 2);
  EXPECT_EQ(Described({{"tokens_per_s", "131072"}}).derived_from, "");  // the row's own time
}

// GPT, B = 64, s = h = 4096, L = 32, V = 51,200: 72·B·L·s·h²(1 + s/(6h) + V/(12hL)), or 96 with
// V/(16hL) where all is recomputed; 64 GPUs.
TEST(PublishedRunTest, AStepFollowsFromOperationsAsTheSourceCounts) {
  const std::map<std::string, std::string> gpt = {
      {"ffn_act", "gelu"}, {"kv_heads", "32"}, {"ffn", "16384"},   {"vocab", "51200"},
      {"tied_embed", ""},  {"mfu_pct", ""},    {"step_time_s", ""}};
  const auto seconds = [&](std::map<std::string, std::string> changes) {
    changes.insert(gpt.begin(), gpt.end());
    return Described(changes).measured_s;
  };
  const double h = 4096;
  const double layer = 64.0 * 32 * 4096 * h * h;
  const double rate = 64 * 400e12;
  const double model = 72 * layer * (1 + 1.0 / 6 + 51200 / (12 * h * 32)) / rate;
  const double hardware = 96 * layer * (1 + 1.0 / 6 + 51200 / (16 * h * 32)) / rate;
  EXPECT_NEAR(seconds({{"tflops_per_gpu", "400"}, {"tflops_kind", "model"}}), model, 1e-9 * model);
  EXPECT_NEAR(seconds({{"tflops_per_gpu", "400"},
                       {"tflops_kind", "hardware (includes full recompute)"},
                       {"recompute_kind", "full"}}),
              hardware, 1e-9 * hardware);
  // Half of the scores: 72·B·L·s·h²(1 + s/(12h) + …).
  EXPECT_NEAR(
      seconds({{"tflops_per_gpu", "400"}, {"tflops_kind", "model, causal (432 non-causal)"}}),
      72 * layer * (1 + 1.0 / 12 + 51200 / (12 * h * 32)) / rate, 1e-9 * model);
}

TEST(PublishedRunTest, AShareOfThePeakIsARate) {
  const PublishedRun share = Described({{"step_time_s", ""}, {"mfu_pct", "50"}});
  // Half of an H100's 989.4 TFLOP/s.
  const PublishedRun rate = Described(
      {{"step_time_s", ""}, {"tflops_per_gpu", "494.7"}, {"tflops_kind", "model (non-causal)"}});
  EXPECT_NEAR(share.measured_s, rate.measured_s, 1e-9);
  EXPECT_THAT(share.derived_from, HasSubstr("utilisation"));
}

TEST(PublishedRunTest, LoraFreezesAllButAdapters) {
  const PublishedRun run = Described({{"adapter_rank", "16"}});
  EXPECT_EQ(run.job.training.adapter_rank, 16);
  EXPECT_THAT(run.assumptions, Contains(HasSubstr("LoRA")));
}

TEST(PublishedRunTest, AFrameworkWithoutAProfileIsNotTakenForAnother) {
  const PublishedRun run = Described({{"framework", "an abacus"}});
  EXPECT_EQ(run.job.framework.name, "unknown");
  EXPECT_THAT(run.assumptions, Contains(HasSubstr("'an abacus' has no profile")));
}

TEST(PublishedRunTest, AReleaseTellsAnOldFramework) {
  EXPECT_EQ(Described({{"release", "2021"}}).job.framework.name, "megatron-2021");
  EXPECT_EQ(Described({{"release", "2024"}}).job.framework.name, "megatron-lm");
}

TEST(PublishedRunTest, AnIslandFollowsItsNode) {
  const PublishedRun run = Described({{"gpus_per_node", "4"}, {"inter_node", "InfiniBand"}});
  EXPECT_EQ(run.job.cluster.island.gpus, 4);
  EXPECT_EQ(run.job.cluster.nics.per_node, 4);  // one for each GPU, as with eight
}

// 128 does not divide by 72: groups of 64 would straddle two racks.
TEST(PublishedRunTest, RacksAreFilledSoThatNoGroupStraddlesTwo) {
  const auto island = [](const std::string& gpus) {
    return Described({{"gpu", "GB200"}, {"gpus_per_node", "4"}, {"n_gpus", gpus}})
        .job.cluster.island.gpus;
  };
  EXPECT_EQ(island("128"), 64);
  EXPECT_EQ(island("64"), 72);
}

TEST(PublishedRunTest, GpusWithoutANetworkGetOne) {
  const PublishedRun run = Described({{"gpu", "L40S"}, {"inter_node", ""}});
  EXPECT_EQ(run.job.cluster.nics.per_node, 1);
  EXPECT_THAT(run.assumptions, Contains(HasSubstr("NIC")));
}

// 64 GPUs, but a batch of 8: data parallelism of at most 8 leaves tp 8.
TEST(PublishedRunTest, DegreesThatAreNotStatedFollowTheBatch) {
  const PublishedRun run = Described({{"tp", ""}, {"pp", ""}, {"gbs", "8"}});
  EXPECT_TRUE(run.tensor_is_open);
  EXPECT_EQ(run.job.plan.tp, 8);
  EXPECT_FALSE(Described({}).tensor_is_open);
}

TEST(PublishedRunTest, WhatCannotBeDescribedIsRefusedWithTheReason) {
  EXPECT_THAT(Refusal({{"step_time_s", ""}, {"mfu_pct", ""}}), HasSubstr("no step time"));
  EXPECT_THAT(Refusal({{"step_time_s", "0"}, {"mfu_pct", ""}}), HasSubstr("no step time"));
  EXPECT_THAT(Refusal({{"gpu", "Voodoo2"}}), HasSubstr("Voodoo2"));
  EXPECT_THAT(Refusal({{"n_gpus", "many"}}), HasSubstr("number of GPUs"));
  EXPECT_THAT(Refusal({{"layers", ""}}), HasSubstr("does not state layers"));
  // There is no agreed count of LoRA's operations.
  EXPECT_THAT(Refusal({{"adapter_rank", "16"}, {"step_time_s", ""}}), HasSubstr("no step time"));
  // "GPT 22B" has "GPT 2" in it and is something else.
  EXPECT_THAT(Refusal({{"model", "GPT 22B"}, {"params_b", "22"}, {"layers", ""}, {"hidden", ""}}),
              HasSubstr("its model is unknown"));
  EXPECT_THAT(Refusal({{"model", "Nemotron-H 56b"}}), HasSubstr("state-space"));
  EXPECT_THAT(Refusal({{"gbs", ""}}), HasSubstr("global batch"));
  EXPECT_THAT(Refusal({{"layers", "1"}}), HasSubstr("one layer"));
  EXPECT_NE(Refusal({{"tp", "3"}}), "not refused");  // 64 GPUs do not divide by 3 · 2
}

}  // namespace
}  // namespace orrery::workload
