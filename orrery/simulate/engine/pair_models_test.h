#pragma once

#include <cstddef>
#include <span>

#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/overlap_rates.h"

// Models of pairs for tests, with answers that can be worked out by hand.

namespace orrery::simulate {

/// Each pair has the same answers, and counts.
class FixedModel : public overlap::Model {
 public:
  explicit FixedModel(overlap::Slowdown slowdown, double delay_us = 0)
      : slowdown_(slowdown), delay_us_(delay_us) {}

  void Slowdowns(const overlap::Machine& /*machine*/, std::span<const overlap::Pair> pairs,
                 std::span<overlap::Slowdown> slowdowns) const override {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      slowdowns[i] = slowdown_;
    }
    num_pairs += pairs.size();
    last = pairs.back();
  }

  [[nodiscard]] double DelayUs(const overlap::Machine& /*machine*/, const overlap::Pair& pair,
                               const overlap::Arrival& arrival) const override {
    last = pair;
    last_arrival = arrival;
    return arrival.compute_is_first ? delay_us_ : 0;
  }

  mutable std::size_t num_pairs = 0;
  mutable overlap::Pair last = {};
  mutable overlap::Arrival last_arrival = {};

 private:
  overlap::Slowdown slowdown_;
  double delay_us_;
};

/// Answers that depend on all that a pair says.
class BusyModel : public overlap::Model {
 public:
  void Slowdowns(const overlap::Machine& machine, std::span<const overlap::Pair> pairs,
                 std::span<overlap::Slowdown> slowdowns) const override {
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto blocks = static_cast<double>(pairs[i].communication.shape.blocks);
      const double traffic = pairs[i].compute.bytes / (1 + pairs[i].compute.alone_us);
      slowdowns[i] = {1 + blocks / machine.sms + pairs[i].communication.payload_gbps / 100,
                      1 + traffic / (1e6 + traffic)};
    }
  }

  [[nodiscard]] double DelayUs(const overlap::Machine& /*machine*/, const overlap::Pair& pair,
                               const overlap::Arrival& arrival) const override {
    const double left_us = pair.compute.alone_us - arrival.since_us;
    return arrival.compute_is_first ? left_us / 2 : left_us / 4;
  }
};

/// A GPU of round numbers.
[[nodiscard]] inline ModelledOverlap OverlapBy(const overlap::Model& model) {
  SharedGpu gpu{.machine = {.sms = 100, .memory_gbps = 1000},
                .bytes_per_second = 1e12,
                .flops_per_second = 1e15};
  return ModelledOverlap({.model = &model, .gpus = {gpu}});
}

}  // namespace orrery::simulate
