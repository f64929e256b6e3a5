#include "orrery/hardware/name_match.h"

#include <algorithm>
#include <cctype>

#include "orrery/base/text.h"

namespace orrery::hardware {
namespace {

bool IsWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0;
}

bool HasWord(std::string_view text, std::string_view word) {
  for (std::size_t at = text.find(word); at != std::string_view::npos;
       at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !IsWordCharacter(text[at - 1]);
    const bool ends = end == text.size() || !IsWordCharacter(text[end]);
    if (begins && ends) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool IsCalled(std::string_view name, const MatchWords& match) {
  const std::string lower = LowerCase(name);
  return std::ranges::any_of(match, [&](const std::vector<std::string>& words) {
    return std::ranges::all_of(words, [&](const std::string& w) { return HasWord(lower, w); });
  });
}

}  // namespace orrery::hardware
