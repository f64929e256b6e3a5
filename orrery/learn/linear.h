#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// A weighted sum of the features and a constant.
class Linear {
 public:
  Linear(double intercept, std::vector<double> coefficients);

  /// Fits by least squares, rows by weight, with `ridge` times the squared coefficients (of
  /// features scaled to deviation 1; not of the intercept) added to the mean squared error. With
  /// ridge 0, of many solutions that with the smallest coefficients. A missing value is an error.
  [[nodiscard]] static Result<Linear> Fit(const DataSet& data, std::span<const RowIndex> rows,
                                          double ridge);

  [[nodiscard]] double Predict(std::span<const float> row) const;
  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows) const;

  [[nodiscard]] double intercept() const { return intercept_; }

  [[nodiscard]] std::span<const double> coefficients() const { return coefficients_; }

  /// The bytes of a section of a model file.
  [[nodiscard]] std::string Encode() const;
  [[nodiscard]] static Result<Linear> Decode(std::string_view bytes);

 private:
  double intercept_ = 0;
  std::vector<double> coefficients_;
};

}  // namespace orrery::learn
