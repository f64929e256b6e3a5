#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::learn {

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019). `decays[i]` is taken off
/// parameter i in each step, times the learning rate.
class Adam {
 public:
  explicit Adam(std::vector<float> decays);

  void Step(std::span<const float> gradients, double learning_rate, std::span<float> parameters);

 private:
  std::vector<float> decays_;
  std::vector<float> means_;    // of gradients
  std::vector<float> squares_;  // of gradients
  int steps_ = 0;
};

}  // namespace orrery::learn
