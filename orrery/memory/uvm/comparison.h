#pragma once

#include <cstdint>
#include <vector>

#include "orrery/memory/uvm/simulation.h"

namespace orrery::memory::uvm {

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
