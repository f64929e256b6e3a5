#include "orrery/workload/job/shell_branches.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/decimal.h"
#include "orrery/base/text.h"

namespace orrery::workload {
namespace {

Runs RunsIf(bool condition) {
  return condition ? Runs::kYes : Runs::kNo;
}

Runs Comparison(const std::string& left, std::string_view sign, const std::string& right) {
  const auto a = ParseInteger(left);
  const auto b = ParseInteger(right);
  if (sign == "=" || sign == "==" || sign == "!=") {
    return right.find_first_of("*?") == std::string::npos
               ? RunsIf((left == right) != (sign == "!="))
               : Runs::kUnknown;
  }
  if (!a || !b) {
    return Runs::kUnknown;
  }
  return sign == "-eq"   ? RunsIf(*a == *b)
         : sign == "-ne" ? RunsIf(*a != *b)
         : sign == "-gt" ? RunsIf(*a > *b)
         : sign == "-ge" ? RunsIf(*a >= *b)
         : sign == "-lt" ? RunsIf(*a < *b)
         : sign == "-le" ? RunsIf(*a <= *b)
                         : Runs::kUnknown;
}

}  // namespace

Runs ConditionValue(std::span<const std::string> words) {
  const bool is_test = words.size() >= 4 && ((words.front() == "[" && words.back() == "]") ||
                                             (words.front() == "[[" && words.back() == "]]"));
  const bool is_known =
      std::ranges::none_of(words, [](const std::string& word) { return Contains(word, "$"); });
  if (!is_test || !is_known) {
    return Runs::kUnknown;
  }
  const std::span<const std::string> inner = words.subspan(1, words.size() - 2);
  if (inner.size() == 2 && (inner[0] == "-n" || inner[0] == "-z")) {
    return RunsIf(inner[1].empty() == (inner[0] == "-z"));
  }
  return inner.size() == 3 ? Comparison(inner[0], inner[1], inner[2]) : Runs::kUnknown;
}

bool ShellBranches::Take(std::string_view keyword, Runs condition) {
  if (keyword == "if") {
    open_.push_back({.runs = condition});
  } else if (keyword == "case" || keyword == "for" || keyword == "while" || keyword == "until") {
    open_.push_back({});
  } else if (keyword == "fi" || keyword == "esac" || keyword == "done") {
    if (!open_.empty()) {
      open_.pop_back();
    }
  } else if ((keyword == "elif" || keyword == "else") && !open_.empty()) {
    Branch& branch = open_.back();
    branch.earlier = std::max(branch.earlier, branch.runs);
    const Runs own = keyword == "else" ? Runs::kYes : condition;
    branch.runs = branch.earlier == Runs::kYes  ? Runs::kNo
                  : branch.earlier == Runs::kNo ? own
                                                : std::min(own, Runs::kUnknown);
  } else {
    return false;
  }
  return true;
}

Runs ShellBranches::runs() const {
  Runs runs = Runs::kYes;
  for (const Branch& branch : open_) {
    runs = std::min(runs, branch.runs);
  }
  return runs;
}

}  // namespace orrery::workload
