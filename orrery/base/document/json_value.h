#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <simdjson.h>

namespace orrery {

using JsonElement = simdjson::dom::element;

/// Parses the JSON text of one value. An element is valid until the next call
/// on the same JsonText.
class JsonText {
 public:
  /// Returns nothing if the text is empty or not valid.
  [[nodiscard]] std::optional<JsonElement> Parse(std::string_view text);

  /// Parses the fields of an object, without its braces.
  [[nodiscard]] std::optional<JsonElement> ParseFields(std::string_view fields);

 private:
  simdjson::dom::parser parser_;
  std::string copy_;
};

/// Returns the member `key`, the last one if there are several; nothing if `object` is no object.
[[nodiscard]] std::optional<JsonElement> Field(const std::optional<JsonElement>& object,
                                               std::string_view key);

/// Returns element `index`; nothing if `array` is no array or too short.
[[nodiscard]] std::optional<JsonElement> ElementAt(const std::optional<JsonElement>& array,
                                                   std::size_t index);

/// Calls `visit(element)` for each element, for none if `array` is no array.
template <typename Visit>
void ForEachElement(const std::optional<JsonElement>& array, Visit visit) {
  simdjson::dom::array elements;
  if (array && !array->get(elements)) {
    for (const JsonElement element : elements) {
      visit(element);
    }
  }
}

/// Returns how many elements `array` has, 0 if it is none.
[[nodiscard]] std::size_t ArraySize(const std::optional<JsonElement>& array);

[[nodiscard]] std::optional<std::int64_t> Integer(const std::optional<JsonElement>& value);

/// Returns a number, also one that a tool wrote as a string; nothing for what is not finite.
[[nodiscard]] std::optional<double> Number(const std::optional<JsonElement>& value);

/// As Integer, and -1 for what is missing or does not fit.
[[nodiscard]] std::int32_t SmallInteger(const std::optional<JsonElement>& value);

[[nodiscard]] std::optional<std::string_view> Text(const std::optional<JsonElement>& value);

}  // namespace orrery
