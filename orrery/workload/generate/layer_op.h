#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/collective/request.h"
#include "orrery/kernel/operator.h"

namespace orrery::workload {

/// What a breakdown of a step tells apart.
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

[[nodiscard]] std::string_view Name(Category category);

/// The groups that a rank talks in; messages of a pipeline have a role for each neighbour,
/// direction and pass, so that none waits for another.
enum class GroupRole : std::uint32_t {
  kTensor,
  kContext,
  kExperts,
  kExpertTensor,
  kData,
  kReplicas,    // copies of a shard (HSDP)
  kExpertData,  // ranks that hold the same experts
  kTied,        // first and last stage, which share the embedding
  kAll,         // everybody: the norm of all gradients
  kTables,      // everybody: vectors of embedding tables that are dealt to ranks
  kNextForwardOut,
  kNextForwardIn,
  kNextBackwardOut,
  kNextBackwardIn,
  kPreviousForwardOut,
  kPreviousForwardIn,
  kPreviousBackwardOut,
  kPreviousBackwardIn,
  kContextRing,  // across groups that deal heads on kContext
};

inline constexpr std::uint32_t kNumGroupRoles =
    static_cast<std::uint32_t>(GroupRole::kContextRing) + 1;

/// "tp", "dp", "pp next forward out": the first word is the dimension.
[[nodiscard]] std::string_view Name(GroupRole role);

/// What a layer communications with other ranks.
struct Communication {
  GroupRole role = GroupRole::kTensor;
  collective::CollectiveKind kind = collective::CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  collective::Element element = collective::Element::kBfloat16;
  int beside = 0;  // how many following operators do not wait for it
};

/// One thing that a layer does: an operator, or an communication.
struct LayerOp {
  std::string_view name;
  Category category = Category::kElementwise;
  bool is_wgrad = false;  // may be put off until later (zero bubble)
  int launches = 1;       // calls of the host that hand it over
  std::optional<kernel::Operator> op = {};
  std::optional<Communication> communication = {};
};

/// A piece of the model that runs as a whole: a block, the embedding, the head.
struct UnitOps {
  std::vector<LayerOp> forward;
  std::vector<LayerOp> recompute;  // what is run again before the backward pass
  std::vector<LayerOp> backward;
  std::int64_t weight_inputs = 0;  // bytes that gradients of weights need when they are put off
};

}  // namespace orrery::workload
