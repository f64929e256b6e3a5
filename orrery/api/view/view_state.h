#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/api/view.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"
#include "orrery/simulate/scenario.h"

namespace orrery::api {
namespace view {

using RunList = std::vector<std::shared_ptr<ViewedRun>>;

/// The changes of a job from the one that is open.
struct JobChanges {
  std::vector<std::string> settings = {};  // "gpus=128", "plan.tp=4"
  simulate::Scenario scenario = {};
};

/// Functions that make runs; empty: these questions cannot be asked.
struct RunMakers {
  /// Simulates a recorded run.
  std::function<Result<std::shared_ptr<ViewedRun>>(const ViewedRun&)> predict = {};
  /// Simulates a job that is open again.
  std::function<Result<std::shared_ptr<ViewedRun>>(const ViewedRun&, const JobChanges&)> simulate =
      {};
  /// Simulates a plan of ViewState::plans, by its row.
  std::function<Result<std::shared_ptr<ViewedRun>>(std::size_t)> simulate_plan = {};
};

}  // namespace view

/// Contents of a view. Thread-safe.
struct ViewState {
  explicit ViewState(view::RunList opened, view::RunMakers run_makers = {})
      : makers(std::move(run_makers)), runs_(std::move(opened)), num_opened_(runs_.size()) {}

  [[nodiscard]] view::RunList Runs() const;

  /// The run of a request.
  [[nodiscard]] Result<std::shared_ptr<const view::ViewedRun>> RunAt(std::int64_t place) const;

  /// Puts a run behind those that were opened, in the place of one that was made before: questions
  /// cannot fill the memory. Returns its place.
  std::int64_t KeepMade(std::shared_ptr<view::ViewedRun> run);

  view::RunMakers makers = {};
  std::optional<report::Document> plans = {};  // of a store of `search`: its own tab

 private:
  mutable std::shared_mutex mutex_;  // of `runs_`
  view::RunList runs_;
  std::size_t num_opened_;
};

}  // namespace orrery::api
