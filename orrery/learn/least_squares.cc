#include "orrery/learn/least_squares.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <Eigen/Dense>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

constexpr double kDifference = 1e-6;
constexpr double kFirstDamping = 1e-2;
constexpr double kLeastDamping = 1e-12;
constexpr double kMostDamping = 1e12;

class Solver {
 public:
  Solver(const Residuals& residuals, std::span<const double> least, std::span<const double> most,
         const LeastSquaresOptions& options)
      : residuals_(residuals), least_(least), most_(most), options_(options) {}

  LeastSquaresFit Run(std::span<const double> start) {
    point_ =
        Eigen::Map<const Eigen::VectorXd>(start.data(), static_cast<Eigen::Index>(start.size()));
    Clamp(point_);
    values_ = ValuesAt(point_);
    loss_ = Loss(values_);
    int iteration = 0;
    while (iteration < options_.max_iterations && Step()) {
      ++iteration;
    }
    return {std::vector<double>(point_.begin(), point_.end()), loss_, iteration};
  }

 private:
  Eigen::VectorXd ValuesAt(const Eigen::VectorXd& point) const {
    const std::vector<double> values =
        residuals_({point.data(), static_cast<std::size_t>(point.size())});
    return Eigen::Map<const Eigen::VectorXd>(values.data(),
                                             static_cast<Eigen::Index>(values.size()));
  }

  void Clamp(Eigen::VectorXd& point) const {
    for (Eigen::Index i = 0; i < point.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      point[i] = std::clamp(point[i], least_[at], most_[at]);
    }
  }

  double Loss(const Eigen::VectorXd& values) const {
    double loss = 0;
    for (const double value : values) {
      const double scaled = value / options_.outlier_scale;
      loss += 2 * (std::sqrt(1 + scaled * scaled) - 1);
    }
    return loss;
  }

  /// The derivative of the loss by the square of a residual.
  Eigen::VectorXd Weights() const {
    Eigen::VectorXd weights = values_ / options_.outlier_scale;
    return (1 + weights.array().square()).sqrt().inverse();
  }

  Eigen::MatrixXd Derivatives() const {
    Eigen::MatrixXd derivatives(values_.size(), point_.size());
    for (Eigen::Index i = 0; i < point_.size(); ++i) {
      // Towards the inside, so that a parameter at its bound keeps its derivative.
      const auto at = static_cast<std::size_t>(i);
      const double size = kDifference * std::max(1.0, std::abs(point_[i]));
      const double difference = point_[i] + size > most_[at] ? -size : size;
      Eigen::VectorXd moved = point_;
      moved[i] += difference;
      derivatives.col(i) = (ValuesAt(moved) - values_) / difference;
    }
    return derivatives;
  }

  /// A parameter that would leave its bounds is fixed in this step.
  void HoldAtBounds(Eigen::MatrixXd& derivatives, const Eigen::VectorXd& weights) const {
    for (Eigen::Index i = 0; i < point_.size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      const double slope = derivatives.col(i).dot(weights.cwiseProduct(values_));
      const bool leaves_bounds =
          (point_[i] >= most_[at] && slope < 0) || (point_[i] <= least_[at] && slope > 0);
      if (leaves_bounds) {
        derivatives.col(i).setZero();
      }
    }
  }

  /// Returns whether the loss fell by enough to go on.
  bool Step() {
    Eigen::MatrixXd derivatives = Derivatives();
    const Eigen::VectorXd weights = Weights();
    HoldAtBounds(derivatives, weights);
    const Eigen::MatrixXd weighted = weights.asDiagonal() * derivatives;
    const Eigen::MatrixXd curvature = derivatives.transpose() * weighted;
    const Eigen::VectorXd slope = weighted.transpose() * values_;
    while (damping_ < kMostDamping) {
      Eigen::MatrixXd damped = curvature;
      damped.diagonal() += damping_ * (curvature.diagonal().array() + kLeastDamping).matrix();
      Eigen::VectorXd next = point_ - damped.ldlt().solve(slope);
      Clamp(next);
      const Eigen::VectorXd values = ValuesAt(next);
      const double loss = Loss(values);
      if (std::isfinite(loss) && loss < loss_) {
        const bool continues = loss_ - loss > options_.tolerance * loss_;
        point_ = next;
        values_ = values;
        loss_ = loss;
        damping_ = std::max(damping_ / 5, kLeastDamping);
        return continues;
      }
      damping_ *= 4;
    }
    return false;
  }

  const Residuals& residuals_;
  std::span<const double> least_;
  std::span<const double> most_;
  const LeastSquaresOptions& options_;
  Eigen::VectorXd point_;
  Eigen::VectorXd values_;
  double loss_ = 0;
  double damping_ = kFirstDamping;
};

}  // namespace

LeastSquaresFit FitLeastSquares(const Residuals& residuals, std::span<const double> start,
                                std::span<const double> least, std::span<const double> most,
                                const LeastSquaresOptions& options) {
  ORRERY_CHECK(start.size() == least.size() && start.size() == most.size(),
               "each parameter has bounds");
  return Solver(residuals, least, most, options).Run(start);
}

}  // namespace orrery::learn
