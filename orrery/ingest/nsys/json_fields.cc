#include "orrery/ingest/nsys/json_fields.h"

#include <cmath>
#include <iterator>

#include <fmt/format.h>

namespace orrery::ingest::nsys {
namespace {

void AppendString(std::string& json, std::string_view text) {
  json += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
      json += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(json), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      json += c;
    }
  }
  json += '"';
}

}  // namespace

void JsonFields::Add(std::string_view name, std::int64_t value) {
  AddName(name);
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void JsonFields::AddUnsigned(std::string_view name, std::uint64_t value) {
  AddName(name);
  fmt::format_to(std::back_inserter(text_), "{}", value);
}

void JsonFields::AddNumber(std::string_view name, double value) {
  AddName(name);
  // JSON has no word for them.
  text_ += std::isfinite(value) ? fmt::format("{}", value) : "null";
}

void JsonFields::AddText(std::string_view name, std::string_view value) {
  AddName(name);
  AppendString(text_, value);
}

void JsonFields::AddName(std::string_view name) {
  if (!text_.empty()) {
    text_ += ',';
  }
  AppendString(text_, name);
  text_ += ':';
}

}  // namespace orrery::ingest::nsys
