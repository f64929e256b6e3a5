#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"
#include "orrery/serve/http/request.h"
#include "orrery/serve/tiles/activity.h"
#include "orrery/serve/viewed_run.h"
#include "orrery/simulate/scenario.h"

namespace orrery::serve {

/// A file of the page.
struct Asset {
  std::string_view path;  // "view.js"; "" is the page itself
  std::string_view type;
  std::string_view bytes;
};

/// The changes of a job from the one that is open.
struct JobChanges {
  std::vector<std::string> settings = {};  // "gpus=128", "plan.tp=4"
  simulate::Scenario scenario = {};
};

/// Actions that only the program around the server can do; empty: it cannot.
struct ViewActions {
  /// Simulates a recorded run.
  std::function<Result<std::shared_ptr<ViewedRun>>(const ViewedRun&)> predict = {};
  /// Simulates a job that is open again.
  std::function<Result<std::shared_ptr<ViewedRun>>(const ViewedRun&, const JobChanges&)> simulate =
      {};
  /// Simulates a plan of the table in ViewOptions::plans, by its row.
  std::function<Result<std::shared_ptr<ViewedRun>>(std::size_t)> simulate_plan = {};
};

struct ViewOptions {
  std::string title = {};
  std::string version = {};
  std::vector<Asset> assets = {};
  ViewActions actions = {};
  std::optional<report::Document> plans = {};  // of a search: its own tab
};

using RunList = std::vector<std::shared_ptr<ViewedRun>>;

/// Answers the requests of the page (docs/formats/view.md).
class Answers : public Handler {
 public:
  Answers(RunList runs, ViewOptions options)
      : runs_(std::move(runs)), num_opened_(runs_.size()), options_(std::move(options)) {}

  [[nodiscard]] Response Answer(const Request& request) override;

  /// One page that needs nothing else, with the answers to these requests ("api/ranks?run=0"): as
  /// many of them, in order, as 10 MB hold. `state` is what the address of the page would say.
  [[nodiscard]] Result<std::string> ExportedPage(const std::vector<std::string>& addresses,
                                                 const std::string& state);

  /// The addresses that show the runs as a whole: for pages that are exported without a browser.
  [[nodiscard]] std::vector<std::string> OverviewAddresses() const;

 private:
  struct Action {
    std::string_view path;
    Result<Response> (Answers::*answer)(const Request&);
  };

  [[nodiscard]] Result<Response> AnswerApi(const Request& request);
  [[nodiscard]] Result<std::shared_ptr<ViewedRun>> RunOf(const Query& query) const;
  [[nodiscard]] Result<Response> Differences(const Query& query) const;
  [[nodiscard]] RunList Runs() const;
  [[nodiscard]] Result<Response> Predict(const Request& request);
  [[nodiscard]] Result<Response> SimulatePlan(const Request& request);
  [[nodiscard]] Result<Response> WhatIf(const Request& request);
  [[nodiscard]] Result<Response> Export(const Request& request);
  /// Puts a run behind those that were opened, in the place of one that was made before: a page
  /// cannot fill the memory. Returns its place.
  std::size_t KeepMade(std::shared_ptr<ViewedRun> run);

  mutable std::shared_mutex mutex_;  // of `runs_`
  RunList runs_;
  std::size_t num_opened_;
  ViewOptions options_;
};

// One file an endpoint. Times that they take and give are after the run's begin.

[[nodiscard]] Response JsonResponse(const Value& value);
[[nodiscard]] Value SessionOf(const RunList& runs, const ViewOptions& options);
[[nodiscard]] Value RanksOf(const ViewedRun& run);
/// The time of a step, in nanoseconds; null where the run has none.
[[nodiscard]] Value StepTimeOf(const ViewedRun& run);
[[nodiscard]] Result<Response> AnswerActivity(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerTracks(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerSlices(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerSlice(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerLaunches(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerCollectives(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerCritical(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerRange(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerFind(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<Response> AnswerTab(const ViewedRun& run, const Query& query);

/// A whole document as a tab.
[[nodiscard]] Response TabResponse(const report::Document& document);
/// Adds a section about the memory that the framework's allocator recorded over time.
void AddRecordedMemory(const ViewedRun& run, Value& sections);
/// Adds a table of recorded kernels beside what models predict for them, or why there is none.
void AddPredictedKernels(const ViewedRun& run, Value& sections);
[[nodiscard]] Result<Response> AnswerDifferences(const ViewedRun& before, const ViewedRun& after);

// Helpers that several of them need.

/// A row of the page and its trace.
struct RankAt {
  std::uint32_t row = 0;
  std::uint32_t trace = 0;
};

[[nodiscard]] Result<RankAt> RankOf(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<TileAt> TileOf(const Query& query);

/// The ranks `first` to `first + count` in an order, as places of ViewedRun::ranks.
[[nodiscard]] Result<std::vector<std::uint32_t>> RanksIn(const ViewedRun& run, const Query& query);
[[nodiscard]] Result<RankOrder> OrderOf(const Query& query);

/// From `begin` to `end`, on the clock of the traces.
[[nodiscard]] Result<Interval> WindowOf(const ViewedRun& run, const Query& query);

/// The place of a slice: rank, track, row, begin and duration. Null where the track is not shown.
[[nodiscard]] Value PlaceValue(const ViewedRun& run, std::uint32_t rank_row, SliceTable table,
                               RowId row);

}  // namespace orrery::serve
