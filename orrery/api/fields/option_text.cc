#include "orrery/api/fields/option_text.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/api/errors.h"
#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/collective/request.h"

namespace orrery::api {

std::string RangesText(std::vector<std::int64_t> numbers) {
  constexpr std::size_t kMostRanges = 8;
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  std::vector<std::string> ranges;
  for (std::size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) {
      ++last;
    }
    ranges.push_back(first == last ? fmt::format("{}", numbers[first])
                                   : fmt::format("{}–{}", numbers[first], numbers[last]));
  }
  if (ranges.size() > kMostRanges) {
    ranges.resize(kMostRanges);
    ranges.emplace_back("…");
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

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
      return InvalidInput(
          "--with: '{}' is not a setting of this model; settings and their defaults: {}", entry,
          names);
    }
    known->second = value;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return settings;
}

Result<Bandwidth> RateOf(std::string_view option, std::string_view text) {
  const Result<Bytes> bytes = text.ends_with("/s")
                                  ? collective::ParseSize(text.substr(0, text.size() - 2))
                                  : Result<Bytes>(Invalid("not a rate"));
  if (!bytes || bytes->count == 0) {
    return InvalidInput("{} {}: write a rate above zero, such as 200GB/s", option, text);
  }
  return Bandwidth{static_cast<double>(bytes->count)};
}

}  // namespace orrery::api
