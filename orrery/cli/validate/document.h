#pragma once

#include "orrery/calibrate/validation.h"
#include "orrery/cli/output.h"
#include "orrery/workload/job/fitted_runs.h"

namespace orrery::cli {

/// Says which of the rows the models were fitted to.
struct FitNote {
  const char* word;
  const char* sentence;
  const workload::FittedRuns* runs = nullptr;  // that the fit has seen; none: it has left all out
};

[[nodiscard]] FitNote LeftOutNote();
[[nodiscard]] FitNote InSampleNote(const workload::FittedRuns& runs);

/// Figures of all rows and of groups, the worst rows, and why others were refused. JSON and the
/// sheet `rows`: docs/formats/validate-json.md.
[[nodiscard]] Document ValidationDocument(const calibrate::Validation& validation,
                                          const FitNote& fit);

}  // namespace orrery::cli
