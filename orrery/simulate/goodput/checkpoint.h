#pragma once

#include <cstdint>

#include "orrery/base/units.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The content of a checkpoint of a job, each once: weights, master copies and moments of the
/// optimizer, as their types in memory. Of LoRA the adapters only.
[[nodiscard]] Bytes CheckpointBytes(const workload::Job& job);

/// The path of a checkpoint from the GPUs to storage. All ranks write equal shares at once.
struct CheckpointPath {
  Bytes size;
  Bandwidth storage;    // all of it
  Bandwidth host_link;  // of one GPU; 0: not known, and no limit
  std::int64_t gpus = 1;
  bool is_asynchronous = false;
};

/// Times of a checkpoint.
struct CheckpointTimes {
  std::int64_t stall_ps = 0;  // training stands still
  std::int64_t write_ps = 0;  // after that, beside training, until it is durable
  std::int64_t load_ps = 0;   // to read it after a restart

  bool operator==(const CheckpointTimes&) const = default;
};

/// Blocking: training waits for the storage, or for the host links where they are slower.
/// Asynchronous: training waits for the copy to the host's memory, the storage is written beside
/// it. Times beyond 40 days count as 40 days.
[[nodiscard]] CheckpointTimes TimesOf(const CheckpointPath& path);

/// A job that fails at a rate, seen over infinite time.
struct RenewalModel {
  double failures_per_s = 0;
  double stall_s = 0;
  double write_s = 0;
  double down_s = 0;  // detection, restart and load
};

/// The share of time that is productive with a checkpoint after every `interval_s` of work:
/// Δ λ e^(−λ (R + w)) / (e^(λ (Δ + s)) − 1), with stall s, write w and downtime R. Exact for
/// failures that come by chance at any time, also during stalls and restarts, where no node is ever
/// waited for: of a cycle of 1/λ and the downtime, work counts whose checkpoint i is durable,
/// i (Δ + s) + w after the restart.
[[nodiscard]] double ExpectedEttr(const RenewalModel& model, double interval_s);

/// The interval with the highest ExpectedEttr, but not below stall and write: a checkpoint begins
/// when the one before is durable. The rate must be above 0.
[[nodiscard]] double BestIntervalSeconds(const RenewalModel& model);

/// Young (1974): sqrt(2 δ M).
[[nodiscard]] double YoungInterval(double stall_s, double mtbf_s);

/// Daly (2006), equation 37: Young's and its terms of higher order, without the stall.
[[nodiscard]] double DalyInterval(double stall_s, double mtbf_s);

/// Kokolis et al. (2024), arXiv 2410.21680: (1 − λ (u0 + Δ/2)) / (1 + w/Δ), of blocking checkpoints
/// and small losses.
[[nodiscard]] double KokolisEttr(const RenewalModel& model, double interval_s);

}  // namespace orrery::simulate
