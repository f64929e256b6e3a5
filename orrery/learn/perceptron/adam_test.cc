
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/perceptron/perceptron_gradient.h"

namespace orrery::learn {
namespace {

// After one step both averages are corrected to g and g², so the move is the sign of g.
TEST(Adam, FirstMovesByTheLearningRate) {
  Adam adam({0, 0});
  std::vector<float> parameters = {1, 1};
  adam.Step(std::vector<float>{5, -0.01F}, 0.1, parameters);
  EXPECT_NEAR(parameters[0], 0.9, 1e-5);
  EXPECT_NEAR(parameters[1], 1.1, 1e-5);
}

// Decoupled: without gradient a parameter shrinks by rate · decay, whatever its size.
TEST(Adam, DecayIsNotScaledByGradients) {
  Adam adam({0.5F, 0});
  std::vector<float> parameters = {4, 4};
  adam.Step(std::vector<float>{0, 0}, 0.1, parameters);
  EXPECT_NEAR(parameters[0], 4 * (1 - 0.05), 1e-6);
  EXPECT_EQ(parameters[1], 4);
}

TEST(Adam, FindsTheBottomOfABowl) {
  Adam adam({0});
  std::vector<float> parameters = {3};
  for (int step = 0; step < 2'000; ++step) {
    adam.Step(std::vector<float>{2 * (parameters[0] - 1)}, 0.01, parameters);
  }
  EXPECT_NEAR(parameters[0], 1, 1e-3);
}

}  // namespace
}  // namespace orrery::learn
