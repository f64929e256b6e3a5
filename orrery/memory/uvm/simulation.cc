#include "orrery/memory/uvm/simulation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {
namespace {

std::vector<std::size_t> ContainersOf(const Workload& workload,
                                      const std::vector<std::size_t>& objects) {
  std::vector<std::size_t> containers;
  for (const std::size_t object : objects) {
    containers.push_back(workload.objects[object].container);
  }
  std::ranges::sort(containers);
  containers.erase(std::unique(containers.begin(), containers.end()), containers.end());
  return containers;
}

class PolicySimulator {
 public:
  PolicySimulator(const Workload& workload, const Parameters& parameters, const Rates& rates,
                  const Policy& policy, const PolicyOptions& options)
      : workload_(workload),
        parameters_(parameters),
        rates_(rates),
        options_(options),
        lookahead_(static_cast<std::size_t>(policy.lookahead)),
        schedule_(ScheduleOf(workload, policy)),
        releases_(workload),
        residency_(workload, options.capacity_bytes),
        server_(
            parameters.batch_faults,
            policy.kind == Policy::Kind::kDriver ? std::optional(parameters.Tree()) : std::nullopt,
            residency_) {
    outcome_.policy = policy;
    outcome_.of_operator.resize(workload.operators.size());
    next_ready_ns_.resize(workload.operators.size());
  }

  Outcome Simulate() {
    for (iteration_ = 0; iteration_ < options_.iterations; ++iteration_) {
      ready_ns_.swap(next_ready_ns_);
      next_ready_ns_.assign(workload_.operators.size(), 0);
      SimulateIteration();
    }
    outcome_.total_ns = now_ns_;
    outcome_.bounced_blocks = residency_.NumBouncedBlocks();
    outcome_.of_root = residency_.of_root();
    return std::move(outcome_);
  }

 private:
  void SimulateIteration() {
    for (std::size_t work = 0; work < workload_.works.size(); ++work) {
      for (const std::size_t root : releases_.Before(work)) {
        residency_.Release(root);
      }
      const std::size_t op = workload_.works[work].op;
      if (workload_.operators[op].first_work == work) {
        BeginOperator(op);
      }
      Run(workload_.works[work]);
    }
    for (const std::size_t root : releases_.Before(workload_.works.size())) {
      residency_.Release(root);
    }
  }

  void BeginOperator(std::size_t op) {
    Prefetch(op, op, ready_ns_);
    if (lookahead_ == 0) {
      return;
    }
    if (iteration_ == 0 && op == 0) {
      for (std::size_t later = 1; later < lookahead_; ++later) {
        PrefetchLater(later, op);
      }
    }
    PrefetchLater(op + lookahead_, op);
  }

  // The end of one iteration looks ahead to the begin of the next.
  void PrefetchLater(std::size_t later, std::size_t at) {
    const std::size_t num_operators = workload_.operators.size();
    if (later < num_operators) {
      Prefetch(later, at, ready_ns_);
    } else if (later - num_operators < num_operators && iteration_ + 1 < options_.iterations) {
      Prefetch(later - num_operators, at, next_ready_ns_);
    }
  }

  void Prefetch(std::size_t op, std::size_t at, std::vector<std::int64_t>& ready_ns) {
    Movement moved;
    std::int64_t calls = 0;
    std::int64_t calls_ns = 0;
    for (const std::size_t index : schedule_[op]) {
      const Object& object = workload_.objects[index];
      if (object.first_operator <= at && at < object.end_operator) {
        const Movement of_object = BringObject(object);
        calls_ns += CallTime(object, of_object);
        moved += of_object;
        ++calls;
      }
    }
    if (calls == 0) {
      return;
    }
    // In the stream of the kernels a call waits for those before it, and then for the host.
    const bool is_waited_for = !parameters_.has_prefetch_stream && copies_end_ns_ <= now_ns_;
    copies_end_ns_ = std::max(copies_end_ns_, now_ns_) +
                     (is_waited_for ? parameters_.prefetch_wake_ns : 0) + calls_ns +
                     MoveTime(moved, workload_.page_bytes, rates_.prefetch, rates_);
    ready_ns[op] = copies_end_ns_;
    outcome_.prefetch_calls += calls;
    outcome_.prefetched += moved;
    outcome_.of_operator[op].prefetched += moved;
  }

