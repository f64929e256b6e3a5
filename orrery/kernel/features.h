#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

inline constexpr std::size_t kMaxFeatures = 96;

/// Elements of one tensor per block in PyTorch's kernels over lists of tensors.
inline constexpr std::int64_t kListChunkElements = 65536;

/// The inputs of a learned model for an operator on a GPU: its parameters (sizes as logarithms),
/// its work and bounds, and the quantities that decide how well it fills the GPU: tiles, waves,
/// padding, alignment.
class FeatureRow {
 public:
  /// Rounds to steps of 2^-10, so that a logarithm that differs in its last bit between machines
  /// is (nearly always) the same feature.
  void Add(double value);

  [[nodiscard]] std::span<const float> values() const { return {values_.data(), size_}; }

 private:
  std::array<float, kMaxFeatures> values_ = {};
  std::size_t size_ = 0;
};

/// Computes the features of an operator; their number and meaning depend on its kind only.
[[nodiscard]] FeatureRow FeaturesOf(const Operator& op, const hardware::Gpu& gpu);
[[nodiscard]] std::vector<std::string> FeatureNames(OperatorKind kind);

}  // namespace orrery::kernel
