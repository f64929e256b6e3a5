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
  kProduct,
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

/// The groups that a rank talks in; messages of a pipeline have a slot for each neighbour,
/// direction and pass, so that none waits for another.
enum class Slot : std::uint32_t {
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

inline constexpr std::uint32_t kNumSlots = static_cast<std::uint32_t>(Slot::kContextRing) + 1;

/// "tp", "dp", "pp next forward out": the first word is the dimension.
[[nodiscard]] std::string_view Name(Slot slot);

/// What a layer exchanges with other ranks.
struct Exchange {
  Slot slot = Slot::kTensor;
  collective::CollectiveKind kind = collective::CollectiveKind::kAllReduce;
  std::int64_t bytes = 0;
  collective::Element element = collective::Element::kBfloat16;
  int beside = 0;  // how many following operators do not wait for it
};

/// One thing that a layer does: an operator, or an exchange.
struct Step {
  std::string_view name;
  Category category = Category::kElementwise;
  bool is_for_weights = false;  // may be put off until later (zero bubble)
  int launches = 1;             // calls of the host that hand it over
  std::optional<kernel::Operator> op = {};
  std::optional<Exchange> exchange = {};
};

/// A piece of the model that runs as a whole: a block, the embedding, the head.
struct UnitSteps {
  std::vector<Step> forward;
  std::vector<Step> recompute;  // what is run again before the backward pass
  std::vector<Step> backward;
  std::int64_t weight_inputs = 0;  // bytes that gradients of weights need when they are put off
};

}  // namespace orrery::workload
