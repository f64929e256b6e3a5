#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/math/mix_bits.h"
#include "orrery/base/string_table.h"

namespace orrery::learn {

using orrery::MixBits;

/// Returns XXH64 of the text: a number that stays the same on every machine and in every version.
[[nodiscard]] std::uint64_t HashText(std::string_view text, std::uint64_t seed);

/// Returns a number from 0 to below 1 with the upper 53 bits of `bits`.
[[nodiscard]] double UnitInterval(std::uint64_t bits);

/// SplitMix64: the one random generator of this module. The same seed gives the same numbers on
/// every machine, which the distributions of the standard library do not promise.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t Next();

  /// Returns a number from 0 to below `limit`, which is above 0, without bias worth naming
  /// (limit / 2^64).
  std::size_t Below(std::size_t limit);

  double Uniform() { return UnitInterval(Next()); }

  /// Permutes by Fisher-Yates.
  template <typename T>
  void Shuffle(std::span<T> items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      std::swap(items[left - 1], items[Below(left)]);
    }
  }

 private:
  std::uint64_t state_;
};

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

  [[nodiscard]] std::span<const float> features() const { return features_; }

  [[nodiscard]] std::span<const double> targets() const { return targets_; }

  [[nodiscard]] std::span<const double> weights() const { return weights_; }

  [[nodiscard]] std::string_view Group(RowIndex row, std::size_t group) const {
    return texts_.View(groups_[row * group_names_.size() + group]);
  }

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

/// The rows that training may see: no test rows, so what takes this type cannot look at them.
struct TrainingRows {
  std::span<const RowIndex> train;
  std::span<const RowIndex> validation;
};

/// Each row is in at most one part; the rows of a part are in order.
struct Split {
  std::vector<RowIndex> train;
  std::vector<RowIndex> validation;
  std::vector<RowIndex> test;

  [[nodiscard]] TrainingRows training() const { return {train, validation}; }
};

/// Duplicates (repeats of one measurement, the same shape transposed) must not be on both sides, so
/// rows are drawn by the text of a group: a row's part follows from a hash of that text and the
/// seed alone, the same on every machine and whatever other rows there are. The shares are met on
/// average.
struct Draw {
  std::size_t duplicate_group = 0;  // index into DataSet::group_names
  double validation_share = 0.1;
  std::uint64_t seed = 0;
};

[[nodiscard]] Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share);

}  // namespace orrery::learn
