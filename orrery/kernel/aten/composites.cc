// Operators that the framework writes in terms of others, once for all devices.
#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_set>

#include "orrery/kernel/aten/mapping.h"
#include "orrery/kernel/embedded_operators.h"

namespace orrery::kernel {
namespace {

using Forms = std::unordered_set<std::string_view>;

Forms ReadForms() {
  Forms forms;
  std::string_view text = kEmbeddedComposites;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    forms.insert(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return forms;
}

}  // namespace

bool IsComposite(std::string_view schema) {
  static const Forms kForms = ReadForms();
  constexpr std::string_view kLibrary = "aten::";
  const std::size_t end = schema.find('(');
  return schema.starts_with(kLibrary) && end != std::string_view::npos &&
         kForms.contains(schema.substr(kLibrary.size(), end - kLibrary.size()));
}

}  // namespace orrery::kernel
