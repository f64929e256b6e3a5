#include "orrery/simulate/goodput/goodput.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/base/math/round_up.h"
#include "orrery/simulate/goodput/arrivals.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/node_pool.h"

namespace orrery::simulate {
namespace {

constexpr double kPsOfSecond = 1e12;

constexpr std::uint64_t kSlowNodeRuns = 1ULL << 63;  // apart from those of failures

/// Steps that were done and are not durable yet.
struct Work {
  std::int64_t steps = 0;
  std::int64_t slow_ps = 0;    // by slow nodes
  std::int64_t shrunk_ps = 0;  // …

  void Add(const Work& more) {
    steps += more.steps;
    slow_ps += more.slow_ps;
    shrunk_ps += more.shrunk_ps;
  }
};

class MonthRun {
 public:
  MonthRun(const GoodputJob& job, const JobFailures& failures, const GoodputOptions& options,
           std::uint64_t month)
      : job_(job),
        failures_(failures),
        options_(options),
        window_ps_(options.window_ps),
        failure_arrivals_(failures.is_log ? 0 : failures.per_s(), options.seed, month,
                          options.window_ps),
        slow_arrivals_(options.slow.per_s, options.seed, kSlowNodeRuns + month, options.window_ps),
        nodes_(job.nodes + options.spares, options.repair_ps, options.window_ps),
        running_(job.replicas) {
    SetStep();
  }

  GoodputMonth Run() {
    while (now_ < window_ps_) {
      BeginSlowNodes();
      if (StopIsDue()) {
        StopAndRestart();
        continue;
      }
      const std::int64_t end = std::min(NextFailure(), window_ps_);
      const std::int64_t change = NextChange();
      if (change < end && RunToBoundary(change, end)) {
        continue;
      }
      RunUntil(end);
      if (end == window_ps_) {
        Finish();
      } else {
        Fail(end);
      }
    }
    return month_;
  }

 private:
  void Lose(LostTime what, std::int64_t ps) {
    month_.lost_ps[static_cast<std::size_t>(what)] += ps;
  }

  [[nodiscard]] std::int64_t NextFailure() const {
    if (!failures_.is_log) {
      return failure_arrivals_.next_ps();
    }
    if (next_logged_ == failures_.log.size()) {
      return kNever;
    }
    const double at_ps = failures_.log[next_logged_].at_s * kPsOfSecond;
    return at_ps < static_cast<double>(window_ps_)
               ? std::max<std::int64_t>(now_, std::llround(at_ps))
               : kNever;
  }

  [[nodiscard]] std::size_t NextCause() const {
    if (failures_.is_log) {
      return failures_.log[next_logged_].cause;
    }
    double left = failure_arrivals_.Choice() * failures_.per_s();
    std::size_t cause = 0;
    while (cause + 1 < failures_.causes.size() && left > failures_.causes[cause].per_s) {
      left -= failures_.causes[cause].per_s;
      ++cause;
    }
    return cause;
  }

  /// Takes the failure that happens now. A job that waits for a node anyhow does not notice causes
  /// that cost no node.
  void TakeFailure(bool is_waiting) {
    const JobFailureCause& cause = failures_.causes[NextCause()];
    if (!is_waiting || cause.nodes_lost > 0) {
      ++month_.failures[static_cast<std::size_t>(cause.part)];
    }
    nodes_.SendToRepair(cause.nodes_lost, now_);
    if (failures_.is_log) {
      ++next_logged_;
    } else {
      failure_arrivals_.Advance();
    }
  }

  [[nodiscard]] std::int64_t PossibleReplicas() const {
    if (nodes_.available() >= job_.nodes) {
      return job_.replicas;
    }
    const std::int64_t gpus = nodes_.available() * job_.gpus_per_node;
    return options_.is_elastic ? std::min(job_.replicas, gpus * job_.replicas / job_.gpus) : 0;
  }

  /// When there are nodes for one more replica than run now.
  [[nodiscard]] std::int64_t NextGrowth() const {
    if (running_ == job_.replicas) {
      return kNever;
    }
    const std::int64_t gpus = DivideUp((running_ + 1) * job_.gpus, job_.replicas);
    const std::int64_t nodes = std::min(job_.nodes, DivideUp(gpus, job_.gpus_per_node));
    return nodes <= nodes_.available() ? now_ : nodes_.RepairedBy(nodes - nodes_.available());
  }

  // A step's length.

