#pragma once

#include <cstdint>
#include <vector>

#include "orrery/memory/uvm/faults.h"
#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/policy.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// What one operator cost, all iterations together.
struct OperatorFigures {
  FaultFigures faults;
  Movement prefetched;
  std::int64_t kernel_ns = 0;
  std::int64_t stall_ns = 0;
};

/// What a policy came to.
struct Outcome {
  Policy policy;
  FaultFigures faults;
  Movement prefetched;
  std::int64_t prefetch_calls = 0;
  std::int64_t bounced_blocks = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t fault_stall_ns = 0;     // kernels that waited for missing pages
  std::int64_t prefetch_stall_ns = 0;  // operators that waited for what was prefetched for them
  std::int64_t total_ns = 0;
  std::vector<OperatorFigures> of_operator = {};
  std::vector<Movement> of_root = {};

  [[nodiscard]] Movement Moved() const;

  [[nodiscard]] std::int64_t StallNs() const { return fault_stall_ns + prefetch_stall_ns; }
};

struct PolicyOptions {
  std::int64_t capacity_bytes = 0;  // at least one block
  int iterations = 1;
};

/// Plays the works one after the other. Prefetched pages are copied while kernels run, in the order
/// asked for; an operator begins when its own are there. A kernel that misses pages computes on
/// what has come while further batches are served, after what was asked for before. What is not
/// alive when an operator begins cannot be prefetched then, except as a part of what it lies in.
/// Costs a few operations for each touch and block.
[[nodiscard]] Outcome SimulatePolicy(const Workload& workload, const Parameters& parameters,
                           const Rates& rates, const Policy& policy, const PolicyOptions& options);

}  // namespace orrery::memory::uvm
