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

/// Remembers what another model said about each operator on one GPU: a training step asks for the
/// same few hundred operators again and again. Questions about another GPU go to the other model.
///
/// Any number of threads may ask at the same time. What is known lies in shards with a lock each,
/// which threads hold for one look only; two threads that miss the same operator both ask for it
/// and get the same answer. Nothing is ever forgotten: about 300 bytes for each distinct operator.
class MemoizedCostModel : public CostModel {
 public:
  /// Both must outlive this.
  MemoizedCostModel(const CostModel& costs, const hardware::Gpu& gpu) : costs_(costs), gpu_(gpu) {}

  using CostModel::Predict;
  void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override;

  /// Distinct operators that are remembered.
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
