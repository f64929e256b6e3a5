#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include <tsl/robin_map.h>

#include "orrery/hardware/gpu.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/simulate/engine/kernel_code.h"

namespace orrery::simulate {

/// A task that runs on a GPU now. Shares are those of the task alone, in millionths.
struct RunningTask {
  std::uint32_t sm_share = 0;
  std::uint32_t memory_share = 0;
  KernelCode side = 0;        // for models that know more of a task than its shares
  std::uint32_t program = 0;  // that it is of, which tells the GPU
  bool is_communication = false;
  bool is_waiting = false;  // communication that spins until the others arrive

  bool operator==(const RunningTask&) const = default;
};

/// The speeds of concurrent tasks on a GPU, and the time that an arriving task waits for resources.
/// Evaluated whenever the set of running tasks changes. Not thread-safe.
class RateModel {
 public:
  virtual ~RateModel() = default;

  /// Writes for each task its concurrent speed relative to its speed alone, above 0 and at most 1.
  /// Must not depend on anything but `running`; the order of tasks must not matter.
  virtual void Rates(std::span<const RunningTask> running, std::span<double> rates) const = 0;

  /// True if the model uses kernel codes and delays arriving tasks.
  [[nodiscard]] virtual bool KnowsPairs() const { return false; }

  /// The time that an arriving task waits for resources; `running_ps` says for how long each of the
  /// running ones has been there. It gets room earlier when all of the other kind have gone:
  /// communication waits for what computes and the other way round.
  [[nodiscard]] virtual std::int64_t DelayPs(const RunningTask& /*arriving*/,
                                             std::span<const RunningTask> /*running*/,
                                             std::span<const std::int64_t> /*running_ps*/) const {
    return 0;
  }
};

/// Sharing of a GPU by concurrent tasks, analytically and without measured constants. The scarcest
/// resource limits a task:
///
/// 1. Multiprocessors. A communication kernel holds its share as long as it is resident, waiting
///    or not. What is left is for the rest; when that wants more than is left, each gets its share
///    in proportion.
/// 2. Memory. When all that runs wants more than the bandwidth, each gets its share in proportion.
///    What waits moves nothing.
class AnalyticOverlap : public RateModel {
 public:
  void Rates(std::span<const RunningTask> running, std::span<double> rates) const override;
};

/// A GPU as a model of overlap sees it, and the peaks that shares of tasks are of.
struct SharedGpu {
  const hardware::Gpu* gpu = nullptr;  // of the catalogue; not known in tests
  overlap::Machine machine = {};
  double bytes_per_second = 0;
  double flops_per_second = 0;
};

[[nodiscard]] SharedGpu SharedGpuOf(const hardware::Gpu& gpu);

/// A question to a model of kernel pairs, by numbers.
struct PairKey {
  KernelCode compute = 0;
  KernelCode communication = 0;
  std::uint32_t gpu = 0;
  std::uint32_t arrival = 0;  // of pairs that arrive: how long the first runs, and which it is

  bool operator==(const PairKey&) const = default;
};

struct PairKeyHash {
  std::size_t operator()(const PairKey& key) const;
};

/// Answers of a model that simulations of many jobs with one kind of GPU and one framework share.
/// Thread-safe; two threads that miss the same answer both ask for it, with the same result.
class PairMemo {
 public:
  [[nodiscard]] std::optional<overlap::Slowdown> FindSlowdown(const PairKey& key) const;
  [[nodiscard]] std::optional<std::int64_t> FindDelay(const PairKey& key) const;
  void Add(const PairKey& key, const overlap::Slowdown& slowdown);
  void Add(const PairKey& key, std::int64_t delay_ps);

 private:
  mutable std::shared_mutex mutex_;
  tsl::robin_map<PairKey, overlap::Slowdown, PairKeyHash> slowdowns_;
  tsl::robin_map<PairKey, std::int64_t, PairKeyHash> delays_;
};

/// Sharing of a GPU by concurrent tasks according to a model of kernel pairs.
///
/// 1. All communication that runs on a GPU counts as one kernel, with the blocks of all and what
///    they move together: blocks hold multiprocessors and traffic takes bandwidth whoever they
///    belong to, while multiplying separate slowdowns would let the second take a share of what
///    the first has left. Of what waits only the blocks count.
/// 2. Each kernel that computes takes as much longer as the model says of it beside that one.
///    Kernels that compute share multiprocessors and bandwidth among themselves in proportion.
/// 3. Communication is as slow as the kernel makes it that disturbs it most.
///
/// A pair that was asked for is remembered, so that a model answers once for each: the time of a
/// simulation hardly depends on the model's.
class ModelledOverlap : public RateModel {
 public:
  struct Settings {
    const overlap::Model* model = nullptr;  // must outlive it
    std::vector<SharedGpu> gpus = {};
    std::vector<std::uint32_t> gpu_of_program = {};  // empty: all have the first
    overlap::Priority priority = overlap::Priority::kSame;
    PairMemo* memo = nullptr;  // of the same model, first GPU and priority; must outlive it
  };

  explicit ModelledOverlap(Settings settings) : settings_(std::move(settings)) {}

  void Rates(std::span<const RunningTask> running, std::span<double> rates) const override;

  [[nodiscard]] bool KnowsPairs() const override { return true; }

  [[nodiscard]] std::int64_t DelayPs(const RunningTask& arriving,
                                     std::span<const RunningTask> running,
                                     std::span<const std::int64_t> running_ps) const override;

  /// The number of different pairs and arrivals that the model was asked for.
  [[nodiscard]] std::size_t num_asked() const { return slowdowns_.size() + delays_.size(); }

 private:
  [[nodiscard]] std::uint32_t GpuOf(const RunningTask& task) const;
  [[nodiscard]] overlap::Pair PairOf(const PairKey& key) const;
  [[nodiscard]] const overlap::Slowdown& SlowdownOf(const PairKey& key) const;
  [[nodiscard]] std::int64_t DelayOf(const PairKey& key, const overlap::Arrival& arrival) const;

  Settings settings_;
  mutable tsl::robin_map<PairKey, overlap::Slowdown, PairKeyHash> slowdowns_;
  mutable tsl::robin_map<PairKey, std::int64_t, PairKeyHash> delays_;
};

}  // namespace orrery::simulate
