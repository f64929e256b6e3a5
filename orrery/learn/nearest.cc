#include "orrery/learn/nearest.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "orrery/base/check.h"
#include "orrery/base/parallel.h"

namespace orrery::learn {
namespace {

double SquaredDistance(std::span<const float> lhs, const float* rhs) {
  double sum = 0;
  for (std::size_t feature = 0; feature < lhs.size(); ++feature) {
    const double difference = static_cast<double>(lhs[feature]) - static_cast<double>(rhs[feature]);
    sum += difference * difference;
  }
  return sum;
}

}  // namespace

Nearest::Nearest(const DataSet& data, std::span<const RowIndex> rows, std::size_t neighbours)
    : scaler_(Scaler::ForRows(data, rows)),
      neighbours_(std::min(neighbours, rows.size())),
      scaled_(rows.size() * data.num_features()),
      targets_(data.TargetsOf(rows)) {
  ORRERY_CHECK(neighbours_ > 0, "there is a neighbour");
  const std::size_t num_features = data.num_features();
  for (std::size_t index = 0; index < rows.size(); ++index) {
    scaler_.Scale(data.Features(rows[index]),
                  std::span(scaled_).subspan(index * num_features, num_features));
  }
}

std::vector<Nearest::Neighbour> Nearest::FindNearest(std::span<const float> row,
                                                     std::size_t count) const {
  std::vector<float> scaled(row.size());
  scaler_.Scale(row, scaled);
  std::vector<Neighbour> all(targets_.size());
  for (std::size_t index = 0; index < all.size(); ++index) {
    all[index] = {SquaredDistance(scaled, scaled_.data() + index * row.size()), index};
  }
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    [](const Neighbour& lhs, const Neighbour& rhs) {
                      return std::tie(lhs.squared_distance, lhs.row) <
                             std::tie(rhs.squared_distance, rhs.row);
                    });
  all.resize(count);
  return all;
}

double Nearest::Predict(std::span<const float> row) const {
  double sum = 0;
  for (const Neighbour& neighbour : FindNearest(row, neighbours_)) {
    sum += targets_[neighbour.row];
  }
  return sum / static_cast<double>(neighbours_);
}

std::vector<double> Nearest::PredictRows(std::span<const float> rows, int threads) const {
  const std::size_t num_features = scaler_.num_features();
  ORRERY_CHECK(num_features > 0 && rows.size() % num_features == 0, "rows have every feature");
  std::vector<double> predictions(rows.size() / num_features);
  ParallelFor(predictions.size(), threads, [&](std::size_t row) {
    predictions[row] = Predict(rows.subspan(row * num_features, num_features));
  });
  return predictions;
}

double Nearest::DistanceTo(std::span<const float> row) const {
  return std::sqrt(FindNearest(row, 1).front().squared_distance);
}

}  // namespace orrery::learn
