#include "orrery/draw/json_writer.h"

#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/core.h>
#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/json_text.h"

namespace orrery::draw {

JsonWriter& JsonWriter::BeginObject() {
  return Begin(/*is_object=*/true);
}

JsonWriter& JsonWriter::EndObject() {
  return End(/*is_object=*/true);
}

JsonWriter& JsonWriter::BeginArray() {
  return Begin(/*is_object=*/false);
}

JsonWriter& JsonWriter::EndArray() {
  return End(/*is_object=*/false);
}

JsonWriter& JsonWriter::Key(std::string_view name) {
  ORRERY_CHECK(!scopes_.empty() && scopes_.back().is_object, "a key belongs into an object");
  ORRERY_CHECK(!has_key_, "a key is followed by a value");
  Separate(scopes_.back());
  out_ += QuoteJson(name);
  out_ += layout_ == Layout::kPretty ? ": " : ":";
  has_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::String(std::string_view value) {
  BeforeValue();
  out_ += QuoteJson(value);
  return *this;
}

JsonWriter& JsonWriter::Integer(std::int64_t value) {
  BeforeValue();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::Unsigned(std::uint64_t value) {
  BeforeValue();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::Number(double value) {
  if (!std::isfinite(value)) {
    return Null();
  }
  BeforeValue();
  fmt::format_to(std::back_inserter(out_), "{}", value);
  return *this;
}

JsonWriter& JsonWriter::Bool(bool value) {
  BeforeValue();
  out_ += value ? "true" : "false";
  return *this;
}

JsonWriter& JsonWriter::Null() {
  BeforeValue();
  out_ += "null";
  return *this;
}

std::string JsonWriter::Finish() {
  ORRERY_CHECK(scopes_.empty() && !out_.empty(), "a document is one complete value");
  if (layout_ == Layout::kPretty) {
    out_ += '\n';
  }
  return std::exchange(out_, {});
}

void JsonWriter::BeforeValue() {
  if (scopes_.empty()) {
    ORRERY_CHECK(out_.empty(), "a document is one value");
    return;
  }
  if (scopes_.back().is_object) {
    ORRERY_CHECK(has_key_, "a value in an object has a key");
    has_key_ = false;
  } else {
    Separate(scopes_.back());
  }
}

JsonWriter& JsonWriter::Begin(bool is_object) {
  BeforeValue();
  out_ += is_object ? '{' : '[';
  scopes_.push_back({.is_object = is_object});
  return *this;
}

JsonWriter& JsonWriter::End(bool is_object) {
  ORRERY_CHECK(!scopes_.empty() && scopes_.back().is_object == is_object,
               "what ends is what began last");
  ORRERY_CHECK(!has_key_, "a key is followed by a value");
  const bool is_empty = scopes_.back().is_empty;
  scopes_.pop_back();
  if (!is_empty) {
    BreakLine();
  }
  out_ += is_object ? '}' : ']';
  return *this;
}

void JsonWriter::Separate(Scope& scope) {
  if (!std::exchange(scope.is_empty, false)) {
    out_ += ',';
  }
  BreakLine();
}

void JsonWriter::BreakLine() {
  if (layout_ == Layout::kPretty) {
    out_ += '\n';
    out_.append(2 * scopes_.size(), ' ');
  }
}

}  // namespace orrery::draw
