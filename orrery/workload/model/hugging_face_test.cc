#include "orrery/workload/model/hugging_face.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/transformer_shape.h"
#include "test_paths.h"

namespace orrery::workload {
namespace {

Transformer Read(std::string_view json) {
  const auto read = ReadHuggingFace(json);
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return read ? *MakeTransformer(read->shape) : Transformer{};
}

std::int64_t Parameters(std::string_view json) {
  return TotalParameters({.name = "", .body = Read(json)});
}

std::string ErrorOf(std::string_view json) {
  return ReadHuggingFace(json).error().message();
}

TEST(HuggingFace, ReadsLlama3) {
  EXPECT_EQ(Read(R"json({"model_type": "llama", "hidden_act": "silu", "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "tie_word_embeddings": false, "vocab_size": 128256})json"),
            Llama3());
}

TEST(HuggingFace, ReadsMixtral) {
  EXPECT_EQ(Read(R"json({"model_type": "mixtral", "hidden_act": "silu", "hidden_size": 4096,
      "intermediate_size": 14336, "num_attention_heads": 32, "num_hidden_layers": 32,
      "num_key_value_heads": 8, "num_experts_per_tok": 2, "num_local_experts": 8,
      "sliding_window": null, "vocab_size": 32000})json"),
            Mixtral());
}

TEST(HuggingFace, ReadsDeepseekV3) {
  EXPECT_EQ(Read(R"json({"model_type": "deepseek_v3", "hidden_size": 7168,
      "intermediate_size": 18432, "moe_intermediate_size": 2048, "num_hidden_layers": 61,
      "num_nextn_predict_layers": 1, "num_attention_heads": 128, "n_shared_experts": 1,
      "n_routed_experts": 256, "kv_lora_rank": 512, "q_lora_rank": 1536, "qk_rope_head_dim": 64,
      "v_head_dim": 128, "qk_nope_head_dim": 128, "num_experts_per_tok": 8, "moe_layer_freq": 1,
      "first_k_dense_replace": 3, "num_key_value_heads": 128, "hidden_act": "silu",
      "vocab_size": 129280})json"),
            DeepseekV3());
}

// The public checkpoints' counts.
TEST(HuggingFace, CountsOtherFamilies) {
  EXPECT_EQ(Parameters(R"json({"model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 12,
      "n_positions": 1024, "n_inner": null, "vocab_size": 50257})json"),
            124'439'808);
  EXPECT_EQ(Parameters(R"json({"model_type": "gpt_neox", "hidden_size": 6144,
      "intermediate_size": 24576, "num_attention_heads": 64, "num_hidden_layers": 44,
      "tie_word_embeddings": false, "vocab_size": 50432})json"),
            20'554'567'680);
  EXPECT_EQ(Parameters(R"json({"model_type": "qwen2", "hidden_size": 896,
      "intermediate_size": 4864, "num_attention_heads": 14, "num_hidden_layers": 24,
      "num_key_value_heads": 2, "tie_word_embeddings": true, "vocab_size": 151936,
      "sliding_window": 32768, "use_sliding_window": false})json"),
            494'032'768);
  EXPECT_EQ(Parameters(R"json({"model_type": "qwen3_moe", "hidden_size": 2048,
      "intermediate_size": 6144, "num_attention_heads": 32, "num_hidden_layers": 48,
      "num_key_value_heads": 4, "head_dim": 128, "num_experts": 128, "num_experts_per_tok": 8,
      "moe_intermediate_size": 768, "decoder_sparse_step": 1, "mlp_only_layers": [],
      "tie_word_embeddings": false, "vocab_size": 151936})json"),
            30'532'122'624);
  EXPECT_EQ(Parameters(R"json({"model_type": "gpt_oss", "hidden_size": 2880,
      "intermediate_size": 2880, "num_attention_heads": 64, "num_hidden_layers": 36,
      "num_key_value_heads": 8, "head_dim": 64, "num_local_experts": 128,
      "num_experts_per_tok": 4, "sliding_window": 128, "tie_word_embeddings": false,
      "vocab_size": 201088})json"),
            116'829'156'672 - 36 * (128 + 64));
  EXPECT_EQ(Parameters(R"json({"model_type": "t5", "d_model": 512, "d_ff": 2048, "d_kv": 64,
      "num_heads": 8, "num_layers": 6, "vocab_size": 32128})json"),
            60'506'624);
  EXPECT_EQ(Parameters(R"json({"model_type": "vit", "hidden_size": 768, "image_size": 224,
      "intermediate_size": 3072, "num_attention_heads": 12, "num_hidden_layers": 12,
      "patch_size": 16})json"),
            86'567'656);
}

