#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/trace/enums.h"

namespace orrery::trace {

/// One kind of thing that was wrong with the input, and how often.
struct Problem {
  std::string what;   // "truncated JSON", "kernel without a launch"
  std::string first;  // first occurrence: "byte 1234"; may be empty
  std::int64_t count = 0;
  Severity severity = Severity::kNote;

  bool operator==(const Problem&) const = default;
};

/// Everything met while reading, one entry for each kind, in order of first appearance.
class ProblemLog {
 public:
  void Note(std::string_view what, std::int64_t count = 1, std::string_view first = {}) {
    Add(what, count, first, Severity::kNote);
  }

  void Loss(std::string_view what, std::int64_t count = 1, std::string_view first = {}) {
    Add(what, count, first, Severity::kLoss);
  }

  void Add(std::string_view what, std::int64_t count, std::string_view first, Severity severity);

  /// Adds all of `other`, its places prefixed by `place` where one is given.
  void Merge(const ProblemLog& other, std::string_view place = {});

  [[nodiscard]] const std::vector<Problem>& all() const { return problems_; }

  [[nodiscard]] bool has_loss() const;

  bool operator==(const ProblemLog&) const = default;

 private:
  std::vector<Problem> problems_;
};

}  // namespace orrery::trace
