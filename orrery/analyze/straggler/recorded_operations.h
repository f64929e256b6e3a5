#pragma once

#include <cstddef>
#include <cstdint>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/slowdown.h"
#include "orrery/base/error.h"

namespace orrery::analyze {

/// The operations of a recorded run, and what was assumed about them.
struct RecordedOperations {
  OperationSteps operations;
  std::size_t num_steps = 0;            // that all ranks have; not all need be in `operations`
  bool is_by_position = false;          // else kernels are ideal by class: ranks or steps differ
  std::int64_t num_unmatched = 0;       // communication kernels that keep their time
  std::int64_t num_inferred_waits = 0;  // of kernels, where the recording does not say for what
};

/// Returns the steps of a recorded run as operations of its dependency graph, of the devices alone:
///   - a kernel counts to its class, its ideal is the mean over ranks and steps of the kernels at
///     its place on the stream; where the ranks or steps do not run the same classes in the same
///     order, all kernels of a class on a rank are scaled to the mean sum over ranks and steps;
///   - a collective or message counts to its kind, from the last arrival on; its ideal is the
///     median over those of the same kind, size and number of members.
/// What the host costs is launch delay, as published. Communication that could not be matched
/// keeps its time.
///
/// Fails, with a reason that follows "n/a: ", for one rank, without a step that all ranks have, and
/// without a matched collective.
[[nodiscard]] Result<RecordedOperations> OperationsOf(const RunView& run);

}  // namespace orrery::analyze
