#include "orrery/learn/importance.h"

#include <numeric>

#include "orrery/base/check.h"
#include "orrery/base/statistics.h"
#include "orrery/learn/random.h"

namespace orrery::learn {
namespace {

std::vector<std::size_t> ShuffledOrder(std::size_t count, Random& random) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  random.Shuffle(std::span(order));
  return order;
}

std::vector<float> WithShuffledGroup(const std::vector<float>& rows, std::size_t num_features,
                                     const FeatureGroup& group, Random& random) {
  const std::vector<std::size_t> order = ShuffledOrder(rows.size() / num_features, random);
  std::vector<float> shuffled = rows;
  for (std::size_t row = 0; row < order.size(); ++row) {
    for (const std::size_t feature : group.features) {
      shuffled[row * num_features + feature] = rows[order[row] * num_features + feature];
    }
  }
  return shuffled;
}

}  // namespace

std::vector<GroupImportance> PermutationImportance(
    const DataSet& data, std::span<const RowIndex> rows, std::span<const FeatureGroup> groups,
    const Predictor& predict, const ErrorFigure& error, const PermutationOptions& options) {
  ORRERY_CHECK(options.shuffles > 0, "there is a shuffle");
  const std::vector<float> features = data.FeaturesOf(rows);
  const std::vector<double> targets = data.TargetsOf(rows);
  const double error_as_is = error(predict(features), targets);
  std::vector<GroupImportance> importances;
  for (const FeatureGroup& group : groups) {
    // Seeded by name, so that a group's importance does not depend on the other groups.
    Random random(HashText(group.name, options.seed));
    std::vector<double> increases;
    for (int shuffle = 0; shuffle < options.shuffles; ++shuffle) {
      const std::vector<float> shuffled =
          WithShuffledGroup(features, data.num_features(), group, random);
      increases.push_back(error(predict(shuffled), targets) - error_as_is);
    }
    importances.push_back({.name = group.name,
                           .mean_increase = Mean(increases),
                           .spread = StandardDeviation(increases)});
  }
  return importances;
}

}  // namespace orrery::learn
