#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::workload {

/// Returns true for the range of PyTorch in which a program asks its data loader for a batch.
[[nodiscard]] bool IsBatchRequest(std::string_view annotation);

/// Returns true if a program has a data loader, by an execution trace: it does not tell what a
/// batch takes.
[[nodiscard]] bool HasDataLoader(const trace::Trace& graph);

/// A data loader that keeps the program waiting.
struct LoaderPace {
  std::int64_t batch_ns = 0;   // from one batch to the next, as recorded
  std::int64_t waited_ns = 0;  // by the program for each batch
  std::int64_t own_ns = 0;     // of the program for a batch that is there
  double relative_error = 0;   // standard error of batch_ns, by the spread of the steps
};

/// The pace of the data loader of a recording; nothing where the program does not wait for it.
///
/// Processes of a loader go on while the program runs, so where the program waits, batches come at
/// the loader's own pace: the recorded steps over their batches, from the first that waits, since
/// batches before it were made while the profiler started. A loader that works in the program's
/// process is no wait.
[[nodiscard]] std::optional<LoaderPace> LoaderPaceOf(const trace::Trace& recording);

/// The time between two batches that processes of a loader made in a recording, whether the program
/// waited for them or not: they come at least that fast. 0: there are none.
[[nodiscard]] std::int64_t RecordedBatchNs(const trace::Trace& recording);

/// Lets each batch request of a program wait for a loader of that pace.
void AddLoader(const LoaderPace& loader, Program& program);

}  // namespace orrery::workload