// Of four layers the step of two leaves 1 and 3, of which 3 is named as dense.
TEST(HuggingFace, LayersWithoutExpertsAreNamed) {
  const Transformer model = Read(R"json({"model_type": "qwen2_moe", "hidden_size": 64,
      "intermediate_size": 128, "num_attention_heads": 4, "num_hidden_layers": 4,
      "num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32,
      "shared_expert_intermediate_size": 48, "decoder_sparse_step": 2, "mlp_only_layers": [3],
      "vocab_size": 100})json");
  ASSERT_EQ(model.blocks.size(), 3U);
  EXPECT_EQ(model.blocks[0].count, 1);
  EXPECT_EQ(model.blocks[1].count, 1);
  EXPECT_EQ(model.blocks[2].count, 2);
  EXPECT_EQ(model.blocks[1].block.experts()->shared->width, 48);
  EXPECT_TRUE(model.blocks[1].block.experts()->has_shared_gate);
}

constexpr std::string_view kSmall =
    R"json("hidden_size": 64, "intermediate_size": 128, "num_attention_heads": 4, "vocab_size": 100,
      "num_hidden_layers": 4)json";

std::vector<std::int64_t> WindowsOf(std::string_view members) {
  std::vector<std::int64_t> windows;
  for (const BlockRun& run : Read(fmt::format("{{{}, {}}}", kSmall, members)).blocks) {
    windows.insert(windows.end(), static_cast<std::size_t>(run.count), run.block.self.window);
  }
  return windows;
}

TEST(HuggingFace, LayersSeeTheirWindows) {
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(WindowsOf(R"json("model_type": "mistral", "sliding_window": 32)json"),
            (Windows{32, 32, 32, 32}));
  EXPECT_EQ(WindowsOf(R"json("model_type": "qwen2", "use_sliding_window": true,
      "sliding_window": 32, "max_window_layers": 3)json"),
            (Windows{0, 0, 0, 32}));
  EXPECT_EQ(WindowsOf(R"json("model_type": "gpt_oss", "sliding_window": 32)json"),
            (Windows{32, 0, 32, 0}));
  EXPECT_EQ(WindowsOf(R"json("model_type": "llama", "sliding_window": 32, "layer_types":
      ["full_attention", "full_attention", "sliding_attention", "full_attention"])json"),
            (Windows{0, 0, 32, 0}));
  EXPECT_EQ(ErrorOf(fmt::format(R"json({{{}, "model_type": "llama", "layer_types":
      ["linear_attention"]}})json",
                                kSmall)),
            "layer_types may hold sliding_attention and full_attention only");
}

TEST(HuggingFace, SaysWhichMembersItDoesNotModel) {
  const auto read = ReadHuggingFace(fmt::format(
      R"json({{{}, "model_type": "llama", "sliding_window": 32, "num_local_experts": 8,
      "attention_chunk_size": null, "pretraining_tp": 2, "rope_theta": 10000, "max_window_layers": 0,
      "bos_token_id": 1, "output_hidden_states": false}})json",
      kSmall));
  EXPECT_EQ(read->not_modelled, (std::vector<std::string>{"sliding_window 32 is not modelled",
                                                          "num_local_experts 8 is not modelled"}));
}

TEST(HuggingFace, SaysWhatItDoesNotModel) {
  const auto read = ReadHuggingFace(R"json({"model_type": "opt", "hidden_size": 1024,
      "ffn_dim": 4096, "num_attention_heads": 16, "num_hidden_layers": 24, "vocab_size": 50272,
      "word_embed_proj_dim": 512, "do_layer_norm_before": false})json");
  EXPECT_EQ(read->not_modelled,
            (std::vector<std::string>{
                "word_embed_proj_dim 512: embeddings are taken as wide as hidden_size 1024",
                "do_layer_norm_before false: norms are taken to stand before layers"}));
}

TEST(HuggingFace, RefusesInOneSentence) {
  constexpr std::string_view kSupported =
      "supported are bert, deepseek_v2, deepseek_v3, gemma, gemma2, gemma3_text, gpt2, gpt_neox, "
      "gpt_oss, kimi_k2, llama, mistral, mixtral, opt, qwen2, qwen2_moe, qwen3, qwen3_moe, "
      "switch_transformers, t5, vit; another transformer is described in a job by its sizes, as in "
      "model: {family: llama, hidden: 4096, layers: 32, heads: 32, vocabulary: 32000}";
  EXPECT_EQ(ErrorOf(R"json({"model_type": "mamba"})json"),
            fmt::format("model_type 'mamba' is not supported: {}", kSupported));
  EXPECT_EQ(ErrorOf(R"json({"architectures": ["JambaForCausalLM"]})json"),
            fmt::format("model_type is missing, and architectures names 'JambaForCausalLM', which "
                        "is not supported: {}",
                        kSupported));
  EXPECT_EQ(ErrorOf("{}"),
            fmt::format("model_type is missing, and so is architectures: {}", kSupported));
  EXPECT_EQ(ErrorOf(R"json({"model_type": "gpt2"})json"),
            "hidden_size (or n_embd, d_model) is missing");
  EXPECT_EQ(ErrorOf(R"json({"model_type": "gpt2", "n_embd": "wide"})json"),
            "n_embd must be a whole number of at least 0");
  EXPECT_EQ(ErrorOf("[1]"), "not a JSON object: it does not begin with {");
}