  void SetStep() {
    const bool is_slow = found_ps_.size() > num_found_;
    slow_step_ps_ = is_slow ? std::llround(static_cast<double>(job_.step_ps) * options_.slow.factor)
                            : job_.step_ps;
    // replicas / running times as long, rounded up, in an order that does not overflow.
    step_ps_ = slow_step_ps_ / running_ * job_.replicas +
               DivideUp(slow_step_ps_ % running_ * job_.replicas, running_);
  }

  void BeginSlowNodes() {
    while (slow_arrivals_.next_ps() <= now_) {
      const std::int64_t begin = slow_arrivals_.next_ps();
      found_ps_.push_back(options_.slow.found_after_ps < window_ps_ - begin
                              ? begin + options_.slow.found_after_ps
                              : kNever);
      slow_arrivals_.Advance();
      SetStep();
    }
  }

  /// When a slow node has been found and another can take its place.
  [[nodiscard]] std::int64_t NextReplacement() const {
    if (num_found_ == found_ps_.size()) {
      return kNever;
    }
    const bool has_spare = nodes_.available() > job_.nodes || options_.is_elastic;
    return std::max(found_ps_[num_found_],
                    has_spare ? 0 : nodes_.RepairedBy(job_.nodes + 1 - nodes_.available()));
  }

  void ReplaceFoundNodes() {
    while (NextReplacement() <= now_) {
      ++num_found_;
      nodes_.SendToRepair(1, now_);
    }
  }

  /// The first time at which steps become longer or the job is to be stopped.
  [[nodiscard]] std::int64_t NextChange() const {
    return std::min({slow_arrivals_.next_ps(), NextReplacement(), NextGrowth()});
  }

  [[nodiscard]] bool StopIsDue() {
    nodes_.ReturnRepaired(now_);
    return NextReplacement() <= now_ || NextGrowth() <= now_;
  }

  // Running.

  [[nodiscard]] bool IsInStall() const {
    return options_.interval_steps > 0 && fresh_.steps == options_.interval_steps;
  }

  [[nodiscard]] Work Steps(std::int64_t count) const {
    return {count, count * (slow_step_ps_ - job_.step_ps), count * (step_ps_ - slow_step_ps_)};
  }

  [[nodiscard]] std::int64_t Duration(const Work& work) const {
    return work.steps * job_.step_ps + work.slow_ps + work.shrunk_ps;
  }

  void Commit(const Work& work) {
    month_.steps += work.steps;
    month_.productive_ps += work.steps * job_.step_ps;
    Lose(LostTime::kSlowNode, work.slow_ps);
    Lose(LostTime::kShrunk, work.shrunk_ps);
  }

  void CommitSnapshot() {
    Commit(snapshot_);
    snapshot_ = {};
  }

  /// Ends `count` stalls, the last of them now.
  void TakeSnapshots(std::int64_t count, const Work& last) {
    CommitSnapshot();  // an interval is at least as long as it takes to write
    Lose(LostTime::kCheckpoint, count * options_.checkpoint.stall_ps);
    month_.checkpoints += count;
    snapshot_ = last;
    durable_ps_ = options_.checkpoint.write_ps < window_ps_ - now_
                      ? now_ + options_.checkpoint.write_ps
                      : kNever;
  }

  void RunWholeIntervals(std::int64_t limit) {
    const std::int64_t steps = options_.interval_steps;
    if (steps > (limit - now_) / step_ps_) {
      return;
    }
    const std::int64_t period = steps * step_ps_ + options_.checkpoint.stall_ps;
    const std::int64_t count = (limit - now_) / period;
    if (count == 0) {
      return;
    }
    now_ += count * period;
    Commit(Steps((count - 1) * steps));
    TakeSnapshots(count, Steps(steps));
  }

  /// Runs the steps and stalls that end by `limit`.
  void RunUntil(std::int64_t limit) {
    while (true) {
      if (options_.interval_steps > 0 && fresh_.steps == 0) {
        RunWholeIntervals(limit);
      }
      std::int64_t count = (limit - now_) / step_ps_;
      if (options_.interval_steps > 0) {
        count = std::min(count, options_.interval_steps - fresh_.steps);
      }
      now_ += count * step_ps_;
      fresh_.Add(Steps(count));
      if (!IsInStall() || limit - now_ < options_.checkpoint.stall_ps) {
        return;
      }
      now_ += options_.checkpoint.stall_ps;
      TakeSnapshots(1, fresh_);
      fresh_ = {};
    }
  }

