#include "orrery/trace/workload_card.h"

#include <charconv>

namespace orrery::trace {
namespace {

template <typename T>
std::optional<T> Parse(std::optional<std::string_view> text) {
  T value{};
  if (!text) {
    return std::nullopt;
  }
  const char* const end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, value);
  if (error != std::errc() || stop != end) {
    return std::nullopt;
  }
  return value;
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
  return Parse<std::int64_t>(Text(path));
}

std::optional<double> WorkloadCard::Number(std::string_view path) const {
  return Parse<double>(Text(path));
}

}  // namespace orrery::trace
