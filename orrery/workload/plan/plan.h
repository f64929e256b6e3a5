#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace orrery::workload {

/// Parts of a block that run again before its backward pass, so that their results need not be
/// kept, where the block is not recomputed as a whole.
struct RecomputedParts {
  bool norms = false;        // all of them
  bool latent_up = false;    // queries, keys and values from the narrow vectors of latent attention
  bool activations = false;  // between the products of feed-forward networks and experts
  bool experts = false;      // all of their layer, with router and communication of tokens
  bool mlp = false;          // all of feed-forward networks without experts

  bool operator==(const RecomputedParts&) const = default;
};

/// The name of a part in job files and in Megatron's --recompute-modules.
struct RecomputedPartName {
  std::string_view name;
  std::string_view megatron;
  bool RecomputedParts::* member;
};

inline constexpr std::array<RecomputedPartName, 5> kRecomputedPartNames{{
    {"norms", "layernorm", &RecomputedParts::norms},
    {"latent_up", "mla_up_proj", &RecomputedParts::latent_up},
    {"activations", "moe_act", &RecomputedParts::activations},
    {"experts", "moe", &RecomputedParts::experts},
    {"mlp", "mlp", &RecomputedParts::mlp},
}};

enum class PipelineSchedule : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZeroBubbleH1,  // also ZB-1p
  kZeroBubble2p,
  kZeroBubbleV,
  kDualPipe,
};

/// The states that data-parallel ranks shard.
enum class Sharding : std::uint8_t {
  kReplicated,    // DDP
  kOptimizer,     // ZeRO-1, Megatron's distributed optimizer
  kGradients,     // ZeRO-2
  kParameters,    // ZeRO-3, FSDP full shard
  kKeepGathered,  // FSDP shard_grad_op: kParameters that are never resharded after the forward pass
};

/// The handling of gathered parameters behind the forward pass, if parameters are sharded
/// (torchtitan's fsdp_reshard_after_forward).
enum class Reshard : std::uint8_t {
  kAlways,   // they are dropped and gathered again for the backward pass
  kNever,    // they stay until the backward pass
  kDefault,  // kAlways without a pipeline, kNever with one
};

/// As job files and frameworks.yaml spell them.
inline constexpr std::array<std::pair<std::string_view, Reshard>, 3> kReshardNames{{
    {"always", Reshard::kAlways},
    {"never", Reshard::kNever},
    {"default", Reshard::kDefault},
}};

[[nodiscard]] constexpr std::string_view ReshardName(Reshard reshard) {
  return kReshardNames[static_cast<std::size_t>(reshard)].first;
}

enum class ContextKind : std::uint8_t {
  kRing,
  kAllGather,
  kUlysses,
  kUlyssesRing,  // Ulysses among `ulysses_ranks` neighbours, rings across (a2a+p2p)
};

enum class Recompute : std::uint8_t {
  kNothing,
  kSelective,  // the core of attention
  kOperators,  // all but attention, reduce-scatters and every second GEMM (torchtitan's "op")
  kFull,       // every layer, or `recompute_layers` of a stage, or `recompute_share` of them
};

enum class TokenDispatch : std::uint8_t { kAllToAll, kAllGather, kFlex };

enum class TableSharding : std::uint8_t { kTable, kRow, kColumn };

/// The choice of experts by tokens.
struct TokenRouting {
  double zipf = 0;  // the i-th popular expert is chosen as 1/i^zipf; 0: as uneven as the plan says
  std::string log = {};                         // a file of recorded loads
  std::vector<std::vector<double>> loads = {};  // of experts, from it: step by step, in it layers
  std::size_t layers_of_log = 0;
  std::uint64_t seed = 0;  // of draws

  bool operator==(const TokenRouting&) const = default;
};

/// The distribution of a model over GPUs. Ranks count tp first, then cp, dp (which has ep) and pp.
struct Plan {
  int tp = 1;
  int pp = 1;
  int cp = 1;
  int dp = 1;         // GPUs / (tp · pp · cp)
  int ep = 1;         // expert groups are cut out of dp · cp · tp
  int expert_tp = 1;  // tensor parallelism inside experts

  bool sequence_parallel = false;
  PipelineSchedule schedule = PipelineSchedule::k1f1b;
  int chunks = 1;                          // of a device in interleaved schedules
  std::vector<int> layers_per_stage = {};  // empty: evenly, what is left over to the first ones
  bool counts_embedding = false;           // as a layer, where layers are dealt evenly
  bool counts_loss = false;
  bool pipeline_is_innermost = false;  // ranks of a pipeline are neighbours: tp-cp-pp-dp

  ContextKind context = ContextKind::kRing;
  int ulysses_ranks = 1;            // kUlyssesRing: neighbours that deal heads
  bool context_is_balanced = true;  // causal work is dealt evenly

  Sharding sharding = Sharding::kReplicated;
  int shard_ranks = 0;                 // data-parallel ranks that share one copy (HSDP); 0: all
  Reshard reshard = Reshard::kAlways;  // kParameters
  bool offload_optimizer = false;
  double offload_activations = 0;  // share of what blocks keep for the backward pass

  Recompute recompute = Recompute::kNothing;
  int recompute_layers = 0;    // of each stage, kFull: 0 for all
  double recompute_share = 1;  // of the model's blocks, kFull: evenly among the others
  RecomputedParts recompute_parts = {};

  TokenDispatch dispatch = TokenDispatch::kAllToAll;
  double capacity_factor = 0;  // 0: tokens are never dropped
  int expert_nodes = 0;        // most nodes that a token is sent to; 0: any number
  double token_imbalance = 1;  // tokens of the busiest expert rank over the mean, on average
  TokenRouting routing = {};   // the cause of the imbalance
  TableSharding tables = TableSharding::kTable;

  bool operator==(const Plan&) const = default;
};

/// The division of attention by context-parallel ranks.
struct ContextRanks {
  int ulysses = 1;  // neighbours that deal heads where tokens were dealt
  int ring = 1;     // that pass keys and values on
};

[[nodiscard]] inline ContextRanks ContextRanksOf(const Plan& plan) {
  const bool has_both = plan.context == ContextKind::kUlyssesRing;
  const int ulysses = has_both                                ? plan.ulysses_ranks
                      : plan.context == ContextKind::kUlysses ? plan.cp
                                                              : 1;
  const bool has_ring = has_both || plan.context == ContextKind::kRing;
  return {.ulysses = ulysses, .ring = has_ring ? plan.cp / ulysses : 1};
}

}  // namespace orrery::workload
