#pragma once

#include "orrery/base/error.h"
#include "orrery/compat/simai/workload.h"
#include "orrery/trace/problems.h"
#include "orrery/workload/ensemble.h"

namespace orrery::compat::simai {

struct WorkloadEnsemble {
  workload::Ensemble ensemble;
  int microbatches = 1;
  trace::ProblemLog problems;  // including those of the workload
};

/// Makes one program for each pipeline stage; every stage runs all layers of the text. Ranks are
/// numbered with tensor parallelism innermost, then data (which contains expert) parallelism, then
/// pipeline stages.
///
/// A micro-batch begins with "embedding_layer"; a text with one micro-batch is repeated `ga` times.
/// Its rows are split evenly into `vpp` chunks, and micro-batches run as 1F1B, interleaved if there
/// are several chunks. Collectives of the weight gradient are asynchronous and awaited at the end
/// of the step; all others are synchronous. Rows before the first micro-batch run at the end of the
/// step, from the last to the first, as do rows named "optimizer…". Fails for plans that do not
/// divide, naming the key.
[[nodiscard]] Result<WorkloadEnsemble> MakeEnsemble(const Workload& workload);

}  // namespace orrery::compat::simai
