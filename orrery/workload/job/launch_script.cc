#include "orrery/workload/job/launch_script.h"

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "orrery/base/error.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/job/shell_branches.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";
constexpr std::size_t kMostBytes = std::size_t{1} << 20;  // of a script, and of all expansions
constexpr std::size_t kWordBytes = 32;                    // that an empty word takes
constexpr int kMostNested = 100;
constexpr int kMostOpen = 100;  // brackets that are never closed, each sought up to the end

// Words that may stand before a command or an assignment.
const std::set<std::string_view> kPrefixes{"then",    "else",  "do",       "export", "eval",
                                           "declare", "local", "readonly", "{",      "}"};

bool IsNameLetter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

std::size_t NameLength(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::find_if_not(text, IsNameLetter) - text.begin());
}

bool IsBlank(char c) {
  return kBlanks.find(c) != std::string_view::npos;
}

// The value of an option of `#SBATCH --nodes=4 --gpus-per-node 8`.
std::optional<std::string> BatchOption(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == std::string_view::npos || at + name.size() >= line.size()) {
    return std::nullopt;
  }
  std::string_view value = Trimmed(line.substr(at + name.size()), " \t\r=");
  value = value.substr(0, value.find_first_of(" \t\r"));
  value.remove_prefix(value.rfind(':') + 1);  // "gpu:h100:8"
  return ParseInteger(value) ? std::optional(std::string(value)) : std::nullopt;
}

/// The budget of a script and of the texts inside it, which have readers of their own.
class Limits {
 public:
  void Expand(std::size_t num_bytes) {
    bytes_left_ -= std::min(bytes_left_, num_bytes);
    if (bytes_left_ == 0) {
      Refuse(fmt::format("its variables expand to more than {} bytes", kMostBytes));
    }
  }

  void Enter() {
    if (++nested_ > kMostNested) {
      Refuse(
          fmt::format("more than {} expansions ${{NAME:-...}} are inside each other", kMostNested));
    }
  }

  void Leave() { --nested_; }

  void LeaveOpen() {
    if (++open_ > kMostOpen) {
      Refuse(fmt::format("more than {} brackets are never closed", kMostOpen));
    }
  }

  [[nodiscard]] bool is_over() const { return !problem_.empty(); }

  /// A part of a sentence.
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void Refuse(std::string problem) {
    if (problem_.empty()) {
      problem_ = std::move(problem);
    }
  }

  std::size_t bytes_left_ = kMostBytes;
  int nested_ = 0;
  int open_ = 0;
  std::string problem_;
};

class ScriptReader {
 public:
  ScriptReader(std::string_view script, const ShellVariables& given, Limits& limits)
      : text_(script), given_(given), limits_(limits) {}

