#pragma once

#include <cstddef>
#include <string>

#include "orrery/base/value.h"
#include "orrery/draw/json_writer.h"

namespace orrery::draw {

/// Writes a value as the next value of a JSON document.
void WriteValue(JsonWriter& json, const Value& value);

/// Shows a value to people: scalars one a line, lists of objects as tables of at most `max_rows`
/// rows, all indented by `indent` spaces.
[[nodiscard]] std::string ValueText(const Value& value, std::size_t indent, std::size_t max_rows);

/// Shows a scalar: numbers with six digits, nothing as "–".
[[nodiscard]] std::string ScalarText(const Value& value);

}  // namespace orrery::draw