  // Of one call, without its copies.
  [[nodiscard]] std::int64_t CallTime(const Object& object, const Movement& moved) const {
    const std::int64_t per_block = workload_.pages_per_block;
    const std::int64_t num_blocks =
        (object.pages.end() - 1) / per_block - object.pages.first / per_block + 1;
    return parameters_.prefetch_call_ns + num_blocks * parameters_.prefetch_block_ns +
           (moved.pages_in > 0 ? parameters_.prefetch_move_ns : 0);
  }

  Movement BringObject(const Object& object) {
    Movement moved;
    ForEachBlock(
        object.pages, workload_.pages_per_block,
        [&](std::size_t block, const PageMask& pages) { moved += residency_.Bring(block, pages); });
    return moved;
  }

  void Run(const Work& work) {
    const std::int64_t begin_ns = std::max(now_ns_, ready_ns_[work.op]);
    const FaultCounts faults =
        server_.Serve(std::span(workload_.touches).subspan(work.first_touch, work.num_touches),
                      workload_.pages_per_block);
    const std::int64_t end_ns = RunThrough(faults, work.duration_ns, begin_ns);
    OperatorCosts& of_operator = outcome_.of_operator[work.op];
    of_operator.faults += faults;
    of_operator.kernel_ns += work.duration_ns;
    of_operator.stall_ns += end_ns - now_ns_ - work.duration_ns;
    outcome_.faults += faults;
    outcome_.kernel_ns += work.duration_ns;
    outcome_.prefetch_stall_ns += begin_ns - now_ns_;
    outcome_.fault_stall_ns += end_ns - begin_ns - work.duration_ns;
    now_ns_ = end_ns;
  }

  // Returns when a kernel ends that misses pages. Its computation is spread evenly over its
  // batches, and each part runs while the next batch is served: of n parts, the longer of service
  // and computation counts in full, and one part of the other.
  std::int64_t RunThrough(const FaultCounts& faults, std::int64_t duration_ns,
                          std::int64_t begin_ns) {
    if (faults.batches == 0) {
      return begin_ns + duration_ns;
    }
    const std::int64_t service_ns = ServiceTime(faults);
    const std::int64_t first_ns = std::max(begin_ns, copies_end_ns_);
    copies_end_ns_ = first_ns + service_ns;
    return first_ns + std::max(service_ns + duration_ns / faults.batches,
                               service_ns / faults.batches + duration_ns);
  }

  [[nodiscard]] std::int64_t ServiceTime(const FaultCounts& faults) const {
    return parameters_.wake_ns + faults.batches * parameters_.batch_latency_ns +
           faults.blocks * parameters_.block_service_ns +
           MoveTime(faults.moved, workload_.page_bytes, rates_.fault, rates_);
  }

  const Workload& workload_;
  const Parameters& parameters_;
  const Rates& rates_;
  const PolicyOptions& options_;
  std::size_t lookahead_;
  std::vector<std::vector<std::size_t>> schedule_;
  Releases releases_;
  Residency residency_;
  FaultServer server_;
  int iteration_ = 0;
  std::int64_t now_ns_ = 0;
  std::int64_t copies_end_ns_ = 0;           // of all requested pages
  std::vector<std::int64_t> ready_ns_;       // [operator]: when its prefetched pages are there
  std::vector<std::int64_t> next_ready_ns_;  // … of the next iteration
  Outcome outcome_;
};

std::int64_t PagesOf(const Workload& workload, const Policy& policy) {
  std::int64_t pages = 0;
  for (const std::vector<std::size_t>& objects : ScheduleOf(workload, policy)) {
    for (const std::size_t object : objects) {
      pages += workload.objects[object].pages.count;
    }
  }
  return pages;
}

}  // namespace

std::string PolicyName(const Policy& policy) {
  constexpr std::array<std::string_view, 4> kNames{"none", "driver", "object", "tensor"};
  const std::string name(kNames[static_cast<std::size_t>(policy.kind)]);
  return policy.lookahead == 0 ? name : fmt::format("{}+{}", name, policy.lookahead);
}

