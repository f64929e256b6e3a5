#include "orrery/learn/adam.h"

#include <cmath>
#include <utility>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

constexpr float kMeanMemory = 0.9F;
constexpr float kSquareMemory = 0.999F;
constexpr float kSmallest = 1e-8F;

}  // namespace

Adam::Adam(std::vector<float> decays)
    : decays_(std::move(decays)), means_(decays_.size()), squares_(decays_.size()) {}

void Adam::Step(std::span<const float> gradients, double learning_rate,
                std::span<float> parameters) {
  ORRERY_CHECK(gradients.size() == means_.size() && parameters.size() == means_.size(),
               "each parameter has a gradient");
  ++steps_;
  // Both averages start at 0; early on they are too small by these factors.
  const auto mean_share = static_cast<float>(1 - std::pow(kMeanMemory, steps_));
  const auto square_share = static_cast<float>(1 - std::pow(kSquareMemory, steps_));
  const auto rate = static_cast<float>(learning_rate);
  for (std::size_t index = 0; index < gradients.size(); ++index) {
    const float gradient = gradients[index];
    means_[index] = kMeanMemory * means_[index] + (1 - kMeanMemory) * gradient;
    squares_[index] = kSquareMemory * squares_[index] + (1 - kSquareMemory) * gradient * gradient;
    const float move =
        means_[index] / mean_share / (std::sqrt(squares_[index] / square_share) + kSmallest);
    parameters[index] -= rate * (move + decays_[index] * parameters[index]);
  }
}

}  // namespace orrery::learn
