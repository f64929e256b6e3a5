#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {

/// Echo's slowdown model: an XGBoost forest, evaluated like XGBoost with float sums from the base
/// score through the trees in order. `learn::Forest` sums exactly and would differ in the last
/// digits from the published numbers.
class SlowdownModel {
 public:
  /// Reads XGBoost's JSON. Fails for other features than Echo's and for nodes that form no tree.
  [[nodiscard]] static Result<SlowdownModel> Parse(std::string_view json);

  /// Returns the slowdown as Echo defines it; may be negative.
  [[nodiscard]] float Predict(const Features& features) const;

  [[nodiscard]] std::size_t num_trees() const { return tree_begins_.size(); }

  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }

  /// The share of each feature in the gain of all splits, in the order of kFeatures.
  [[nodiscard]] std::span<const double> gain_shares() const { return gain_shares_; }

 private:
  struct Node {
    std::int32_t left = -1;  // within the tree; -1 for a leaf
    std::int32_t right = -1;
    std::uint32_t feature = 0;
    float condition = 0;  // the threshold, or the value of a leaf
    bool missing_goes_left = false;
  };

  class Reader;

  float base_ = 0;
  std::vector<std::size_t> tree_begins_;
  std::vector<Node> nodes_;
  std::vector<double> gain_shares_ = std::vector<double>(kFeatures.size(), 0.0);
};

}  // namespace orrery::compat::echo
