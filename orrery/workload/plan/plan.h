#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/workload/plan/recomputed_parts.h"

namespace orrery::workload {

enum class PipelineSchedule : std::uint8_t {
  kGpipe,
  k1f1b,
  kInterleaved,
  kZeroBubbleH1,
  kZeroBubbleV,
  kDualPipe,
};

/// What data-parallel ranks keep a part of instead of all.
enum class Sharding : std::uint8_t {
  kReplicated,    // DDP
  kOptimizer,     // ZeRO-1, Megatron's distributed optimizer
  kGradients,     // ZeRO-2
  kParameters,    // ZeRO-3, FSDP full shard
  kKeepGathered,  // FSDP shard_grad_op: parameters stay whole after the forward pass
};

enum class ContextKind : std::uint8_t {
  kRing,
  kAllGather,
  kUlysses,
  kUlyssesRing,  // Ulysses among `ulysses_ranks` neighbours, rings across (a2a+p2p)
};

enum class Recompute : std::uint8_t {
  kNothing,
  kSelective,  // the core of attention
  kFull,       // every layer, or `recompute_layers` of a stage, or `recompute_share` of them
};

enum class TokenDispatch : std::uint8_t { kAllToAll, kAllGather, kFlex };

enum class TableSharding : std::uint8_t { kTable, kRow, kColumn };

/// How a model is spread over GPUs. Ranks count tp first, then cp, dp (which holds ep) and pp.
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
  bool pipeline_is_innermost = false;      // ranks of a pipeline are neighbours: tp-cp-pp-dp

  ContextKind context = ContextKind::kRing;
  int ulysses_ranks = 1;            // kUlyssesRing: neighbours that deal heads
  bool context_is_balanced = true;  // causal work is dealt evenly

  Sharding sharding = Sharding::kReplicated;
  int shard_ranks = 0;  // data-parallel ranks that share one copy (HSDP); 0: all
  bool offload_optimizer = false;

  Recompute recompute = Recompute::kNothing;
  int recompute_layers = 0;    // of each stage, kFull: 0 for all
  double recompute_share = 1;  // of the model's blocks, kFull: evenly among the others
  RecomputedParts recompute_parts = {};

  TokenDispatch dispatch = TokenDispatch::kAllToAll;
  double capacity_factor = 0;  // 0: tokens are never dropped
  int expert_nodes = 0;        // most nodes that a token is sent to; 0: any number
  double token_imbalance = 1;  // tokens of the busiest expert rank over the mean
  TableSharding tables = TableSharding::kTable;

  bool operator==(const Plan&) const = default;
};

}  // namespace orrery::workload
