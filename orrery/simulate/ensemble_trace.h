#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/trace/trace_set.h"

namespace orrery::simulate {

struct EnsembleTraceOptions {
  std::string gpu;  // the name of the device that was simulated
  /// Where ranks have different devices: by program.
  std::vector<std::string> gpu_of_program = {};
  /// Every rank gets a trace when there are at most so many; otherwise every rank class gets one,
  /// with the number of the rank that stands for the others.
  std::uint32_t most_ranks = 64;
  /// A step marker lasts from the first to the last task of the thread that runs the training loop,
  /// as in a recording of a single rank.
  bool marks_training_loop = false;
  /// Properties of the job: `CardOf`.
  std::optional<trace::WorkloadCard> card = {};
};

/// Writes a simulation as the traces that profilers would have recorded: launches, kernels,
/// collectives with group, size and sequence number, memory, and a step marker from the end of one
/// repetition of all ranks to the end of the next; where a rank's host runs ahead of that, the
/// markers do too, as a step is what its host hands over. A message of a pair is a send or a
/// receive, as its task is named ("send …", "receive …" or "recv …"); otherwise the first member of
/// the group sends.
///
/// Where a trace is that of a rank class, the card says so (trace::kFoldedRanks): a group whose
/// members are all of one class has one trace, and its size counts.
///
/// A kernel that others delayed begins when it has room and says `alone_us`, how long it takes
/// alone (of communication: once all are there), and `delayed_us`, how long it waited for room.
[[nodiscard]] trace::TraceSet EnsembleTrace(const RankClasses& rank_classes,
                                            const Timeline& timeline,
                                            const EnsembleTraceOptions& options);

}  // namespace orrery::simulate
