#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"
#include "orrery/compat/simai/workload.h"

namespace orrery::compat::simai {

using workload::Ensemble;

struct SimaiEnsemble {
  Ensemble ensemble;
  int microbatches = 1;
  trace::ProblemLog problems;  // the workload's too
};

/// Makes programs from a workload, one for each stage of its pipeline; every stage does what the
/// text says. Ranks count tensor first, then data (which holds the experts) and pipeline last.
///
/// A micro-batch begins with "embedding_layer"; a text with one of them is repeated `ga` times. Its
/// rows are dealt to `vpp` chunks evenly, and micro-batches run as 1F1B, interleaved when there are
/// several chunks. Collectives of the weight gradient run beside what follows and are awaited at
/// the end of the step, all others at once. Rows before the first micro-batch go to the end of the
/// step, from the last to the first, as do those called "optimizer…". Fails for plans that do not
/// divide, naming the key.
[[nodiscard]] Result<SimaiEnsemble> EnsembleOfSimai(const SimaiWorkload& workload);

}  // namespace orrery::compat::simai