// The counts of google/gemma-2b and google/gemma-7b; their heads are wider than hidden / heads.
TEST(HuggingFace, CountsGemma) {
  EXPECT_EQ(Parameters(R"json({"model_type": "gemma", "hidden_size": 2048, "head_dim": 256,
      "intermediate_size": 16384, "num_attention_heads": 8, "num_hidden_layers": 18,
      "num_key_value_heads": 1, "hidden_act": "gelu", "vocab_size": 256000})json"),
            2'506'172'416);
  EXPECT_EQ(Parameters(R"json({"model_type": "gemma", "hidden_size": 3072, "head_dim": 256,
      "intermediate_size": 24576, "num_attention_heads": 16, "num_hidden_layers": 28,
      "num_key_value_heads": 16, "hidden_activation": null, "vocab_size": 256000})json"),
            8'537'680'896);
  // google/gemma-2-9b less two norms of each of its 42 layers, which the notes name.
  EXPECT_EQ(Parameters(R"json({"model_type": "gemma2", "hidden_size": 3584, "head_dim": 256,
      "intermediate_size": 14336, "num_attention_heads": 16, "num_hidden_layers": 42,
      "num_key_value_heads": 8, "hidden_activation": "gelu_pytorch_tanh",
      "vocab_size": 256000})json"),
            9'241'705'984 - 42 * 2 * 3584);
}

TEST(HuggingFace, GemmaAlternatesWindows) {
  using Windows = std::vector<std::int64_t>;
  EXPECT_EQ(WindowsOf(R"json("model_type": "gemma2", "sliding_window": 32)json"),
            (Windows{32, 0, 32, 0}));
  EXPECT_EQ(WindowsOf(R"json("model_type": "gemma3_text", "sliding_window": 32,
      "sliding_window_pattern": 3)json"),
            (Windows{32, 32, 0, 32}));
}

TEST(HuggingFace, TheArchitectureNamesTheType) {
  EXPECT_EQ(Parameters(R"json({"architectures": ["GPT2LMHeadModel"], "n_embd": 768, "n_head": 12,
      "n_layer": 12, "n_positions": 1024, "vocab_size": 50257})json"),
            124'439'808);
  EXPECT_EQ(ReadHuggingFace(
                fmt::format(R"json({{{}, "architectures": ["Qwen3MoeForCausalLM"]}})json", kSmall))
                ->model_type,
            "qwen3_moe");
}

TEST(HuggingFace, ReadsTheLanguageModelOfALargerOne) {
  const auto read = ReadHuggingFace(fmt::format(
      R"json({{"model_type": "llava", "text_config": {{{}, "model_type": "llama"}}}})json",
      kSmall));
  EXPECT_EQ(read->shape.hidden, 64);
  EXPECT_EQ(
      read->not_modelled,
      (std::vector<std::string>{"of 'llava' the language model (text_config) alone is modelled"}));
}

TEST(HuggingFace, EveryModelHasAName) {
  const auto name = [](std::string_view stated, const char* file) {
    return NameOfConfiguration({.name = std::string(stated), .model_type = "llama"}, file);
  };
  EXPECT_EQ(name("meta-llama/Llama-3.1-8B", "config.json"), "Llama-3.1-8B");
  EXPECT_EQ(name("models/llama/", "config.json"), "llama");
  EXPECT_EQ(name("", "small.json"), "small");
  EXPECT_EQ(name("", "models/small/config.json"), "small");
  EXPECT_EQ(name(".", "../config.json"), "llama");
  EXPECT_EQ(name("", "config.json"), "llama");
}

// switchxl4, 24 layers each way, every second with four experts: attention 4·1024·4096, an expert
// 2·1024·16384, router 4·1024, norms; decoders attend twice.
std::int64_t SwitchXl4() {
  const std::int64_t attention = 4 * 1024 * 4096;
  const std::int64_t mlp = 2 * 1024 * 16384;
  const std::int64_t encoder = attention + 2 * 1024;
  const std::int64_t decoder = 2 * attention + 3 * 1024;
  return 24 * (encoder + decoder) + 24 * mlp + 24 * (4 * mlp + 4 * 1024) + 32128 * 1024 + 2 * 1024 +
         2 * 32 * 32;
}

TEST(HuggingFace, ReadsTheConfigurationsOfNeusight) {
  const std::string path = std::string(ORRERY_SHARED) + "/kernels/neusight/model_configs.json";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "needs shared";
  }
  simdjson::dom::parser parser;
  std::map<std::string, std::int64_t> parameters;
  const simdjson::dom::object configs = parser.load(path);
  for (const auto& [name, config] : configs) {
    parameters[std::string(name)] = Parameters(simdjson::minify(config));
  }
  EXPECT_EQ(parameters.size(), 12U);
  EXPECT_EQ(parameters["gpt2_large"], 774'030'080);
  EXPECT_EQ(parameters["bert"], 109'514'298);
  EXPECT_EQ(parameters["opt_13"], 1'315'758'080);
  EXPECT_EQ(parameters["switchxl4"], SwitchXl4());
}

}  // namespace
}  // namespace orrery::workload
