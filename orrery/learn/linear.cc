#include "orrery/learn/linear.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <Eigen/Dense>
#include <fmt/format.h>

#include "orrery/base/byte_cursor.h"
#include "orrery/base/check.h"
#include "orrery/learn/byte_planes.h"

namespace orrery::learn {
namespace {

// Features and target with their weighted means taken off, each row times the root of its share of
// the weight, and features divided by their deviation.
struct Problem {
  Eigen::MatrixXd features;
  Eigen::VectorXd target;
  Eigen::VectorXd means;
  Eigen::VectorXd deviations;
  double target_mean = 0;
};

Eigen::VectorXd WeightShares(const DataSet& data, std::span<const RowIndex> rows) {
  Eigen::VectorXd shares(rows.size());
  for (std::size_t index = 0; index < rows.size(); ++index) {
    shares[static_cast<Eigen::Index>(index)] = data.weights()[rows[index]];
  }
  return shares / shares.sum();
}

void Gather(const DataSet& data, std::span<const RowIndex> rows, Problem& problem) {
  const auto num_features = static_cast<Eigen::Index>(data.num_features());
  problem.features.resize(static_cast<Eigen::Index>(rows.size()), num_features);
  problem.target.resize(static_cast<Eigen::Index>(rows.size()));
  for (Eigen::Index index = 0; index < problem.target.size(); ++index) {
    const RowIndex row = rows[static_cast<std::size_t>(index)];
    problem.target[index] = data.targets()[row];
    problem.features.row(index) =
        Eigen::Map<const Eigen::RowVectorXf>(data.Features(row).data(), num_features)
            .cast<double>();
  }
}

Problem Standardise(const DataSet& data, std::span<const RowIndex> rows) {
  Problem problem;
  Gather(data, rows, problem);
  const Eigen::VectorXd shares = WeightShares(data, rows);
  const Eigen::VectorXd roots = shares.cwiseSqrt();
  problem.means = problem.features.transpose() * shares;
  problem.target_mean = shares.dot(problem.target);
  problem.features.rowwise() -= problem.means.transpose();
  problem.features = roots.asDiagonal() * problem.features;
  problem.target = roots.cwiseProduct((problem.target.array() - problem.target_mean).matrix());
  problem.deviations = problem.features.colwise().norm().transpose();
  for (double& deviation : problem.deviations) {
    deviation = deviation > 0 ? deviation : 1;
  }
  problem.features = problem.features * problem.deviations.cwiseInverse().asDiagonal();
  return problem;
}

Eigen::VectorXd Solve(const Problem& problem, double ridge) {
  if (ridge == 0) {
    return problem.features.completeOrthogonalDecomposition().solve(problem.target);
  }
  Eigen::MatrixXd normal = problem.features.transpose() * problem.features;
  normal.diagonal().array() += ridge;
  return normal.ldlt().solve(problem.features.transpose() * problem.target);
}

Status CheckRows(const DataSet& data, std::span<const RowIndex> rows) {
  if (rows.empty() || data.num_features() == 0) {
    return Fail(Error::Kind::kInvalidInput, "there are no rows or no features to learn from");
  }
  for (const RowIndex row : rows) {
    for (std::size_t feature = 0; feature < data.num_features(); ++feature) {
      if (!std::isfinite(data.Features(row)[feature])) {
        return Fail(Error::Kind::kInvalidInput,
                    fmt::format("row {} has no value of {}, which a linear model needs", row,
                                data.feature_names()[feature]));
      }
    }
  }
  return {};
}

}  // namespace

Linear::Linear(double intercept, std::vector<double> coefficients)
    : intercept_(intercept), coefficients_(std::move(coefficients)) {}

Result<Linear> Linear::Fit(const DataSet& data, std::span<const RowIndex> rows, double ridge) {
  ORRERY_CHECK(ridge >= 0, "a penalty is not below 0");
  ORRERY_TRY_STATUS(CheckRows(data, rows));
  const Problem problem = Standardise(data, rows);
  const Eigen::VectorXd scaled = Solve(problem, ridge).cwiseQuotient(problem.deviations);
  return Linear(problem.target_mean - scaled.dot(problem.means), {scaled.begin(), scaled.end()});
}

double Linear::Predict(std::span<const float> row) const {
  ORRERY_CHECK(row.size() == coefficients_.size(), "a row has every feature");
  double sum = intercept_;
  for (std::size_t feature = 0; feature < row.size(); ++feature) {
    sum += coefficients_[feature] * row[feature];
  }
  return sum;
}

std::vector<double> Linear::PredictRows(std::span<const float> rows) const {
  const std::size_t num_features = coefficients_.size();
  ORRERY_CHECK(num_features > 0 && rows.size() % num_features == 0, "rows have every feature");
  std::vector<double> predictions;
  for (std::size_t begin = 0; begin < rows.size(); begin += num_features) {
    predictions.push_back(Predict(rows.subspan(begin, num_features)));
  }
  return predictions;
}

std::string Linear::Encode() const {
  ByteWriter writer;
  WriteDouble(writer, intercept_);
  writer.Number(static_cast<std::uint32_t>(coefficients_.size()));
  for (const double coefficient : coefficients_) {
    WriteDouble(writer, coefficient);
  }
  return writer.bytes();
}

Result<Linear> Linear::Decode(std::string_view bytes) {
  ByteReader reader(bytes);
  const double intercept = ReadDouble(reader);
  std::vector<double> coefficients(reader.Count(sizeof(double)));
  for (double& coefficient : coefficients) {
    coefficient = ReadDouble(reader);
  }
  if (reader.failed() || reader.skipped_bytes() > 0 || coefficients.empty()) {
    return Fail(Error::Kind::kInvalidInput, "the linear model in the model file is damaged");
  }
  return Linear(intercept, std::move(coefficients));
}

}  // namespace orrery::learn