std::vector<std::vector<std::size_t>> ScheduleOf(const Workload& workload, const Policy& policy) {
  std::vector<std::vector<std::size_t>> schedule(workload.operators.size());
  for (std::size_t op = 0; op < schedule.size(); ++op) {
    const std::vector<std::size_t>& touched = workload.operators[op].objects;
    if (policy.kind == Policy::Kind::kTensor) {
      schedule[op] = touched;
    } else if (policy.kind == Policy::Kind::kObject) {
      schedule[op] = ContainersOf(workload, touched);
    }
  }
  return schedule;
}

Outcome SimulatePolicy(const Workload& workload, const Parameters& parameters, const Rates& rates,
                       const Policy& policy, const PolicyOptions& options) {
  return PolicySimulator(workload, parameters, rates, policy, options).Simulate();
}

const Outcome& Comparison::Of(Policy::Kind kind) const {
  return *std::ranges::find_if(outcomes,
                               [&](const Outcome& outcome) { return outcome.policy.kind == kind; });
}

Comparison Compare(const Workload& workload, const Parameters& parameters, const Rates& rates,
                   const PolicyOptions& options) {
  Comparison comparison{.options = options, .oracle = {}};
  const auto simulation = [&](const Policy& policy) {
    return SimulatePolicy(workload, parameters, rates, policy, options);
  };
  for (const Policy::Kind kind :
       {Policy::Kind::kNone, Policy::Kind::kDriver, Policy::Kind::kObject, Policy::Kind::kTensor}) {
    comparison.outcomes.push_back(simulation({.kind = kind}));
  }
  Policy best{.kind = Policy::Kind::kTensor};
  std::int64_t best_ns = comparison.outcomes.back().total_ns;
  for (int lookahead = 1; lookahead <= parameters.max_lookahead; ++lookahead) {
    const Policy policy{.kind = Policy::Kind::kTensor, .lookahead = lookahead};
    comparison.lookaheads.push_back(simulation(policy));
    comparison.lookaheads.back().of_operator.clear();
    comparison.lookaheads.back().of_root.clear();
    if (comparison.lookaheads.back().total_ns < best_ns) {
      best = policy;
      best_ns = comparison.lookaheads.back().total_ns;
    }
  }
  comparison.outcomes.push_back(simulation(best));
  comparison.oracle = OracleMovement(workload, options.capacity_bytes, options.iterations);
  const Movement copied{.pages_in = comparison.oracle.pages_copied,
                        .pages_copied = comparison.oracle.pages_copied};
  comparison.oracle_ns = std::max(comparison.outcomes.front().kernel_ns,
                                  MoveTime(copied, workload.page_bytes, rates.prefetch, rates));
  return comparison;
}

double RelativeTime(const Comparison& comparison, std::int64_t time_ns) {
  const std::int64_t none_ns = comparison.outcomes.front().total_ns;
  return none_ns == 0 ? 1 : static_cast<double>(time_ns) / static_cast<double>(none_ns);
}

double SegmentUse(const Workload& workload) {
  const std::int64_t used = PagesOf(workload, {.kind = Policy::Kind::kTensor});
  const std::int64_t whole = PagesOf(workload, {.kind = Policy::Kind::kObject});
  return whole == 0 ? 1 : static_cast<double>(used) / static_cast<double>(whole);
}

std::int64_t MeanSegmentBytes(const Workload& workload) {
  const std::int64_t pages = PagesOf(workload, {.kind = Policy::Kind::kObject});
  const auto num_operators = static_cast<std::int64_t>(workload.operators.size());
  return num_operators == 0 ? 0 : pages * workload.page_bytes / num_operators;
}

std::int64_t CapacityOf(const Workload& workload, double factor) {
  const auto bytes =
      static_cast<std::int64_t>(std::floor(static_cast<double>(workload.footprint_bytes) / factor));
  return std::max(bytes, workload.page_bytes * workload.pages_per_block);
}

}  // namespace orrery::memory::uvm
