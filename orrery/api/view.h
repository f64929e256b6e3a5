#pragma once

#include <memory>
#include <string>
#include <vector>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/api/session.h"
#include "orrery/api/view/requests.h"
#include "orrery/api/view/results.h"
#include "orrery/base/error.h"

// Open runs, and the questions that a page or a program asks about them.

namespace orrery::api {

struct ViewState;

struct ViewRequest {
  /// One run each: a recording, a job (YAML) that is simulated, or a store of `search`, of which
  /// the best plan is.
  std::vector<std::string> paths = {};
  RunInput run = {};  // options of reading; its paths are not used
  JobInput job = {};
  CallOptions call = {};
};

/// Runs that are open. Threads may ask at once.
class ORRERY_API View {
 public:
  explicit View(std::unique_ptr<ViewState> state);
  ~View();
  View(View&&) noexcept;
  View& operator=(View&&) noexcept;
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  /// For the sources of this module.
  [[nodiscard]] ViewState& state() const { return *state_; }

 private:
  std::unique_ptr<ViewState> state_;
};

/// Opens at most three runs. The session must outlive the view.
[[nodiscard]] ORRERY_API Result<View> OpenView(const Session& session, const ViewRequest& request);

/// A sentence for each run that has no collective in common with the first one.
[[nodiscard]] ORRERY_API std::vector<std::string> RunsWithNothingInCommon(const View& view);

/// The questions (docs/formats/view.md). `run` of a request is a place among the runs: those that
/// were opened, then the one that was made last.
namespace view {

[[nodiscard]] ORRERY_API Result<SessionInfo> DescribeSession(const View& view,
                                                             const SessionRequest&);
[[nodiscard]] ORRERY_API Result<Ranks> ListRanks(const View& view, const RunRequest& request);
[[nodiscard]] ORRERY_API Result<Columns> MakeActivityTile(const View& view,
                                                          const ActivityRequest& request);
[[nodiscard]] ORRERY_API Result<std::vector<Track>> ListTracks(const View& view,
                                                               const TracksRequest& request);
[[nodiscard]] ORRERY_API Result<Columns> MakeSliceTile(const View& view,
                                                       const SlicesRequest& request);
[[nodiscard]] ORRERY_API Result<SliceDetails> DescribeSlice(const View& view,
                                                            const SliceRequest& request);
[[nodiscard]] ORRERY_API Result<Columns> ListLaunches(const View& view,
                                                      const LaunchesRequest& request);
[[nodiscard]] ORRERY_API Result<Collectives> ListCollectives(const View& view,
                                                             const CollectivesRequest& request);
[[nodiscard]] ORRERY_API Result<Critical> FindCriticalPath(const View& view,
                                                           const RunRequest& request);
[[nodiscard]] ORRERY_API Result<RangeTotals> SumRange(const View& view,
                                                      const RangeRequest& request);
[[nodiscard]] ORRERY_API Result<Found> FindSlices(const View& view, const FindRequest& request);
[[nodiscard]] ORRERY_API Result<TabPage> MakeTab(const View& view, const TabRequest& request);
[[nodiscard]] ORRERY_API Result<Differences> CompareRuns(const View& view,
                                                         const DifferencesRequest& request);

// These simulate; the run that they make takes the place of the one that was made before.

[[nodiscard]] ORRERY_API Result<Prediction> PredictRun(const View& view, const RunRequest& request);
[[nodiscard]] ORRERY_API Result<OpenedPlan> OpenPlan(const View& view, const PlanRequest& request);
[[nodiscard]] ORRERY_API Result<WhatIfAnswer> AnswerWhatIf(const View& view,
                                                           const WhatIfRequest& request);

}  // namespace view
}  // namespace orrery::api
