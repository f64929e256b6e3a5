#include "orrery/analyze/graph/graph_holder.h"

#include "orrery/analyze/run_view.h"
#include "orrery/base/check.h"

namespace orrery::analyze {

const DependencyGraph& GraphOf(const RunView& run) {
  ORRERY_CHECK(run.graph != nullptr, "the view was made by ViewRun");
  return run.graph->Get(run);
}

}  // namespace orrery::analyze
