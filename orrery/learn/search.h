#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/split.h"

namespace orrery::learn {

struct SearchOutcome {
  std::size_t best = 0;                    // index of the candidate
  std::vector<double> score_of_candidate;  // NaN where it could not be evaluated
};

/// Tries every candidate for hyper-parameters, in order, and keeps the one with the smallest
/// score; of equal ones the first. `train_and_score` learns from the training rows and returns an
/// error on the validation rows; there are no test rows here to look at. Fails if a training does,
/// or if no candidate has a score that is a number.
template <typename Candidate>
[[nodiscard]] Result<SearchOutcome> Search(
    std::span<const Candidate> candidates, const TrainingRows& rows,
    const std::function<Result<double>(const Candidate&, const TrainingRows&)>& train_and_score) {
  SearchOutcome outcome;
  double smallest = std::numeric_limits<double>::infinity();
  for (std::size_t index = 0; index < candidates.size(); ++index) {
    ORRERY_TRY(const double score, train_and_score(candidates[index], rows));
    outcome.score_of_candidate.push_back(score);
    if (score < smallest) {
      smallest = score;
      outcome.best = index;
    }
  }
  if (!std::isfinite(smallest)) {
    return Fail(Error::Kind::kInvalidInput, "no candidate of the search gave a number as score");
  }
  return outcome;
}

}  // namespace orrery::learn
