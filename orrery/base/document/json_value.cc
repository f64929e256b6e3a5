#include "orrery/base/document/json_value.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/text/parse_number.h"

namespace orrery {

std::optional<JsonElement> JsonText::Parse(std::string_view text) {
  copy_.assign(text);
  copy_.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  JsonElement element;
  if (text.empty() || parser_.parse(copy_.data(), copy_.size(), false).get(element)) {
    return std::nullopt;
  }
  return element;
}

std::optional<JsonElement> JsonText::ParseFields(std::string_view fields) {
  return Parse(fmt::format("{{{}}}", fields));
}

std::optional<JsonElement> Field(const std::optional<JsonElement>& object, std::string_view key) {
  simdjson::dom::object fields;
  if (!object || object->get(fields)) {
    return std::nullopt;
  }
  std::optional<JsonElement> found;
  for (const auto& field : fields) {
    if (field.key == key) {
      found = field.value;
    }
  }
  return found;
}

std::optional<JsonElement> ElementAt(const std::optional<JsonElement>& array, std::size_t index) {
  simdjson::dom::array elements;
  JsonElement element;
  if (!array || array->get(elements) || elements.at(index).get(element)) {
    return std::nullopt;
  }
  return element;
}

std::size_t ArraySize(const std::optional<JsonElement>& array) {
  simdjson::dom::array elements;
  return !array || array->get(elements) ? 0 : elements.size();
}

std::optional<std::int64_t> Integer(const std::optional<JsonElement>& value) {
  std::int64_t number = 0;
  if (!value || value->get(number)) {
    return std::nullopt;
  }
  return number;
}

std::optional<double> Number(const std::optional<JsonElement>& value) {
  double number = 0;
  if (value && !value->get(number)) {
    return number;
  }
  const auto parsed = ParseWhole<double>(Text(value).value_or(""));
  return parsed && std::isfinite(*parsed) ? parsed : std::nullopt;
}

std::int32_t SmallInteger(const std::optional<JsonElement>& value) {
  return SmallOrUnknown(Integer(value).value_or(-1));
}

std::optional<std::string_view> Text(const std::optional<JsonElement>& value) {
  std::string_view text;
  if (!value || value->get(text)) {
    return std::nullopt;
  }
  return text;
}

}  // namespace orrery
