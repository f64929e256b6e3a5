#include "orrery/cli/analyze/what_if_option.h"

#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string_view>
#include <system_error>

#include <fmt/core.h>

namespace orrery::cli {
namespace {

using analyze::WhatIfQuestion;
using enum WhatIfQuestion::Subject;

struct SubjectWord {
  std::string_view word;
  WhatIfQuestion::Subject subject;
  bool has_name;
};

constexpr std::array kSubjects{
    SubjectWord{"network", kNetwork, false},  SubjectWord{"compute", kCompute, false},
    SubjectWord{"host", kHost, false},        SubjectWord{"kernel", kKernel, true},
    SubjectWord{"operator", kOperator, true}, SubjectWord{"rank", kRank, true}};

const SubjectWord* FindSubject(std::string_view word) {
  for (const SubjectWord& subject : kSubjects) {
    if (subject.word == word) {
      return &subject;
    }
  }
  return nullptr;
}

std::optional<double> ParseFactor(std::string_view text) {
  double factor = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), factor);
  const bool is_whole =
      !text.empty() && parsed.ec == std::errc() && parsed.ptr == text.data() + text.size();
  return is_whole && factor > 0 ? std::optional(factor) : std::nullopt;
}

bool IsRank(std::string_view text) {
  return text.size() < 9 && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// Names may hold ':' and '=': the subject ends at the first ':', the name at the last '='.
std::optional<WhatIfQuestion> Parse(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const std::string_view left = text.substr(0, equals);
  const std::size_t colon = left.find(':');
  const SubjectWord* const subject = FindSubject(left.substr(0, colon));
  const std::string_view name =
      colon == std::string_view::npos ? std::string_view() : left.substr(colon + 1);
  if (subject == nullptr || subject->has_name == name.empty()) {
    return std::nullopt;
  }
  WhatIfQuestion question{.subject = subject->subject, .name = std::string(name)};
  if (question.subject == kRank) {
    return equals == std::string_view::npos && IsRank(name) ? std::optional(question)
                                                            : std::nullopt;
  }
  const auto factor =
      equals == std::string_view::npos ? std::nullopt : ParseFactor(text.substr(equals + 1));
  question.speedup = factor.value_or(1);
  return factor ? std::optional(question) : std::nullopt;
}

}  // namespace

Result<WhatIfQuestion> ParseWhatIf(const std::string& text) {
  std::optional<WhatIfQuestion> question = Parse(text);
  if (!question) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("--what-if {}: must be network=K, compute=K, host=K, kernel:NAME=K, "
                            "operator:NAME=K (K times as fast) or rank:N (not late any more)",
                            text));
  }
  question->text = text;
  return *std::move(question);
}

}  // namespace orrery::cli
