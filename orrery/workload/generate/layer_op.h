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

/// Categories of the breakdown of a step.
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
  kCopy,  // between GPU and host
  kOptimizer,
};

[[nodiscard]] constexpr std::string_view Name(Category category) {
  constexpr std::array<std::string_view, 11> kNames{
      "products", "attention", "norms",        "elementwise", "embedding",
      "loss",     "experts",   "convolutions", "casts",       "copies", "optimizer"};
  return kNames[static_cast<std::size_t>(category)];
}

/// The process groups of a rank. Pipeline messages have a role for each neighbour, direction and
/// pass, so that none waits for another.
enum class GroupRole : std::uint32_t {
  kTensor,
  kContext,
  kExperts,
  kExpertTensor,
  kData,        // ranks with the same parameters, of which they share one copy
  kReplicas,    // ranks with the same shard (HSDP)
  kExpertData,  // ranks with the same experts, of which they share one copy
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
  kContextRing,     // across the Ulysses groups on kContext
  kExpertReplicas,  // ranks with the same shard of the same experts (HSDP)
};

inline constexpr std::uint32_t kNumGroupRoles =
    static_cast<std::uint32_t>(GroupRole::kExpertReplicas) + 1;

/// A process group by name, its dimension of parallelism and which way its messages go.
struct RoleName {
  std::string_view name;
  std::string_view dimension;
  Direction direction = Direction::kBoth;
};

inline constexpr std::array<RoleName, kNumGroupRoles> kRoleNames{{
    {"tp", "tp"},
    {"cp", "cp"},
    {"ep", "ep"},
    {"tp of experts", "tp"},
    {"dp", "dp"},
    {"dp of shards", "dp"},
    {"dp of experts", "dp"},
    {"pp tied embedding", "pp"},
    {"all", "all"},
    {"tables", "tables"},
    {"pp next forward out", "pp", Direction::kSends},
    {"pp next forward in", "pp", Direction::kReceives},
    {"pp next backward out", "pp", Direction::kSends},
    {"pp next backward in", "pp", Direction::kReceives},
    {"pp previous forward out", "pp", Direction::kSends},
    {"pp previous forward in", "pp", Direction::kReceives},
    {"pp previous backward out", "pp", Direction::kSends},
    {"pp previous backward in", "pp", Direction::kReceives},
    {"cp ring", "cp"},
    {"dp of expert shards", "dp"},
}};

[[nodiscard]] constexpr std::string_view Name(GroupRole role) {
  return kRoleNames[static_cast<std::size_t>(role)].name;
}

/// Gives a program all of them, in order.
inline void AddGroupRoles(Program& program) {
  for (const auto& [name, dimension, direction] : kRoleNames) {
    program.AddRole(name, dimension, direction);
  }
}

/// Communication of a layer with other ranks.
struct Communication {
  GroupRole role = GroupRole::kTensor;
  CollectiveKind kind = CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  DataType element = DataType::kBf16;
  int overlapped_ops = 0;  // following operators that do not wait for it
  bool in_pieces = false;  // copy engines send it beside GEMMs that are cut like it (user buffers)
};

/// The cost of an operator on a GPU; UnitPricing fills it in.
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
  bool is_wgrad = false;    // may be deferred (zero bubble)
  int repeats = 1;          // kernels of this operator, one after the other
  int launches = 1;         // host calls that launch it
  int calls = 0;            // more of the host, in Python around it
  bool is_dynamic = false;  // depends on the routing of tokens: no part of a layer's CUDA graph
  bool is_routed = false;   // takes as long as the busiest expert rank has tokens
  bool host_waits = false;  // the host reads its result before it goes on
  std::optional<kernel::Operator> op = {};
  std::optional<Communication> communication = {};
  OpCost cost = {};
};

/// A piece of the model that runs as a whole: a block, the embedding, the head.
struct UnitOps {
  std::vector<LayerOp> forward;
  std::vector<LayerOp> recompute;  // runs again before the backward pass
  std::vector<LayerOp> backward;
  std::int64_t weight_inputs = 0;  // bytes that deferred weight gradients need
};

}  // namespace orrery::workload