  /// Runs until the first step or stall that ends at `change` or later has ended. False where that
  /// is after `end`.
  bool RunToBoundary(std::int64_t change, std::int64_t end) {
    RunUntil(change);
    if (now_ >= change) {
      return true;
    }
    const std::int64_t rest = IsInStall() ? options_.checkpoint.stall_ps : step_ps_;
    if (rest > end - now_) {
      return false;
    }
    RunUntil(now_ + rest);
    return true;
  }

  void Finish() {
    Lose(IsInStall() ? LostTime::kCheckpoint : LostTime::kUnfinishedStep, window_ps_ - now_);
    CommitSnapshot();
    Commit(fresh_);
    now_ = window_ps_;
  }

  // Down.

  /// The work that no durable checkpoint holds at `at` has to be done again.
  void LoseWork(std::int64_t at) {
    if (durable_ps_ <= at) {
      CommitSnapshot();
    }
    Lose(LostTime::kLostWork, Duration(snapshot_) + Duration(fresh_));
    snapshot_ = {};
    fresh_ = {};
  }

  void Fail(std::int64_t at) {
    Lose(IsInStall() ? LostTime::kCheckpoint : LostTime::kLostWork, at - now_);
    LoseWork(at);
    now_ = at;
    TakeFailure(false);
    Restart(true);
  }

  /// Lets time pass. False where a failure came first, which is taken.
  bool Spend(std::int64_t ps, LostTime what) {
    const std::int64_t end = ps < window_ps_ - now_ ? now_ + ps : window_ps_;
    const std::int64_t reached = std::min(end, NextFailure());
    Lose(what, reached - now_);
    now_ = reached;
    if (reached < end) {
      TakeFailure(false);
      return false;
    }
    return true;
  }

  void WaitForNodes() {
    nodes_.ReturnRepaired(now_);
    while (PossibleReplicas() == 0 && now_ < window_ps_) {
      const std::int64_t end = std::min({nodes_.RepairedBy(1), NextFailure(), window_ps_});
      Lose(LostTime::kWaitingForNode, end - now_);
      now_ = end;
      if (end == NextFailure()) {
        TakeFailure(true);
      }
      nodes_.ReturnRepaired(now_);
    }
  }

  void Restart(bool has_failed) {
    while (now_ < window_ps_) {
      if (has_failed && !Spend(options_.detect_ps, LostTime::kDetection)) {
        continue;
      }
      has_failed = true;  // if it fails again
      nodes_.ReturnRepaired(now_);
      ReplaceFoundNodes();
      WaitForNodes();
      if (Spend(options_.restart_ps, LostTime::kRestart) &&
          Spend(options_.checkpoint.load_ps, LostTime::kLoad)) {
        break;
      }
    }
    nodes_.ReturnRepaired(now_);
    running_ = std::max<std::int64_t>(1, PossibleReplicas());
    SetStep();
  }

  /// Saves all work, then restarts without slow nodes that were found and with all replicas that
  /// there are nodes for.
  void StopAndRestart() {
    ++month_.planned_stops;
    const CheckpointTimes& times = options_.checkpoint;
    const bool is_saved = Spend(times.stall_ps, LostTime::kCheckpoint) &&
                          Spend(times.write_ps, LostTime::kCheckpoint);
    if (is_saved) {
      ++month_.checkpoints;
      CommitSnapshot();
      Commit(fresh_);
      fresh_ = {};
    } else {
      LoseWork(now_);
    }
    Restart(!is_saved);
  }

  const GoodputJob& job_;
  const JobFailures& failures_;
  const GoodputOptions& options_;
  std::int64_t window_ps_;
  std::int64_t now_ = 0;
  Arrivals failure_arrivals_;
  std::size_t next_logged_ = 0;

  Arrivals slow_arrivals_;
  std::vector<std::int64_t> found_ps_;  // when each slow node so far is found, ascending
  std::size_t num_found_ = 0;

  NodePool nodes_;

  std::int64_t running_;           // replicas
  std::int64_t slow_step_ps_ = 0;  // of all replicas
  std::int64_t step_ps_ = 0;

  Work fresh_;     // since the last snapshot
  Work snapshot_;  // that is being written
  std::int64_t durable_ps_ = 0;
  GoodputMonth month_;
};

}  // namespace

GoodputMonth SimulateMonth(const GoodputJob& job, const JobFailures& failures,
                           const GoodputOptions& options, std::uint64_t month) {
  return MonthRun(job, failures, options, month).Run();
}

}  // namespace orrery::simulate
