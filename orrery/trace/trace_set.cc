#include "orrery/trace/trace_set.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace orrery::trace {
namespace {

// "1_024" and "1,024" without the separators and without blanks around.
std::string Digits(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c != '_' && c != ',' && c != ' ') {
      digits.push_back(c);
    }
  }
  return digits;
}

// The factor of "8B"; 0 for other suffixes.
double FactorOf(std::string_view suffix) {
  if (suffix.empty()) {
    return 1;
  }
  if (suffix == "k" || suffix == "K") {
    return 1e3;
  }
  if (suffix == "M") {
    return 1e6;
  }
  if (suffix == "B" || suffix == "G") {
    return 1e9;
  }
  return suffix == "T" ? 1e12 : 0;
}

std::optional<double> ParseNumber(std::string_view text) {
  const std::string digits = Digits(text);
  const char* const end = digits.data() + digits.size();
  double value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  const double factor = FactorOf({stop, end});
  if (error != std::errc() || factor == 0 || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value * factor;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  const std::string digits = Digits(text);
  const char* const end = digits.data() + digits.size();
  std::int64_t value = 0;
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error == std::errc() && stop == end) {
    return value;
  }
  const auto number = ParseNumber(text);
  // Up to here every whole double is an exact integer.
  constexpr double kLargest = 9'007'199'254'740'992;
  if (!number || std::abs(*number) > kLargest || *number != std::floor(*number)) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(*number);
}

}  // namespace

std::optional<std::string_view> WorkloadCard::Text(std::string_view path) const {
  const auto found = values.find(path);
  if (found == values.end()) {
    return std::nullopt;
  }
  return found->second;
}

std::optional<std::int64_t> WorkloadCard::Integer(std::string_view path) const {
  const auto text = Text(path);
  return text ? ParseInteger(*text) : std::nullopt;
}

std::optional<double> WorkloadCard::Number(std::string_view path) const {
  const auto text = Text(path);
  return text ? ParseNumber(*text) : std::nullopt;
}

std::vector<std::uint32_t> PlacesInRankOrder(const TraceSet& set) {
  std::vector<std::uint32_t> places(set.ranks.size());
  std::iota(places.begin(), places.end(), 0U);
  std::stable_sort(places.begin(), places.end(), [&](std::uint32_t a, std::uint32_t b) {
    return RankOf(set, a) < RankOf(set, b);
  });
  return places;
}

}  // namespace orrery::trace
