#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/collective/request.h"
#include "orrery/kernel/operator.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// What the breakdown of a step separates.
enum class Category : std::uint8_t {
  kGemm,
  kAttention,
  kNorm,
  kElementwise,
  kEmbedding,
  kLoss,
  kExperts,
  kConvolution,
  kCast,
  kOptimizer,
};

[[nodiscard]] constexpr std::string_view Name(Category category) {
  constexpr std::array<std::string_view, 10> kNames{
      "products", "attention", "norms",        "elementwise", "embedding",
      "loss",     "experts",   "convolutions", "casts",       "optimizer"};
  return kNames[static_cast<std::size_t>(category)];
}

/// The process groups of a rank. Pipeline messages have a role for each neighbour, direction and
/// pass, so that none waits for another.
enum class GroupRole : std::uint32_t {
  kTensor,
  kContext,
  kExperts,
  kExpertTensor,
  kData,
  kReplicas,    // ranks with the same shard (HSDP)
  kExpertData,  // ranks with the same experts
  kTied,        // first and last stage, which share the embedding
  kAll,         // all ranks: the norm of all gradients
  kTables,      // all ranks: vectors of sharded embedding tables
  kNextForwardOut,
  kNextForwardIn,
  kNextBackwardOut,
  kNextBackwardIn,
  kPreviousForwardOut,
  kPreviousForwardIn,
  kPreviousBackwardOut,
  kPreviousBackwardIn,
  kContextRing,  // across the Ulysses groups on kContext
};

inline constexpr std::uint32_t kNumGroupRoles =
    static_cast<std::uint32_t>(GroupRole::kContextRing) + 1;

/// "tp", "dp", "pp next forward out": the first word is the dimension.
[[nodiscard]] constexpr std::string_view Name(GroupRole role) {
  constexpr std::array<std::string_view, kNumGroupRoles> kNames{"tp",
                                                                "cp",
                                                                "ep",
                                                                "tp of experts",
                                                                "dp",
                                                                "dp of shards",
                                                                "dp of experts",
                                                                "pp tied embedding",
                                                                "all",
                                                                "tables",
                                                                "pp next forward out",
                                                                "pp next forward in",
                                                                "pp next backward out",
                                                                "pp next backward in",
                                                                "pp previous forward out",
                                                                "pp previous forward in",
                                                                "pp previous backward out",
                                                                "pp previous backward in",
                                                                "cp ring"};
  return kNames[static_cast<std::size_t>(role)];
}

/// Communication of a layer with other ranks.
struct Communication {
  GroupRole role = GroupRole::kTensor;
  collective::CollectiveKind kind = collective::CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  collective::Element element = collective::Element::kBfloat16;
  int overlapped_ops = 0;  // how many following operators do not wait for it
};

/// What an operator takes on a GPU; OpPricing fills it in.
struct OpCost {
  std::int64_t duration_ps = 0;
  std::uint32_t memory_share = 0;   // of the memory bandwidth, in millionths
  std::uint32_t compute_share = 0;  // of the peak of its type, in millionths
  std::uint8_t operation = kNoOperation;
};

/// One operation of a layer: an operator or a communication.
struct LayerOp {
  std::string_view name;
  Category category = Category::kElementwise;
  bool is_wgrad = false;  // may be deferred (zero bubble)
  int launches = 1;       // host calls that launch it
  std::optional<kernel::Operator> op = {};
  std::optional<Communication> communication = {};
  OpCost cost = {};
};

/// A piece of the model that runs as a whole: a block, the embedding, the head.
struct UnitOps {
  std::vector<LayerOp> forward;
  std::vector<LayerOp> recompute;  // what runs again before the backward pass
  std::vector<LayerOp> backward;
  std::int64_t weight_inputs = 0;  // bytes that deferred weight gradients need
};

}  // namespace orrery::workload
