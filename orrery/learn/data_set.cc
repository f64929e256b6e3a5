#include "orrery/learn/data_set.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

std::optional<std::size_t> Find(std::span<const std::string> names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    return std::nullopt;
  }
  return static_cast<std::size_t>(found - names.begin());
}

std::string TextOf(const Table& table, std::size_t row, std::string_view column) {
  if (const auto text = table.Text(row, column)) {
    return std::string(*text);
  }
  if (const auto integer = table.Integer(row, column)) {
    return fmt::format("{}", *integer);
  }
  const auto number = table.Number(row, column);
  return number ? fmt::format("{}", *number) : std::string();
}

Status CheckColumn(const Table& table, std::string_view name, bool is_number) {
  const auto column = table.FindColumn(name);
  if (!column) {
    return Fail(Error::Kind::kNotFound, fmt::format("no such column: {}", name));
  }
  if (is_number && table.column_type(*column) == Table::Type::kText) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("column of text where numbers are needed: {}", name));
  }
  return {};
}

Status CheckColumns(const Table& table, const DataSet::TableColumns& columns) {
  for (const std::string& name : columns.features) {
    ORRERY_TRY_STATUS(CheckColumn(table, name, true));
  }
  for (const std::string& name : columns.groups) {
    ORRERY_TRY_STATUS(CheckColumn(table, name, false));
  }
  if (!columns.weight.empty()) {
    ORRERY_TRY_STATUS(CheckColumn(table, columns.weight, true));
  }
  if (!columns.label.empty()) {
    ORRERY_TRY_STATUS(CheckColumn(table, columns.label, false));
  }
  return CheckColumn(table, columns.target, true);
}

Result<double> NumberAt(const Table& table, std::size_t row, std::string_view column) {
  const auto number = table.Number(row, column);
  if (!number || !std::isfinite(*number)) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("row {}: no number in column {}", row + 1, column));
  }
  return *number;
}

float FeatureAt(const Table& table, std::size_t row, std::string_view column) {
  const auto number = table.Number(row, column);
  return number ? static_cast<float>(*number) : std::numeric_limits<float>::quiet_NaN();
}

}  // namespace

DataSet::DataSet(std::vector<std::string> feature_names, std::vector<std::string> group_names)
    : feature_names_(std::move(feature_names)), group_names_(std::move(group_names)) {}

RowIndex DataSet::Append(const Row& row) {
  ORRERY_CHECK(row.features.size() == num_features(), "a row has every feature");
  ORRERY_CHECK(row.groups.size() == group_names_.size(), "a row has every group");
  features_.insert(features_.end(), row.features.begin(), row.features.end());
  for (const std::string& group : row.groups) {
    groups_.push_back(texts_.Intern(group));
  }
  labels_.push_back(texts_.Intern(row.label));
  weights_.push_back(row.weight);
  targets_.push_back(row.target);
  return static_cast<RowIndex>(targets_.size() - 1);
}

Result<DataSet> DataSet::FromTable(const Table& table, const TableColumns& columns) {
  ORRERY_TRY_STATUS(CheckColumns(table, columns));
  DataSet data(columns.features, columns.groups);
  std::vector<float> features(columns.features.size());
  for (std::size_t index = 0; index < table.num_rows(); ++index) {
    Row row{.features = features};
    ORRERY_TRY(row.target, NumberAt(table, index, columns.target));
    if (!columns.weight.empty()) {
      ORRERY_TRY(row.weight, NumberAt(table, index, columns.weight));
    }
    std::transform(columns.features.begin(), columns.features.end(), features.begin(),
                   [&](const std::string& name) { return FeatureAt(table, index, name); });
    for (const std::string& name : columns.groups) {
      row.groups.push_back(TextOf(table, index, name));
    }
    row.label = columns.label.empty() ? std::string() : TextOf(table, index, columns.label);
    data.Append(row);
  }
  return data;
}

std::optional<std::size_t> DataSet::FindFeature(std::string_view name) const {
  return Find(feature_names_, name);
}

std::optional<std::size_t> DataSet::FindGroup(std::string_view name) const {
  return Find(group_names_, name);
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
