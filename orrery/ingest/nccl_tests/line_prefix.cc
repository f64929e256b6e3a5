#include "orrery/ingest/nccl_tests/line_prefix.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace orrery::ingest::nccl_tests {
namespace {

std::string_view WithoutLeadingBlanks(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}

std::string_view FirstWord(std::string_view text) {
  return text.substr(0, text.find_first_of(" \t"));
}

PrefixedLine CutBehind(std::string_view line, std::string_view prefix) {
  const auto end = static_cast<std::size_t>(prefix.data() + prefix.size() - line.data());
  return {prefix, line.substr(end)};
}

// "[1,0]<stdout>:"; a time stamp may stand before it.
std::string_view MpiTag(std::string_view line) {
  for (const std::string_view channel : {"<stdout>:", "<stderr>:"}) {
    const std::size_t at = line.find(channel);
    if (at != std::string_view::npos) {
      const std::size_t bracket = line.rfind('[', at);
      const std::size_t begin = bracket == std::string_view::npos ? at : bracket;
      return line.substr(begin, at + channel.size() - begin);
    }
  }
  return {};
}

// "2026-01-31T12:00:00.123Z"
bool IsTimestamp(std::string_view word) {
  return word.size() >= 19 && word[4] == '-' && word[7] == '-' && word[10] == 'T';
}

bool IsProcessName(std::string_view word) {
  const bool is_label = word.size() > 1 && word.ends_with(':') && word != "rccl-tests:" &&
                        word.find('=') == std::string_view::npos;
  const bool is_bracketed = word.starts_with('[') && word.ends_with(']');
  return is_label || is_bracketed;
}

// What a header line may begin with, for the case that its prefix is of a kind we do not know.
std::string_view FromHash(std::string_view line) {
  constexpr std::array<std::string_view, 8> kBeginnings{
      "nThread", "Rank", "size", "Using", "Out of", "Avg", "Collective", "nccl-tests"};
  constexpr std::ptrdiff_t kMaxBlanksBefore = 2;  // more is no prefix but a torn line
  const std::size_t hash = line.find('#');
  if (hash == std::string_view::npos ||
      std::count(line.begin(), line.begin() + static_cast<std::ptrdiff_t>(hash), ' ') >
          kMaxBlanksBefore) {
    return {};
  }
  const std::string_view text = WithoutLeadingBlanks(line.substr(hash + 1));
  const bool is_header = std::any_of(kBeginnings.begin(), kBeginnings.end(),
                                     [&](std::string_view word) { return text.starts_with(word); });
  return is_header ? line.substr(hash) : std::string_view();
}

PrefixedLine SplitProcessName(std::string_view line) {
  const std::string_view text = WithoutLeadingBlanks(line);
  if (text.starts_with('#')) {
    return {{}, line};
  }
  if (const std::string_view tag = MpiTag(line); !tag.empty()) {
    return CutBehind(line, tag);
  }
  const std::string_view word = FirstWord(text);
  const std::string_view behind = WithoutLeadingBlanks(text.substr(word.size()));
  if (IsProcessName(word)) {
    return CutBehind(line, word);
  }
  if (behind.starts_with("| ")) {
    return {word, behind.substr(1)};
  }
  if (const std::string_view header = FromHash(line); !header.empty()) {
    return {{}, header};
  }
  return {{}, line};
}

}  // namespace

PrefixedLine SplitPrefix(std::string_view line) {
  const std::string_view text = WithoutLeadingBlanks(line);
  const std::string_view word = FirstWord(text);
  return SplitProcessName(IsTimestamp(word) ? text.substr(word.size()) : line);
}

}  // namespace orrery::ingest::nccl_tests
