#include "orrery/kernel/alignment.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/kernel/features.h"

namespace orrery::kernel {

namespace {

constexpr auto kFeatureOfSize =
    std::to_array<std::string_view>({"alignment m", "alignment n", "alignment k"});
static_assert(kFeatureOfSize.size() == kGemmSizes.size());

/// The bytes of a vector load.
constexpr double kAlignedBytes = 16;

bool IsGemmKind(OperatorKind kind) {
  return kind == OperatorKind::kGemm || kind == OperatorKind::kBatchedGemm;
}

std::int64_t AlignedElements(DataType type) {
  return std::max<std::int64_t>(1, std::llround(kAlignedBytes / ElementBytes(type)));
}

}  // namespace

GemmSizes UnalignedSizes(const Operator& op) {
  GemmSizes sizes;
  if (!IsGemmKind(op.kind())) {
    return sizes;
  }
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    sizes[i] = op.Get(kGemmSizes[i]) % AlignedElements(op.type()) != 0;
  }
  return sizes;
}

Operator Aligned(const Operator& op, GemmSizes sizes) {
  const std::int64_t elements = AlignedElements(op.type());
  Operator aligned = op;
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    if (sizes[i]) {
      const std::int64_t blocks = (op.Get(kGemmSizes[i]) + elements - 1) / elements;
      aligned.Set(kGemmSizes[i], blocks * elements);
    }
  }
  return aligned;
}

AlignmentKnowledge::AlignmentKnowledge(OperatorKind kind, const learn::Forest& forest) {
  if (!IsGemmKind(kind)) {
    return;
  }
  const std::vector<std::string> names = FeatureNames(kind);
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    const auto feature = std::ranges::find(names, kFeatureOfSize[i]) - names.begin();
    smallest_split_[i] =
        forest.LeastThreshold(static_cast<std::size_t>(feature)).value_or(kNoSplit);
  }
}

GemmSizes AlignmentKnowledge::IndistinctSizes(DataType type) const {
  GemmSizes sizes;
  const double needed = std::log2(AlignedElements(type));
  for (std::size_t i = 0; i < kGemmSizes.size(); ++i) {
    sizes[i] = smallest_split_[i] > needed;
  }
  return sizes;
}

}  // namespace orrery::kernel
