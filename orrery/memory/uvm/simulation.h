#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/memory/uvm/parameters.h"
#include "orrery/memory/uvm/residency.h"
#include "orrery/memory/uvm/workload.h"

namespace orrery::memory::uvm {

/// The policy that decides what is prefetched to the GPU.
struct Policy {
  enum class Kind : std::uint8_t {
    kNone,    // nothing
    kDriver,  // the driver's tree, when pages of a block fault
    kObject,  // when an operator begins: the segments that it will touch
    kTensor,  // … the tensors
  };

  Kind kind = Kind::kNone;
  int lookahead = 0;  // kTensor: also what the operator so many places later will touch

  bool operator==(const Policy&) const = default;
};

/// Returns "none", "driver", "object", "tensor" or "tensor+3".
[[nodiscard]] std::string PolicyName(const Policy& policy);

/// Returns what is prefetched for each operator: objects in order, each once. Empty lists for
/// policies that prefetch nothing.
[[nodiscard]] std::vector<std::vector<std::size_t>> ScheduleOf(const Workload& workload,
                                                               const Policy& policy);

/// The costs of one operator, all iterations together.
struct OperatorCosts {
  FaultCounts faults;
  Movement prefetched;
  std::int64_t kernel_ns = 0;
  std::int64_t stall_ns = 0;
};

/// The result of a policy.
struct Outcome {
  Policy policy;
  FaultCounts faults;
  Movement prefetched;
  std::int64_t prefetch_calls = 0;
  std::int64_t bounced_blocks = 0;
  std::int64_t kernel_ns = 0;
  std::int64_t fault_stall_ns = 0;     // kernels that waited for missing pages
  std::int64_t prefetch_stall_ns = 0;  // operators that waited for what was prefetched for them
  std::int64_t total_ns = 0;
  std::vector<OperatorCosts> of_operator = {};
  std::vector<Movement> of_root = {};

  [[nodiscard]] Movement Moved() const {
    Movement moved = faults.moved;
    return moved += prefetched;
  }

  [[nodiscard]] std::int64_t StallNs() const { return fault_stall_ns + prefetch_stall_ns; }
};

struct PolicyOptions {
  std::int64_t capacity_bytes = 0;  // at least one block
  int iterations = 1;
};

/// Simulates the works in order. Prefetched pages are copied while kernels run, in the order of
/// requests; an operator begins when its own pages have arrived. A kernel with page faults computes
/// on the pages that have arrived while further batches are served. An object that is not alive
/// when an operator begins cannot be prefetched then, except as a part of its container.
[[nodiscard]] Outcome SimulatePolicy(const Workload& workload, const Parameters& parameters,
                                     const Rates& rates, const Policy& policy,
                                     const PolicyOptions& options);

/// Returns the fewest page-ins that any policy can have: single pages, and what is needed last
/// leaves first (Belady). A page that is needed later than all others need not stay after its
/// touch, so the bound holds for prefetching too. `evictions` counts pages. Pages that are always
/// touched together are handled together: costs a step for each of these and touch, and a sort.
[[nodiscard]] Movement OracleMovement(const Workload& workload, std::int64_t capacity_bytes,
                                      int iterations);

/// All policies on one workload and one size of memory.
struct Comparison {
  PolicyOptions options;
  std::vector<Outcome> outcomes = {};    // none, driver, object, tensor, the best lookahead
  std::vector<Outcome> lookaheads = {};  // tensor level with 1, 2, … operators, without details
  Movement oracle;
  std::int64_t oracle_ns = 0;  // no simulation can be shorter: kernels, or the oracle's copies

  /// The place of the first outcome of a kind.
  [[nodiscard]] const Outcome& Of(Policy::Kind kind) const;

  /// Tensor level with the lookahead that is fastest, the shortest of equals.
  [[nodiscard]] const Outcome& Best() const { return outcomes.back(); }
};

[[nodiscard]] Comparison Compare(const Workload& workload, const Parameters& parameters,
                                 const Rates& rates, const PolicyOptions& options);

/// Returns the time of an outcome relative to that without prefetch; 1 where nothing takes time.
[[nodiscard]] double RelativeTime(const Comparison& comparison, std::int64_t time_ns);

/// Returns which share of the segments that operators touch are pages of the tensors that they
/// touch; 1 where nothing is touched.
[[nodiscard]] double SegmentUse(const Workload& workload);

/// Returns how many bytes the segments have that an operator touches, on average; 0 without
/// operators.
[[nodiscard]] std::int64_t MeanSegmentBytes(const Workload& workload);

/// Returns the memory of a GPU that is `factor` times too small, at least one block.
[[nodiscard]] std::int64_t CapacityOf(const Workload& workload, double factor);

}  // namespace orrery::memory::uvm
