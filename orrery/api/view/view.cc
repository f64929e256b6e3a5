#include "orrery/api/view.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/diff/paired_collectives.h"
#include "orrery/api/view/places.h"
#include "orrery/api/view/view_state.h"
#include "orrery/api/view/viewed_run.h"
#include "orrery/base/error.h"

namespace orrery::api {

View::View(std::unique_ptr<ViewState> state) : state_(std::move(state)) {}

View::~View() = default;
View::View(View&&) noexcept = default;
View& View::operator=(View&&) noexcept = default;

view::RunList ViewState::Runs() const {
  const std::shared_lock lock(mutex_);
  return runs_;
}

Result<std::shared_ptr<const view::ViewedRun>> ViewState::RunAt(std::int64_t place) const {
  const std::shared_lock lock(mutex_);
  ORRERY_TRY_STATUS(
      view::CheckLimits("run", place, 0, static_cast<std::int64_t>(runs_.size()) - 1));
  return runs_[static_cast<std::size_t>(place)];
}

std::int64_t ViewState::KeepMade(std::shared_ptr<view::ViewedRun> run) {
  const std::unique_lock lock(mutex_);
  runs_.resize(num_opened_);
  runs_.push_back(std::move(run));
  return static_cast<std::int64_t>(num_opened_);
}

std::vector<std::string> RunsWithNothingInCommon(const View& view) {
  const view::RunList runs = view.state().Runs();
  std::vector<std::string> sentences;
  for (std::size_t run = 1; run < runs.size(); ++run) {
    if (analyze::diff::PairCollectives(runs.front()->view(), runs[run]->view())
            .HasNothingInCommon()) {
      sentences.push_back(
          analyze::diff::NothingInCommonSentence(runs.front()->name(), runs[run]->name()));
    }
  }
  return sentences;
}

}  // namespace orrery::api
