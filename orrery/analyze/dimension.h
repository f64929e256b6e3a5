#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"

namespace orrery::analyze {

/// The parallel dimension that a communication serves.
enum class Dimension : std::uint8_t {
  kTensor,
  kData,
  kPipeline,
  kContext,
  kExpert,
  kJoint,  // a group over several dimensions
  kUnknown,
};

inline constexpr int kNumDimensions = 7;

/// Returns "tp", "dp", "pp", "cp", "ep", "joint", "unknown".
[[nodiscard]] std::string_view DimensionName(Dimension dimension);

/// What decided the dimension of a group.
enum class DimensionRule : std::uint8_t { kDescription, kRankPattern, kOperation, kNone };

[[nodiscard]] std::string_view DimensionRuleName(DimensionRule rule);

struct DimensionOf {
  Dimension dimension = Dimension::kUnknown;
  DimensionRule rule = DimensionRule::kNone;
};

/// Returns the dimension of each collective of a rank: from the group's description, else from its
/// ranks and the card, else from the kind of operation.
[[nodiscard]] std::vector<DimensionOf> CollectiveDimensions(const RunView& run,
                                                            std::uint32_t rank_index);

/// Returns whether the card or a group says that the model is spread over pipeline stages.
[[nodiscard]] bool HasPipeline(const RunView& run);

}  // namespace orrery::analyze
