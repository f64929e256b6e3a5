#include "orrery/workload/job/shell_branches.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "orrery/base/text/decimal.h"
#include "orrery/base/text/text.h"

namespace orrery::workload {
namespace {

struct IntegerComparison {
  std::string_view sign;
  bool if_less = false;
  bool if_equal = false;
  bool if_greater = false;
};

constexpr std::array kComparisons{
    IntegerComparison{"-eq", false, true, false}, IntegerComparison{"-ne", true, false, true},
    IntegerComparison{"-gt", false, false, true}, IntegerComparison{"-ge", false, true, true},
    IntegerComparison{"-lt", true, false, false}, IntegerComparison{"-le", true, true, false}};

Runs RunsIf(bool condition) {
  return condition ? Runs::kYes : Runs::kNo;
}

Runs Comparison(const std::string& left, std::string_view sign, const std::string& right) {
  if (sign == "=" || sign == "==" || sign == "!=") {
    return right.find_first_of("*?") == std::string::npos
               ? RunsIf((left == right) != (sign == "!="))
               : Runs::kUnknown;
  }
  const auto a = ParseInteger(left);
  const auto b = ParseInteger(right);
  const auto* const comparison = std::ranges::find(kComparisons, sign, &IntegerComparison::sign);
  if (!a || !b || comparison == kComparisons.end()) {
    return Runs::kUnknown;
  }
  return RunsIf(*a < *b    ? comparison->if_less
                : *a == *b ? comparison->if_equal
                           : comparison->if_greater);
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
