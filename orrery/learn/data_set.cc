#include "orrery/learn/data_set.h"

#include <numeric>
#include <utility>

#include "orrery/base/check.h"

namespace orrery::learn {

DataSet::DataSet(std::vector<std::string> feature_names, std::vector<std::string> group_names)
    : feature_names_(std::move(feature_names)), group_names_(std::move(group_names)) {}

RowIndex DataSet::Append(const Row& row) {
  ORRERY_CHECK(row.features.size() == num_features(), "a row has every feature");
  ORRERY_CHECK(row.groups.size() == group_names_.size(), "a row has every group");
  features_.insert(features_.end(), row.features.begin(), row.features.end());
  for (const std::string& group : row.groups) {
    groups_.push_back(texts_.Intern(group));
  }
  weights_.push_back(row.weight);
  targets_.push_back(row.target);
  return static_cast<RowIndex>(targets_.size() - 1);
}

std::vector<float> DataSet::FeaturesOf(std::span<const RowIndex> rows) const {
  std::vector<float> features;
  features.reserve(rows.size() * num_features());
  for (const RowIndex row : rows) {
    const std::span<const float> of_row = Features(row);
    features.insert(features.end(), of_row.begin(), of_row.end());
  }
  return features;
}

std::vector<double> DataSet::TargetsOf(std::span<const RowIndex> rows) const {
  std::vector<double> targets;
  targets.reserve(rows.size());
  for (const RowIndex row : rows) {
    targets.push_back(targets_[row]);
  }
  return targets;
}

std::vector<RowIndex> DataSet::AllRows() const {
  std::vector<RowIndex> rows(num_rows());
  std::iota(rows.begin(), rows.end(), RowIndex{0});
  return rows;
}

}  // namespace orrery::learn
