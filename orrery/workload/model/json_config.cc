#include "orrery/workload/model/json_config.h"

#include <fmt/core.h>

namespace orrery::workload {

std::optional<simdjson::dom::element> JsonConfig::Find(Keys keys) const {
  for (const std::string_view key : keys) {
    simdjson::dom::element value;
    if (!object_.at_key(key).get(value) && !value.is_null()) {
      return value;
    }
  }
  return std::nullopt;
}

void JsonConfig::Wrong(std::string_view key, std::string_view expectation) {
  if (!first_error_) {
    first_error_.emplace(Error::Kind::kInvalidInput, fmt::format("{} {}", key, expectation));
  }
}

std::optional<std::int64_t> JsonConfig::FindSize(Keys keys) {
  for (const std::string_view key : keys) {
    const std::optional<simdjson::dom::element> value = Find({key});
    if (!value) {
      continue;
    }
    std::int64_t size = 0;
    if (value->get(size) || size < 0) {
      Wrong(key, "must be a whole number of at least 0");
    }
    return size;
  }
  return std::nullopt;
}

double JsonConfig::Number(std::string_view key, double fallback) {
  const std::optional<simdjson::dom::element> value = Find({key});
  double number = fallback;
  if (value && value->get(number)) {
    Wrong(key, "must be a number");
  }
  return number;
}

bool JsonConfig::Flag(std::string_view key, bool fallback) {
  const std::optional<simdjson::dom::element> value = Find({key});
  bool flag = fallback;
  if (value && value->get(flag)) {
    Wrong(key, "must be true or false");
  }
  return flag;
}

std::string JsonConfig::Text(Keys keys, std::string_view fallback) {
  const std::optional<simdjson::dom::element> value = Find(keys);
  std::string_view text = fallback;
  if (value && value->get(text)) {
    Wrong(*keys.begin(), "must be a text");
  }
  return std::string(text);
}

}  // namespace orrery::workload
