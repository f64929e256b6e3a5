#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/echo/echo_rows.h"

namespace orrery::compat::echo {

/// Echo's slowdown model: a forest that XGBoost saved, evaluated as XGBoost does it, with sums of
/// floats from the base score on through the trees in order. `learn::Forest` sums exactly, and
/// would differ in the last digits of what was published.
class EchoModel {
 public:
  /// Reads XGBoost's JSON. Fails if there are other features than Echo's, or nodes that form no
  /// tree.
  [[nodiscard]] static Result<EchoModel> Parse(std::string_view json);

  /// The slowdown as Echo defines it; a float, and negative at times.
  [[nodiscard]] float Predict(const Features& features) const;

  [[nodiscard]] std::size_t num_trees() const { return tree_begins_.size(); }

  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }

  /// What a feature took of the loss in all splits, as a share; in the order of kFeatures.
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
