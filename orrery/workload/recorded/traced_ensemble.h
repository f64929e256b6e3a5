#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/traced_group_roles.h"
#include "orrery/workload/recorded/traced_job.h"

namespace orrery::workload {

struct TracedEnsemble {
  Ensemble ensemble;
  std::vector<std::string> remarks;  // one sentence each
};

/// Makes all `world` ranks of a job from the programs of the traced ones (in their order): a rank
/// runs the program of the one that stands for it, and groups of a shape tile the world.
///
/// Another world than the traced one is more or fewer data-parallel ranks: the dimension "dp" of
/// the mesh (of HSDP "dp_replicate"; without a mesh: what is outside of all smaller groups) gets
/// another size, dimensions outside of it another stride. Where the optimizer's state is sharded,
/// its kernels take time as their share of it; all else keeps its size. Fails when the world does
/// not divide, and when a job has no such dimension.
[[nodiscard]] Result<TracedEnsemble> EnsembleOfTracedJob(const TracedJob& job,
                                                         const TracedGroupRoles& roles,
                                                         std::vector<Program> programs, Rank world);

}  // namespace orrery::workload
