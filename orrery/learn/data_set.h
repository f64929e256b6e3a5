#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/string_table.h"

namespace orrery::learn {

using RowIndex = std::uint32_t;

/// The data that models are trained and evaluated on: one row for each measurement, with named
/// features, a target and a weight. Groups are texts that identify rows (the GPU, the shape) for
/// splits. A missing feature is NaN.
class DataSet {
 public:
  struct Row {
    std::span<const float> features;
    double target = 0;
    double weight = 1;
    std::vector<std::string> groups = {};
  };

  explicit DataSet(std::vector<std::string> feature_names,
                   std::vector<std::string> group_names = {});

  /// Adds a row with as many features and groups as there are names; returns its index.
  RowIndex Append(const Row& row);

  [[nodiscard]] std::size_t num_rows() const { return targets_.size(); }

  [[nodiscard]] std::size_t num_features() const { return feature_names_.size(); }

  [[nodiscard]] std::span<const std::string> feature_names() const { return feature_names_; }

  [[nodiscard]] std::span<const std::string> group_names() const { return group_names_; }

  [[nodiscard]] std::span<const float> Features(RowIndex row) const {
    return {features_.data() + row * num_features(), num_features()};
  }

  /// All features, row after row.
  [[nodiscard]] std::span<const float> features() const { return features_; }

  [[nodiscard]] std::span<const double> targets() const { return targets_; }

  [[nodiscard]] std::span<const double> weights() const { return weights_; }

  [[nodiscard]] std::string_view Group(RowIndex row, std::size_t group) const {
    return texts_.View(groups_[row * group_names_.size() + group]);
  }

  /// Copies the features of some rows, row after row.
  [[nodiscard]] std::vector<float> FeaturesOf(std::span<const RowIndex> rows) const;

  [[nodiscard]] std::vector<double> TargetsOf(std::span<const RowIndex> rows) const;

  /// Returns 0, 1, 2, …: every row.
  [[nodiscard]] std::vector<RowIndex> AllRows() const;

 private:
  std::vector<std::string> feature_names_;
  std::vector<std::string> group_names_;
  StringTable texts_;
  std::vector<float> features_;   // rows × features
  std::vector<StringId> groups_;  // rows × groups
  std::vector<double> targets_;
  std::vector<double> weights_;
};

}  // namespace orrery::learn
