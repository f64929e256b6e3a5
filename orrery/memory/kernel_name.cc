#include "orrery/memory/kernel_name.h"

#include <array>
#include <cstddef>

namespace orrery::memory {
namespace {

constexpr std::string_view kVoid = "void ";
constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Names with brackets that open nothing, longer ones before their beginnings.
constexpr std::array<std::string_view, 9> kOperators{"operator()", "operator<=>", "operator<<",
                                                     "operator<=", "operator<",   "operator>>",
                                                     "operator>=", "operator>",   "operator->"};

// How much of the beginning stays as it is, whatever brackets it has.
std::size_t LengthOfName(std::string_view text) {
  if (text.starts_with(kAnonymous)) {
    return kAnonymous.size();
  }
  for (const std::string_view name : kOperators) {
    if (text.starts_with(name)) {
      return name.size();
    }
  }
  return 0;
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
    const std::size_t length = LengthOfName(text.substr(i));
    if (length > 0) {
      name += depth == 0 ? text.substr(i, length) : "";
      i += length - 1;
    } else if (text[i] == '<') {
      ++depth;
    } else if (text[i] == '>' && depth > 0) {
      depth -= text[i - 1] == '-' ? 0 : 1;
    } else if (text[i] == '(' && depth == 0) {
      break;
    } else if (depth == 0) {
      name += text[i];
    }
  }
  return name.empty() ? std::string(full_name) : name;
}

}  // namespace orrery::memory
