#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "orrery/kernel/operator.h"

namespace orrery::workload {

enum class Activation : std::uint8_t {
  kGelu,
  kWrittenOutGelu,  // its approximation by tanh as a chain of maps (GPT-2 of Hugging Face)
  kRelu,
  kSilu,
  kSquaredRelu,
};

enum class NormKind : std::uint8_t { kLayer, kRms };

/// Multi-head latent attention (DeepSeek): queries, keys and values are made from narrow vectors.
struct LatentAttention {
  std::int64_t query_rank = 0;  // 0: queries are made from the hidden vector
  std::int64_t key_value_rank = 0;
  std::int64_t rope_size = 0;  // of a head; on top of Attention::head_size

  bool operator==(const LatentAttention&) const = default;
};

struct Attention {
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t head_size = 0;        // of queries and keys, without LatentAttention::rope_size
  std::int64_t value_head_size = 0;  // differs from head_size in latent attention only
  bool is_causal = true;
  bool has_bias = false;      // of all projections
  bool has_qkv_bias = false;  // of queries, keys and values but not of the output (Qwen 2)
  bool has_rope = false;      // positions turn queries and keys
  bool has_qk_norm = false;   // queries and keys are normalised
  std::int64_t window = 0;    // 0: the whole sequence
  std::optional<LatentAttention> latent = {};

  bool operator==(const Attention&) const = default;
};

struct FeedForward {
  std::int64_t width = 0;
  Activation activation = Activation::kGelu;
  bool is_gated = false;  // two matrices up, their product down
  bool has_bias = false;

  bool operator==(const FeedForward&) const = default;
};

/// A mixture of experts: each token goes to `per_token` of `count` experts and to the shared one.
struct Experts {
  std::int64_t count = 0;
  std::int64_t per_token = 0;
  FeedForward expert = {};
  std::optional<FeedForward> shared = {};  // all shared experts as one
  bool has_shared_gate = false;            // the shared expert's output is weighted (Qwen 2)

  bool operator==(const Experts&) const = default;
};

/// One layer of a transformer: attention, then a feed-forward network or experts.
struct Block {
  Attention self = {};
  std::optional<Attention> cross = {};  // to the encoder's output
  std::variant<FeedForward, Experts> mlp = FeedForward{};
  NormKind norm = NormKind::kLayer;
  // Attention and feed-forward network both read the block's input, each through its norm (NeoX).
  bool is_parallel = false;

  [[nodiscard]] const Experts* experts() const { return std::get_if<Experts>(&mlp); }

  [[nodiscard]] const FeedForward* feed_forward() const { return std::get_if<FeedForward>(&mlp); }

  bool operator==(const Block&) const = default;
};

/// Blocks of one kind that follow each other.
struct BlockRun {
  Block block;
  std::int64_t count = 0;

  bool operator==(const BlockRun&) const = default;
};

enum class TransformerTask : std::uint8_t {
  kLanguage,        // a logit for each word of the vocabulary at each position
  kClassification,  // one vector of logits for a sequence (ViT)
};

struct Transformer {
  std::int64_t hidden = 0;
  std::vector<BlockRun> blocks = {};    // of the decoder, or of an encoder that stands alone
  std::vector<BlockRun> encoder = {};   // T5: before `blocks`, which then have cross attention
  std::int64_t vocabulary = 0;          // not padded; classes of a classifier
  std::int64_t positions = 0;           // learned positions; 0: none
  std::int64_t token_types = 0;         // BERT's segments
  std::int64_t relative_positions = 0;  // T5: distances told apart, for each head of a stack
  bool has_embedding_norm = false;      // BERT
  bool is_tied = false;                 // the head is the embedding transposed
  bool has_head_transform = false;      // BERT: dense, activation and norm before the head
  NormKind norm = NormKind::kLayer;     // the last one
  double dropout = 0;                   // of residuals; attention has its own
  double attention_dropout = 0;
  std::int64_t extra_predictions = 0;  // blocks that predict further tokens (DeepSeek's MTP)
  TransformerTask task = TransformerTask::kLanguage;
  std::int64_t patch = 0;  // ViT: size of a square patch
  std::int64_t image = 0;  // ViT: size of the square image

  /// Of the encoder and the decoder.
  [[nodiscard]] std::int64_t num_blocks() const {
    std::int64_t count = 0;
    for (const std::vector<BlockRun>* const stack : {&encoder, &blocks}) {
      for (const BlockRun& run : *stack) {
        count += run.count;
      }
    }
    return count;
  }

  bool operator==(const Transformer&) const = default;
};

/// A layer of a model that is given as a list: what it runs for one sample, and its parameters.
struct ListedLayer {
  std::string name;
  std::vector<kernel::Operator> forward = {};  // for one sample: the batch is 1
  std::vector<kernel::Operator> backward = {};
  std::vector<std::int64_t> parameters = {};  // elements of each tensor, in definition order
  std::int64_t output_elements = 0;           // of one sample

  bool operator==(const ListedLayer&) const = default;
};

struct LayerList {
  std::vector<ListedLayer> layers;

  bool operator==(const LayerList&) const = default;
};

struct EmbeddingTable {
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  std::int64_t pool = 1;  // lookups of one sample

  bool operator==(const EmbeddingTable&) const = default;
};

/// A recommendation model: dense features through `bottom`, categories through tables, all pairs
/// through the interaction, the rest through `top`.
struct Dlrm {
  std::int64_t dense_features = 0;
  std::vector<std::int64_t> bottom = {};  // widths of its layers
  std::vector<std::int64_t> top = {};
  std::vector<EmbeddingTable> tables = {};
};

/// A model, independent of the machine.
struct Model {
  std::string name;
  std::variant<Transformer, LayerList, Dlrm> body = Transformer{};

  [[nodiscard]] const Transformer* transformer() const { return std::get_if<Transformer>(&body); }

  [[nodiscard]] const LayerList* layer_list() const { return std::get_if<LayerList>(&body); }

  [[nodiscard]] const Dlrm* dlrm() const { return std::get_if<Dlrm>(&body); }
};

}  // namespace orrery::workload
