#include "orrery/learn/data_set.h"

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <xxhash.h>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

// Each use of a seed has its own random numbers; else the rows that remain after taking the test
// part would not be drawn uniformly.
enum class Purpose : std::uint64_t { kTest = 1, kValidation = 2 };

double DrawRow(const DataSet& data, const Draw& draw, RowIndex row, Purpose purpose) {
  const std::uint64_t seed = MixBits(draw.seed) + static_cast<std::uint64_t>(purpose);
  return UnitInterval(HashText(data.Group(row, draw.duplicate_group), seed));
}

}  // namespace

std::uint64_t HashText(std::string_view text, std::uint64_t seed) {
  return XXH64(text.data(), text.size(), seed);
}

double UnitInterval(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

std::uint64_t Random::Next() {
  state_ += 0x9e3779b97f4a7c15;
  return MixBits(state_);
}

std::size_t Random::Below(std::size_t limit) {
  ORRERY_CHECK(limit > 0, "there is no number below 0");
  return Next() % limit;
}

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

Split SplitAtRandom(const DataSet& data, const Draw& draw, double test_share) {
  ORRERY_CHECK(draw.duplicate_group < data.group_names().size(), "the group of duplicates exists");
  // Validation is a share of all rows, not of those that are left.
  const double validation_share = test_share < 1 ? draw.validation_share / (1 - test_share) : 0;
  Split split;
  for (RowIndex row = 0; row < data.num_rows(); ++row) {
    if (DrawRow(data, draw, row, Purpose::kTest) < test_share) {
      split.test.push_back(row);
    } else if (DrawRow(data, draw, row, Purpose::kValidation) < validation_share) {
      split.validation.push_back(row);
    } else {
      split.train.push_back(row);
    }
  }
  return split;
}

}  // namespace orrery::learn
