#pragma once

#include "orrery/api/fields/documents.h"
#include "orrery/api/validate.h"
#include "orrery/calibrate/validation.h"
#include "orrery/workload/job/published/fitted_runs.h"

namespace orrery::api {

/// Says which of the rows the models were fitted to.
struct FitNote {
  const char* word;
  const char* sentence;
  const workload::FittedRuns* runs = nullptr;  // that the fit has seen; none: it has left all out
};

[[nodiscard]] FitNote LeftOutNote();
[[nodiscard]] FitNote InSampleNote(const workload::FittedRuns& runs);

/// Rows of grade A and A-, on which simulators are compared.
[[nodiscard]] calibrate::Validation HeadlineOf(const calibrate::Validation& validation);

/// The rows of stacks and teams that a fit has seen, or all others.
[[nodiscard]] calibrate::Validation PartOf(const calibrate::Validation& validation,
                                           const workload::FittedRuns& runs, bool is_seen);

/// Errors of all rows and of groups, the worst rows, and why others were refused; the sheet `rows`:
/// docs/formats/answers/validate.md.
[[nodiscard]] Document ValidationDocument(const calibrate::Validation& validation,
                                          const FitNote& fit);

/// Results with their documents.
[[nodiscard]] ValidateResult MakeResult(const calibrate::Validation& validation,
                                        const FitNote& fit);
[[nodiscard]] RankPlansResult MakeRanking(const calibrate::Validation& validation);

}  // namespace orrery::api
