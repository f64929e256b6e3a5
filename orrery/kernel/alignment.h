#pragma once

#include <array>
#include <bitset>
#include <limits>

#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {

/// The sizes of a GEMM, and a set of them.
inline constexpr auto kGemmSizes = std::to_array({Key::kM, Key::kN, Key::kK});
using GemmSizes = std::bitset<kGemmSizes.size()>;

/// GEMM sizes that are not multiples of 16 bytes: libraries have faster kernels for aligned rows.
/// None for other kinds.
[[nodiscard]] GemmSizes UnalignedSizes(const Operator& op);

/// The same GEMM with some sizes rounded up to the next aligned one.
[[nodiscard]] Operator Aligned(const Operator& op, GemmSizes sizes);

/// The GEMM sizes whose alignment a forest distinguishes: none if all training rows were aligned.
class AlignmentKnowledge {
 public:
  AlignmentKnowledge(OperatorKind kind, const learn::Forest& forest);

  /// Sizes whose unaligned values it treats as aligned, as far as alignment matters for `type`.
  [[nodiscard]] GemmSizes IndistinctSizes(DataType type) const;

 private:
  static constexpr float kNoSplit = std::numeric_limits<float>::infinity();

  // The smallest alignment (log2) at which a tree splits.
  std::array<float, kGemmSizes.size()> smallest_split_ = {kNoSplit, kNoSplit, kNoSplit};
};

}  // namespace orrery::kernel
