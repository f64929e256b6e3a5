#include "orrery/cli/number_settings.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include <fmt/core.h>

namespace orrery::cli {

Result<NumberSettings> ReadNumberSettings(std::string_view text, NumberSettings settings) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view entry = text.substr(0, end);
    const std::size_t equals = entry.find('=');
    const auto known = settings.find(entry.substr(0, equals));
    double value = 0;
    const char* const last = entry.data() + entry.size();
    const bool is_number = equals != std::string_view::npos &&
                           std::from_chars(entry.data() + equals + 1, last, value).ptr == last &&
                           value >= 0;
    if (known == settings.end() || !is_number) {
      std::string names;
      for (const auto& [name, fallback] : settings) {
        names += fmt::format("{}{}={:g}", names.empty() ? "" : ",", name, fallback);
      }
      return Fail(Error::Kind::kInvalidInput,
                  fmt::format("--with: '{}' is no setting of this model; those and what they are "
                              "otherwise: {}",
                              entry, names));
    }
    known->second = value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

}  // namespace orrery::cli
