#include "orrery/trace/finish.h"

#include "orrery/trace/links.h"
#include "orrery/trace/steps.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {

void FinishTrace(Trace& trace, const FinishOptions& options) {
  SortRows(trace);
  LinkNesting(trace);
  LinkCallsToOperators(trace);
  LinkLaunches(trace);
  LinkByIds(trace);
  LinkForwardOperators(trace);
  FindSteps(trace, options.step_marker);
}

}  // namespace orrery::trace
