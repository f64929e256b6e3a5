#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/learn/interval.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"

namespace orrery::simulate {

/// A job whose step is known, on nodes that fail.
struct GoodputJob {
  std::int64_t step_ps = 0;
  std::int64_t nodes = 1;
  std::int64_t gpus = 1;
  std::int64_t gpus_per_node = 1;
  std::int64_t replicas = 1;  // parts that a job can do without: GPUs / replicas belong to each
};

/// Nodes that make all others wait: a step takes `factor` times as long while there is one.
struct SlowNodes {
  double per_s = 0;  // of the whole job; 0: none
  double factor = 1;
  std::int64_t found_after_ps = 0;
};

struct GoodputOptions {
  std::int64_t window_ps = 0;       // at most 100 days
  std::int64_t interval_steps = 0;  // from one checkpoint to the next; 0: none is taken
  CheckpointTimes checkpoint = {};  // stall and write at most an interval of work
  std::int64_t detect_ps = 0;
  std::int64_t restart_ps = 0;  // without the load of the checkpoint
  std::int64_t repair_ps = 0;
  std::int64_t spares = 0;  // nodes
  bool is_elastic = false;  // runs with fewer replicas rather than waits for a node
  SlowNodes slow = {};
  std::uint64_t seed = 0;
};

/// Causes of lost time. Together with productive time these are the window, to the picosecond.
enum class LostTime : std::uint8_t {
  kCheckpoint,      // training stands still for one
  kLostWork,        // since the last durable checkpoint, done again
  kDetection,       // a failed job is not known to have failed
  kRestart,         // reschedule and initialise
  kLoad,            // the checkpoint
  kWaitingForNode,  // all spares are in repair
  kSlowNode,        // the extra time of steps until it is found
  kShrunk,          // the extra time of steps with fewer replicas
  kUnfinishedStep,  // at the end of the window
};

inline constexpr std::array<std::string_view, 9> kLostTimeKeys{
    "checkpoint",       "lost_work", "detection", "restart",        "load",
    "waiting_for_node", "slow_node", "shrunk",    "unfinished_step"};

/// One simulated window.
struct GoodputMonth {
  std::int64_t steps = 0;  // that count: done again ones count once
  std::int64_t productive_ps = 0;
  std::array<std::int64_t, kLostTimeKeys.size()> lost_ps{};
  std::array<std::int64_t, kFailedParts.size()> failures{};  // by part
  std::int64_t checkpoints = 0;
  std::int64_t planned_stops = 0;  // to take a slow node out or replicas in

  bool operator==(const GoodputMonth&) const = default;
};

/// Simulates one window, from failure to failure: O(failures + slow nodes), whatever the steps.
///
/// Failures come by the clock, at the rate of the whole job, also during stalls, detection and
/// restarts; one of those restarts the downtime. All work since the last durable checkpoint is done
/// again. A cause that takes nodes away takes them for `repair_ps`; while fewer than the job needs
/// are left it waits, or is restarted with the replicas that there are nodes for: their
/// micro-batches are redistributed, so that the batch stays and a step takes replicas / running
/// times as long. It grows again, and gets rid of slow nodes that were found, by a checkpoint and a
/// restart. At the end of the window work without a checkpoint counts: the job goes on.
[[nodiscard]] GoodputMonth SimulateMonth(const GoodputJob& job, const JobFailures& failures,
                                         const GoodputOptions& options, std::uint64_t month);

/// Simulates months 0 to `count` - 1 on `threads` threads; the same for any number of them.
[[nodiscard]] std::vector<GoodputMonth> SimulateMonths(const GoodputJob& job,
                                                       const JobFailures& failures,
                                                       const GoodputOptions& options,
                                                       std::size_t count, int threads);

/// Several windows in short.
struct GoodputSummary {
  double ettr_mean = 0;
  double ettr_p10 = 0;
  double ettr_p50 = 0;
  double ettr_p90 = 0;
  double steps = 0;         // mean
  double productive_s = 0;  // mean
  std::array<double, kLostTimeKeys.size()> lost_s{};
  std::array<double, kFailedParts.size()> failures{};
  double checkpoints = 0;
  double planned_stops = 0;

  [[nodiscard]] double num_failures() const;
};

/// Effective training time: productive over all, one for each window.
[[nodiscard]] std::vector<double> EttrOf(std::span<const GoodputMonth> months,
                                         std::int64_t window_ps);

[[nodiscard]] GoodputSummary Summarize(std::span<const GoodputMonth> months,
                                       std::int64_t window_ps);

/// Whole steps that come nearest to an interval: at least one, enough for a checkpoint to become
/// durable, at most the window.
[[nodiscard]] std::int64_t IntervalSteps(double interval_s, std::int64_t step_ps,
                                         const CheckpointTimes& checkpoint, std::int64_t window_ps);

/// Numbers of spares to try: 0, 1, 2, 3, 4, 6, 8, 12, 16, … up to three times the nodes that are in
/// repair in the mean, and some.
[[nodiscard]] std::vector<std::int64_t> SparesToTry(const JobFailures& failures,
                                                    const GoodputOptions& options);

/// Factors of the mean number of steps of a window within which four of five windows are.
struct WindowFactors {
  double low = 1;
  double high = 1;
};

/// The spread of windows, and the error of the step time if it is predicted: `step` is its interval
/// over the prediction. Both are independent and add up as deviations of logarithms.
[[nodiscard]] WindowFactors FactorsOf(const GoodputSummary& summary,
                                      const std::optional<learn::TimeInterval>& step);

}  // namespace orrery::simulate
