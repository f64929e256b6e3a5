#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <tsl/robin_map.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {

enum class EstimateSource : std::uint8_t {
  kThisGpu,   // a model fitted on measurements of this GPU
  kSibling,   // … of other GPUs, scaled by the rooflines
  kAllGpus,   // one model over several GPUs, none of them this one
  kRoofline,  // the roofline and a default efficiency
};

[[nodiscard]] std::string_view EstimateSourceName(EstimateSource source);

/// The time of an operator on a GPU: the durations of all its kernels together.
struct Estimate {
  double seconds = 0;
  double roofline_seconds = 0;   // lower bound from the specification
  double uncertainty = 0;        // relative, one standard deviation
  bool is_extrapolated = false;  // outside the measured range
  EstimateSource source = EstimateSource::kRoofline;
  /// The GPU whose loss by unaligned sizes was used where none was measured here.
  const hardware::Gpu* alignment_gpu = nullptr;
  /// Times longer than the fastest kernel of a search; 1 where library calls were measured.
  double library_factor = 1;
};

class CostModel {
 public:
  virtual ~CostModel() = default;

  /// `estimates` has one element for each operator. Estimates are independent of the other
  /// operators.
  virtual void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
                       std::span<Estimate> estimates) const = 0;

  [[nodiscard]] Estimate Predict(const Operator& op, const hardware::Gpu& gpu) const {
    Estimate estimate;
    Predict({&op, 1}, gpu, {&estimate, 1});
    return estimate;
  }
};

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
  [[nodiscard]] std::size_t size() const;

 private:
  struct Shard {
    mutable std::mutex mutex;
    tsl::robin_map<Operator, Estimate, OperatorHash> estimates;
  };

  static constexpr std::size_t kNumShards = 64;

  Shard& ShardOf(std::size_t hash) const;
  bool Recall(const Operator& op, Estimate& estimate) const;
  void Learn(std::span<const Operator> operators, std::span<const std::size_t> places,
             std::span<Estimate> estimates) const;

  const CostModel& costs_;
  const hardware::Gpu& gpu_;
  mutable std::array<Shard, kNumShards> shards_;
};

/// Memoizes operator costs of every GPU, since many jobs contain the same operators. Thread-safe.
class GpuMemo : public CostModel {
 public:
  explicit GpuMemo(const CostModel& costs) : costs_(costs) {}

  using CostModel::Predict;
  void Predict(std::span<const Operator> operators, const hardware::Gpu& gpu,
               std::span<Estimate> estimates) const override;

 private:
  struct Entry {
    hardware::Gpu gpu;
    std::unique_ptr<MemoizedCostModel> memo;
  };

  [[nodiscard]] const Entry& EntryOf(const hardware::Gpu& gpu) const;

  const CostModel& costs_;
  mutable std::mutex mutex_;
  mutable std::map<std::string, std::unique_ptr<Entry>> entry_of_gpu_;
};

}  // namespace orrery::kernel
