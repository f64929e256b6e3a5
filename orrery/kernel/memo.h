#pragma once

#include <array>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

/// Caches the estimates of another model for one GPU: a training step requests the same few hundred
/// operators again and again. Requests for another GPU go to the other model.
///
/// Thread-safe. Estimates are in shards with a lock each, held for single lookups; two threads that
/// miss the same operator both compute it with the same result. Nothing is evicted: about 300 bytes
/// per distinct operator.
class MemoizedCostModel : public CostModel {
 public:
  /// Both must outlive this.
  MemoizedCostModel(const CostModel& costs, const hardware::Gpu& gpu) : costs_(costs), gpu_(gpu) {}

  using CostModel::Predict;
  void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override;

  /// The number of cached operators.
  [[nodiscard]] std::size_t size() const;

 private:
  struct Shard {
    mutable std::mutex mutex;
    tsl::robin_map<Operator, Estimate, OperatorHash> estimates;
  };

  static constexpr std::size_t kNumShards = 64;

  [[nodiscard]] Shard& ShardOf(std::size_t hash) const;
  [[nodiscard]] bool Recall(const Operator& op, Estimate& estimate) const;
  void Learn(std::span<const Operator> operators, std::span<const std::size_t> places,
             std::span<Estimate> estimates) const;

  const CostModel& costs_;
  const hardware::Gpu& gpu_;
  mutable std::array<Shard, kNumShards> shards_;
};

}  // namespace orrery::kernel
