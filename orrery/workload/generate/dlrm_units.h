#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A recommendation model whose tables are dealt to all ranks while its networks are replicated.
///
/// Forward, a rank looks up its parts of tables for the samples of all ranks and sends each rank
/// the vectors of its samples: an all-to-all of pooled vectors for whole tables and columns, a
/// reduce-scatter of partial sums for rows. Meanwhile the bottom network runs. Backward, gradients
/// of vectors go the other way while the bottom network's backward pass runs. Ranks whose parts of
/// tables differ in size have programs of their own. The indices are where they are needed.
[[nodiscard]] Result<ModelUnits> DlrmUnits(const Job& job);

}  // namespace orrery::workload
