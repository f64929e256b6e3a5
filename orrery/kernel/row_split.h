#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/measurement.h"

namespace orrery::kernel {

/// The rows that are held out of training.
struct SplitRule {
  enum class Kind : std::uint8_t {
    kRandom,  // a share of the shapes, duplicates together
    kGpu,     // a GPU, or each in turn if none is named
    kValue,   // a share of the values of one parameter
    kAbove,   // all rows whose parameter is above a value
  };

  Kind kind = Kind::kRandom;
  double share = 0.2;
  std::string gpu = {};
  std::string parameter = {};
  std::int64_t threshold = 0;
  std::uint64_t seed = 1;

  /// "random", "random:30", "gpu", "gpu:V100", "value:m", "value:m:20", "above:m:4096"; shares in
  /// percent, optionally with ":seed=7".
  [[nodiscard]] static Result<SplitRule> Parse(std::string_view text);

  [[nodiscard]] std::string Text() const;
};

/// One round of training and testing.
struct RowSplit {
  std::string name;
  std::vector<Measurement> train;
  std::vector<Measurement> test;
};

/// Makes the rounds of a rule: one, or one for each GPU. Shapes are drawn by a hash of their text
/// and the seed, so the same row is in the same part on every machine.
[[nodiscard]] Result<std::vector<RowSplit>> SplitRows(std::span<const Measurement> rows,
                                                      const SplitRule& rule);

/// The text that duplicates share: a shape with warm and cold operands, and a GEMM with n and k
/// swapped.
[[nodiscard]] std::string DuplicateKey(const Operator& op);

}  // namespace orrery::kernel
