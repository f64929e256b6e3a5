#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace orrery::compat::echo {

/// Returns the permutation of 0 … count - 1 that NumPy's RandomState(seed) makes: MT19937,
/// positions swapped from the last to the second with one in [0, position], drawn by masking and
/// rejecting.
[[nodiscard]] std::vector<std::uint32_t> LegacyPermutation(std::size_t count, std::uint32_t seed);

/// Who trains and who is tested when scikit-learn's train_test_split keeps `test_share` out.
struct LegacySplit {
  std::vector<std::uint32_t> train;  // in order of row
  std::vector<std::uint32_t> test;
};

/// The test rows are the first ⌈count · test_share⌉ of the permutation.
[[nodiscard]] LegacySplit SplitAsScikitLearn(std::size_t count, double test_share,
                                             std::uint32_t seed);

}  // namespace orrery::compat::echo