  LaunchCommand Read() && {
    while (at_ < text_.size() && !limits_.is_over()) {
      const char c = text_[at_];
      if (c == '#' && !in_word_) {
        TakeComment();
      } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
        ++at_;
        EndStatement(c);
      } else if (array_ && c == ')') {
        ++at_;
        EndArray();
      } else if (c == '<' && text_.substr(at_, 3) != "<<<" && text_.substr(at_, 2) == "<<") {
        SkipHereDocument();
      } else if (c == '(' || c == ')') {
        TakeBracket();
      } else {
        TakeLetter();
      }
    }
    EndStatement();
    best_.variables = std::move(variables_);
    return std::move(best_);
  }

  // The words of one statement, with nothing done.
  std::vector<std::string> Words() {
    while (at_ < text_.size() && !limits_.is_over()) {
      TakeLetter();
    }
    EndWord();
    return std::move(words_);
  }

 private:
  void TakeComment() {
    static const std::map<std::string_view, std::vector<std::string>> kVariables{
        {"--nodes", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
        {" -N", {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}},
        {"--gpus-per-node", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
        {"--gres", {"SLURM_GPUS_PER_NODE", "SLURM_GPUS_ON_NODE"}},
        {"--ntasks-per-node", {"SLURM_NTASKS_PER_NODE"}}};
    const std::size_t end = std::min(text_.find('\n', at_), text_.size());
    const std::string_view line = text_.substr(at_, end - at_);
    at_ = end;
    for (const auto& [option, names] : kVariables) {
      const auto value = line.starts_with("#SBATCH") ? BatchOption(line, option) : std::nullopt;
      for (const std::string& name : value ? names : std::vector<std::string>()) {
        variables_[name] = {*value};
      }
    }
  }

  // One letter outside quotes, or the construct that it begins.
  void TakeLetter() {
    const char c = text_[at_++];
    if (c == '\'') {
      const std::size_t end = std::min(text_.find('\'', at_), text_.size());
      Add(text_.substr(at_, end - at_));
      at_ = std::min(end + 1, text_.size());
    } else if (c == '"') {
      TakeQuoted();
    } else if (c == '\\') {
      TakeEscaped();
    } else if (c == '$' || c == '`') {
      TakeExpansion(c, false);
    } else if (IsBlank(c)) {
      EndWord();
    } else {
      Add({&c, 1});
    }
  }

  void TakeEscaped() {
    at_ += at_ < text_.size() && text_[at_] == '\r' ? 1 : 0;
    if (at_ < text_.size() && text_[at_] != '\n') {
      Add(text_.substr(at_, 1));
    }
    ++at_;
  }

  void TakeQuoted() {
    in_word_ = true;
    while (at_ < text_.size() && text_[at_] != '"' && !limits_.is_over()) {
      const char c = text_[at_++];
      if (c == '\\') {
        TakeEscaped();
      } else if (c == '$' || c == '`') {
        TakeExpansion(c, true);
      } else {
        Add({&c, 1});
      }
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  // Behind "NAME=" an array begins, elsewhere a group, a function or a branch of `case`.
  void TakeBracket() {
    if (text_[at_++] == '(' && in_word_ && word_.ends_with('=')) {
      TakePrefixes('\n');
      array_ = word_;
      word_.clear();
      in_word_ = false;
    } else if (!array_) {
      EndStatement();
    }
  }

  void SkipHereDocument() {
    at_ = text_.find_first_not_of("<- \t'\"", at_);
    const std::size_t begin = std::min(at_, text_.size());
    const std::size_t end = begin + NameLength(text_.substr(begin));
    const std::string terminator = fmt::format("\n{}\n", text_.substr(begin, end - begin));
    const std::size_t close = text_.find(terminator, end);
    at_ = close == std::string_view::npos ? text_.size() : close + terminator.size() - 1;
  }

  // The text inside brackets that begin at `at_`; nothing where they are not closed.
  std::optional<std::string_view> TakeInside(char open, char close) {
    int depth = 0;
    for (std::size_t end = at_; end < text_.size(); ++end) {
      depth += text_[end] == open ? 1 : text_[end] == close ? -1 : 0;
      if (depth == 0) {
        const std::string_view inside = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return inside;
      }
    }
    limits_.LeaveOpen();
    return std::nullopt;
  }

  void TakeExpansion(char first, bool is_quoted) {
    const std::size_t start = at_ - 1;
    if (first == '`') {
      const std::size_t end = text_.find('`', at_);
      at_ = end == std::string_view::npos ? text_.size() : end + 1;
      Add(Unknown(start));
    } else if (text_.substr(at_, 2) == "((") {
      const auto inside = TakeInside('(', ')');
      const auto value =
          inside ? Formula(std::string(inside->substr(1, inside->size() - 2))) : std::nullopt;
      Add(value ? fmt::format("{}", *value) : Unknown(start));
    } else if (at_ < text_.size() && text_[at_] == '(') {
      TakeInside('(', ')');
      Add(Unknown(start));
    } else if (at_ < text_.size() && text_[at_] == '{') {
      const auto inside = TakeInside('{', '}');
      AddValue(inside ? Parameter(*inside) : std::nullopt, start, is_quoted);
    } else {
      const std::size_t length = std::max<std::size_t>(NameLength(text_.substr(at_)), 1);  // "$@"
      const std::string_view name = text_.substr(at_, length);
      at_ = std::min(at_ + length, text_.size());
      const std::vector<std::string>* const value = ValueOf(name);
      AddValue(value == nullptr ? std::nullopt : std::optional(*value), start, is_quoted);
    }
  }

  // Text of the script whose value is not known; blanks would make several words of it.
  [[nodiscard]] std::string Unknown(std::size_t start) const {
    std::string text(text_.substr(start, std::min(at_, text_.size()) - start));
    std::erase_if(text, IsBlank);
    return text.starts_with('$') ? text : "$" + text;
  }

  // Null where it is not known.
  const std::vector<std::string>* ValueOf(std::string_view name) {
    if (conditional_.contains(name)) {
      used_conditional_.emplace(name);
    }
    const auto given = given_.find(name);
    const auto found = given != given_.end() ? given : variables_.find(name);
    const bool is_known = given != given_.end() || found != variables_.end();
    return is_known ? &found->second : nullptr;
  }

  // The content of "${...}".
  std::optional<std::vector<std::string>> Parameter(std::string_view inside) {
    const std::size_t end = NameLength(inside);
    const std::string name(inside.substr(0, end));
    const std::string_view rest = inside.substr(end);
    const std::vector<std::string>* const value = ValueOf(name);
    if (rest.empty() || rest == "[@]" || rest == "[*]") {
      return value == nullptr ? std::nullopt : std::optional(*value);
    }
    const std::size_t skipped = rest.starts_with(':') ? 2 : 1;
    const char kind = rest.size() >= skipped ? rest[skipped - 1] : ' ';
    if (kind != '-' && kind != '=') {
      return std::nullopt;
    }
    if (value != nullptr && !(value->size() == 1 && value->front().empty())) {
      return *value;
    }
    const std::string text = Fallback(rest.substr(skipped));
    if (kind == '=') {
      variables_[name] = {text};
    }
    return std::vector<std::string>{text};
  }

  // The text behind "${NAME:-", which may set variables itself.
  std::string Fallback(std::string_view text) {
    limits_.Enter();
    ScriptReader fallback(text, given_, limits_);
    fallback.variables_ = std::move(variables_);
    const std::vector<std::string> words = fallback.Words();
    variables_ = std::move(fallback.variables_);
    limits_.Leave();
    return fmt::format("{}", fmt::join(words, " "));
  }

  // "2 * $NODES": numbers and variables, multiplied and divided from left to right.
  std::optional<std::int64_t> Formula(std::string text) {
    std::erase_if(text, [](char c) { return IsBlank(c) || c == '$' || c == '{' || c == '}'; });
    std::int64_t result = 1;
    char sign = '*';
    for (std::size_t i = 0, end = 0; i <= text.size(); i = end + 1) {
      end = i + NameLength(std::string_view(text).substr(i));
      const std::string_view word = std::string_view(text).substr(i, end - i);
      const auto own = ParseInteger(word);
      const std::vector<std::string>* const value = own ? nullptr : ValueOf(word);
      const auto number =
          value != nullptr && value->size() == 1 ? ParseInteger(value->front()) : own;
      if (!number ||
          (sign == '/' ? *number <= 0
                       : sign != '*' || __builtin_mul_overflow(result, *number, &result))) {
        return std::nullopt;
      }
      result = sign == '/' ? result / *number : result;
      sign = end < text.size() ? text[end] : '*';
    }
    return result;
  }

  void Add(std::string_view letters) {
    word_ += letters;
    in_word_ = true;
  }

  // Outside quotes a value is split at blanks; in them the elements of an array stay apart.
  void AddValue(const std::optional<std::vector<std::string>>& value, std::size_t start,
                bool is_quoted) {
    if (!value) {
      Add(Unknown(start));
      return;
    }
    for (std::size_t i = 0; i < value->size(); ++i) {
      limits_.Expand((*value)[i].size() + kWordBytes);
      if (limits_.is_over()) {
        return;
      }
      if (i > 0) {
        EndWord();
      }
      for (const char c : (*value)[i]) {
        if (!is_quoted && IsBlank(c) && !IsAssignment()) {
          EndWord();
        } else {
          Add({&c, 1});
        }
      }
    }
  }

  // True if the word so far is "NAME=…" at the beginning of a statement: it is not split.
  [[nodiscard]] bool IsAssignment() const {
    const std::size_t name = NameEnd(word_);
    return !array_ && name > 0 && name < word_.size() &&
           std::ranges::all_of(
               words_,
               [](const std::string& word) {
                 return kPrefixes.contains(word) || NameEnd(word) > 0;
               });
  }

  // The length of NAME in "NAME=…" and "NAME+=…"; 0 when it is neither.
  static std::size_t NameEnd(std::string_view word) {
    const std::size_t end = NameLength(word);
    return word.substr(end).starts_with('=') || word.substr(end).starts_with("+=") ? end : 0;
  }

  void EndWord() {
    if (in_word_) {
      (array_ ? elements_ : words_).push_back(std::exchange(word_, {}));
    }
    in_word_ = false;
  }

  void EndArray() {
    EndWord();
    const std::string assignment = *std::exchange(array_, std::nullopt);
    Assign(assignment, std::exchange(elements_, {}), true);
  }

  // `assignment` is "NAME=" or "NAME+=".
  void Assign(std::string_view assignment, std::vector<std::string> value, bool is_array) {
    const std::string name(assignment.substr(0, NameEnd(assignment)));
    if (branches_.runs() == Runs::kNo) {
      return;
    }
    if (branches_.runs() == Runs::kUnknown) {
      conditional_.insert(name);
    } else if (!assignment.ends_with("+=")) {
      conditional_.erase(name);
    }
    std::vector<std::string>& variable = variables_[name];
    if (!assignment.substr(name.size()).starts_with('+')) {
      variable = std::move(value);
    } else if (variable.size() == 1 && !is_array) {
      variable.front() += value.front();
    } else {
      variable.insert(variable.end(), value.begin(), value.end());
    }
  }

  // `separator` ends it; "if a || b" is more than its first part.
  void EndStatement(char separator = '\n') {
    EndWord();
    if (array_) {  // lines of an array
      return;
    }
    TakePrefixes(separator);
    const std::vector<std::string> words = std::exchange(words_, {});
    if (branches_.runs() != Runs::kNo) {
      Consider(words);
    }
  }

  // Assignments and keywords before the command of a statement.
  void TakePrefixes(char separator) {
    while (!words_.empty() && TakePrefix(separator)) {
      words_.erase(words_.begin());
    }
  }

  // Returns true if the first word is no command; a condition goes with its keyword.
  bool TakePrefix(char separator) {
    const std::string word = words_.front();
    if (const std::size_t name = NameEnd(word); name > 0) {
      const std::size_t value = word.find('=') + 1;
      Assign(std::string_view(word).substr(0, value), {word.substr(value)}, false);
      return true;
    }
    const bool is_whole = separator != '|' && separator != '&';
    if (branches_.Take(word,
                       is_whole ? ConditionValue(std::span(words_).subspan(1)) : Runs::kUnknown)) {
      words_.resize(word == "else" ? words_.size() : 1);
      return true;
    }
    return kPrefixes.contains(word);
  }

  // Keeps the command with most options. "bash -c '…'" has them in one word.
  void Consider(const std::vector<std::string>& words) {
    std::vector<std::string> single;
    for (const std::string& word : words) {
      if (!Contains(word, " --")) {
        single.push_back(word);
        continue;
      }
      std::ranges::move(ScriptReader(word, given_, limits_).Words(), std::back_inserter(single));
    }
    const auto num_options = [](const std::vector<std::string>& command) {
      return std::ranges::count_if(command, [](const std::string& word) {
        return word.starts_with("--") || Contains(word, "model.");
      });
    };
    if (num_options(single) > num_options(best_.words)) {
      best_ = {.words = std::move(single)};
      if (!used_conditional_.empty()) {
        best_.assumed.push_back(
            fmt::format("the script sets {} under a condition that is not known: "
                        "of several values the last is taken",
                        fmt::join(used_conditional_, ", ")));
      }
    }
  }

  std::string_view text_;
  const ShellVariables& given_;
  Limits& limits_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;     // of the statement
  std::optional<std::string> array_;   // "NAME=" of the array that is read
  std::vector<std::string> elements_;  // of it
  ShellVariables variables_;
  ShellBranches branches_;
  std::set<std::string, std::less<>> conditional_;       // variables whose value depends on one
  std::set<std::string, std::less<>> used_conditional_;  // of these, those that were read
  LaunchCommand best_;
};

}  // namespace

Result<LaunchCommand> ReadLaunchScript(std::string_view script, const ShellVariables& given) {
  if (script.size() > kMostBytes) {
    return Invalid(
        "a launch script has at most {} bytes, this file has {}: give the script that "
        "starts the training",
        kMostBytes, script.size());
  }
  Limits limits;
  LaunchCommand command = ScriptReader(script, given, limits).Read();
  if (limits.is_over()) {
    return Invalid("this is no launch script that can be read: {}", limits.problem());
  }
  return command;
}

}  // namespace orrery::workload
