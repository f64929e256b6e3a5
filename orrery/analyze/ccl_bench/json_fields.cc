#include "orrery/analyze/ccl_bench/json_fields.h"

#include <charconv>
#include <cstddef>
#include <system_error>

namespace orrery::analyze::ccl_bench {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

std::size_t SkipBlanks(std::string_view text, std::size_t at) {
  const std::size_t next = text.find_first_not_of(kBlanks, at);
  return next == std::string_view::npos ? text.size() : next;
}

// From a quote to behind the quote that closes it.
std::size_t EndOfString(std::string_view text, std::size_t quote) {
  for (std::size_t at = quote + 1; at < text.size(); ++at) {
    if (text[at] == '\\') {
      ++at;
    } else if (text[at] == '"') {
      return at + 1;
    }
  }
  return text.size();
}

// To the comma behind a value that may hold lists and objects.
std::size_t EndOfValue(std::string_view text, std::size_t at) {
  int depth = 0;
  while (at < text.size()) {
    const char c = text[at];
    if (c == '"') {
      at = EndOfString(text, at);
      continue;
    }
    if (depth == 0 && c == ',') {
      break;
    }
    depth += static_cast<int>(c == '{' || c == '[') - static_cast<int>(c == '}' || c == ']');
    ++at;
  }
  return at;
}

std::string_view Trimmed(std::string_view value) {
  value.remove_suffix(value.size() - (value.find_last_not_of(kBlanks) + 1));
  if (value.size() >= 2 && value.front() == '"') {
    return value.substr(1, value.size() - 2);
  }
  return value;
}

}  // namespace

std::optional<std::string_view> JsonField(std::string_view fields, std::string_view key) {
  std::size_t at = SkipBlanks(fields, 0);
  while (at < fields.size() && fields[at] == '"') {
    const std::size_t key_end = EndOfString(fields, at);
    const std::string_view found = fields.substr(at + 1, key_end - at - 2);
    const std::size_t colon = fields.find(':', key_end);
    if (colon == std::string_view::npos) {
      return std::nullopt;
    }
    const std::size_t value = SkipBlanks(fields, colon + 1);
    const std::size_t end = EndOfValue(fields, value);
    if (found == key) {
      return Trimmed(fields.substr(value, end - value));
    }
    at = SkipBlanks(fields, end + 1);
  }
  return std::nullopt;
}

std::optional<double> JsonNumber(std::string_view fields, std::string_view key) {
  const auto text = JsonField(fields, key);
  if (!text) {
    return std::nullopt;
  }
  double number = 0;
  const auto [stop, error] = std::from_chars(text->data(), text->data() + text->size(), number);
  return error == std::errc() && stop == text->data() + text->size() ? std::optional(number)
                                                                     : std::nullopt;
}

}  // namespace orrery::analyze::ccl_bench
