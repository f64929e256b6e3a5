#pragma once

#include <array>
#include <bitset>
#include <limits>

#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {

/// The sizes of a product, and a set of them.
inline constexpr auto kGemmSizes = std::to_array({Key::kM, Key::kN, Key::kK});
using GemmSizes = std::bitset<kGemmSizes.size()>;

/// Sizes of a product of two matrices that 16 bytes do not divide: libraries have fast kernels for
/// rows that begin at such borders. None of other kinds.
[[nodiscard]] GemmSizes UnalignedSizes(const Operator& op);

/// The same product with some sizes raised to the next aligned one.
[[nodiscard]] Operator Aligned(const Operator& op, GemmSizes sizes);

/// Which sizes of a product a forest tells apart by their alignment. A table of aligned rows
/// teaches none: no tree asks what no row answers.
class AlignmentSight {
 public:
  AlignmentSight(OperatorKind kind, const learn::Forest& forest);

  /// Sizes of which it takes unaligned ones for aligned ones, as far as `type` asks for alignment.
  [[nodiscard]] GemmSizes BlindTo(DataType type) const;

 private:
  static constexpr float kNothingTold = std::numeric_limits<float>::infinity();

  // The least alignment, as its logarithm, that a tree splits rows at.
  std::array<float, kGemmSizes.size()> least_told_ = {kNothingTold, kNothingTold, kNothingTold};
};

}  // namespace orrery::kernel
