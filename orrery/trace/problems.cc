#include "orrery/trace/problems.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/trace/enums.h"

namespace orrery::trace {

void ProblemLog::Add(std::string_view what, std::int64_t count, std::string_view first,
                     Severity severity) {
  if (count == 0) {
    return;
  }
  const auto found = std::find_if(problems_.begin(), problems_.end(), [&](const Problem& problem) {
    return problem.what == what && problem.severity == severity;
  });
  if (found != problems_.end()) {
    found->count += count;
    return;
  }
  problems_.push_back({.what = std::string(what),
                       .first = std::string(first),
                       .count = count,
                       .severity = severity});
}

void ProblemLog::Merge(const ProblemLog& other, std::string_view place) {
  for (const Problem& problem : other.problems_) {
    std::string first(place);
    first.append(place.empty() || problem.first.empty() ? "" : ": ").append(problem.first);
    Add(problem.what, problem.count, first, problem.severity);
  }
}

bool ProblemLog::has_loss() const {
  return std::any_of(problems_.begin(), problems_.end(),
                     [](const Problem& problem) { return problem.severity == Severity::kLoss; });
}

}  // namespace orrery::trace
