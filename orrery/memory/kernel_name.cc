#include "orrery/memory/kernel_name.h"

#include <cstddef>

namespace orrery::memory {
namespace {

constexpr std::string_view kVoid = "void ";
constexpr std::string_view kOperator = "operator";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

// "operator<", "operator()" and their like: not a bracket.
bool IsInOperatorName(std::string_view before) {
  while (!before.empty() && std::string_view("<>()-").find(before.back()) != std::string::npos) {
    before.remove_suffix(1);
  }
  return before.ends_with(kOperator);
}

}  // namespace

std::string ShortKernelName(std::string_view full_name) {
  std::string_view text = full_name;
  if (text.starts_with(kVoid)) {
    text.remove_prefix(kVoid.size());
  }
  std::string name;
  int depth = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_bracket = !IsInOperatorName(text.substr(0, i));
    if (depth == 0 && text.substr(i).starts_with(kAnonymous)) {
      name += kAnonymous;
      i += kAnonymous.size() - 1;
    } else if (text[i] == '<' && is_bracket) {
      ++depth;
    } else if (text[i] == '>' && is_bracket && depth > 0) {
      depth -= text[i - 1] == '-' ? 0 : 1;
    } else if (text[i] == '(' && is_bracket && depth == 0) {
      break;
    } else if (depth == 0) {
      name += text[i];
    }
  }
  return name.empty() ? std::string(full_name) : name;
}

}  // namespace orrery::memory
