#include "orrery/ingest/rank_names.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"

namespace orrery::ingest {
namespace {

std::optional<std::int32_t> NumberAt(std::string_view text, std::size_t at) {
  const auto number = ParsePrefix<std::int32_t>(text.substr(at));
  return number && *number >= 0 ? number : std::nullopt;
}

// The number after a word, with one of "-_ ." between at most: "rank-3".
std::optional<std::int32_t> NumberAfter(std::string_view name, std::string_view word) {
  for (std::size_t at = name.find(word); at != std::string_view::npos;
       at = name.find(word, at + 1)) {
    std::size_t digits = at + word.size();
    if (digits < name.size() && Contains("-_. ", name.substr(digits, 1))) {
      ++digits;
    }
    if (digits < name.size() && IsDigit(name[digits])) {
      return NumberAt(name, digits);
    }
  }
  return std::nullopt;
}

// The number at the end of the name without its extensions: "kineto_trace_3.json.gz".
std::optional<std::int32_t> NumberAtEnd(std::string_view name) {
  constexpr std::array<std::string_view, 14> kExtensions{
      ".gz",  ".zst", ".json", ".trace",  ".sqlite", ".pt",     ".et",
      ".orr", ".bin", ".pb",   ".xplane", ".orrs",   ".pickle", ".raw"};
  bool stripped = true;
  while (stripped) {
    stripped = false;
    for (const std::string_view extension : kExtensions) {
      if (name.ends_with(extension)) {
        name.remove_suffix(extension.size());
        stripped = true;
      }
    }
  }
  std::size_t begin = name.size();
  while (begin > 0 && IsDigit(name[begin - 1])) {
    --begin;
  }
  const bool stands_alone = begin > 0 && Contains("_.-", name.substr(begin - 1, 1));
  // More digits than a rank has are a time or a process id.
  return stands_alone && name.size() - begin <= 6 ? NumberAt(name, begin) : std::nullopt;
}

// In lower case.
std::string FileName(std::string_view path) {
  return LowerCase(path.substr(path.find_last_of('/') + 1));
}

// The number after one of the words in the last part of the path.
std::optional<std::int32_t> NumberAfterAny(std::string_view path,
                                           std::initializer_list<std::string_view> words) {
  const std::string name = FileName(path);
  for (const std::string_view word : words) {
    if (const auto number = NumberAfter(name, word)) {
      return number;
    }
  }
  return std::nullopt;
}

std::optional<std::int32_t> RankAfterWord(std::string_view path) {
  return NumberAfterAny(path, {"rank", "worker"});
}

}  // namespace

std::optional<std::int32_t> RankInFileName(std::string_view path) {
  const auto number = RankAfterWord(path);
  return number ? number : NumberAtEnd(FileName(path));
}

bool NamesRankByWord(std::string_view path) {
  return RankAfterWord(path).has_value();
}

std::optional<std::int32_t> GpuInFileName(std::string_view path) {
  const auto number = NumberAfterAny(path, {"gpu", "device"});
  return number ? number : RankInFileName(path);
}

}  // namespace orrery::ingest
