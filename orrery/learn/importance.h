#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// Predicts rows of features that lie one after the other.
using Predictor = std::function<std::vector<double>(std::span<const float>)>;

/// Returns one number for predicted and measured targets, the smaller the better (see metrics.h).
using ErrorFigure = std::function<double(std::span<const double>, std::span<const double>)>;

/// Features that are shuffled together, because they carry the same information.
struct FeatureGroup {
  std::string name;
  std::vector<std::size_t> features;
};

struct PermutationOptions {
  int shuffles = 10;
  std::uint64_t seed = 0;
};

/// How much worse predictions become without the information of a group.
struct GroupImportance {
  std::string name;
  double mean_increase = 0;  // of the error figure, over all shuffles
  double spread = 0;         // standard deviation over the shuffles
};

/// Shuffles the columns of each group among `rows`, the columns of one group alike, and compares
/// the error with that of the rows as they are. Groups are in the order given.
[[nodiscard]] std::vector<GroupImportance> PermutationImportance(
    const DataSet& data, std::span<const RowIndex> rows, std::span<const FeatureGroup> groups,
    const Predictor& predict, const ErrorFigure& error, const PermutationOptions& options = {});

}  // namespace orrery::learn
