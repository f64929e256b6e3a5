#include "orrery/workload/job/shell_words.h"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

bool IsBlank(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

class WordReader {
 public:
  explicit WordReader(std::string_view text) : text_(text) {}

  Result<std::vector<std::string>> Read() && {
    while (at_ < text_.size()) {
      const char c = text_[at_++];
      if (c == '"' || c == '\'') {
        ORRERY_TRY_STATUS(ReadQuoted(c));
      } else if (c == '#' && !in_word_) {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (c == '\\') {
        TakeNext();
      } else if (IsBlank(c)) {
        EndWord();
      } else {
        Take(c);
      }
    }
    EndWord();
    return std::move(words_);
  }

 private:
  void Take(char c) {
    word_ += c;
    in_word_ = true;
  }

  // A line that ends in a backslash goes on in the next.
  void TakeNext() {
    if (at_ < text_.size() && text_[at_] == '\r') {
      ++at_;
    }
    if (at_ < text_.size() && text_[at_] != '\n') {
      Take(text_[at_]);
    }
    ++at_;
  }

  Status ReadQuoted(char quote) {
    const std::size_t end = text_.find(quote, at_);
    if (end == std::string_view::npos) {
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("the quote {} is not closed", text_.substr(at_ - 1, 20)));
    }
    word_ += text_.substr(at_, end - at_);
    in_word_ = true;
    at_ = end + 1;
    return {};
  }

  void EndWord() {
    if (in_word_) {
      words_.push_back(std::exchange(word_, {}));
    }
    in_word_ = false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string word_;
  bool in_word_ = false;
  std::vector<std::string> words_;
};

}  // namespace

Result<std::vector<std::string>> ShellWords(std::string_view text) {
  return WordReader(text).Read();
}

}  // namespace orrery::workload
