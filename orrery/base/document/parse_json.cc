#include "orrery/base/document/parse_json.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery {
namespace {

using simdjson::dom::element_type;

Result<Value> ToValue(const simdjson::dom::element& element);

Result<Value> ToList(const simdjson::dom::array& array) {
  Value list = Value::List();
  for (const simdjson::dom::element item : array) {
    ORRERY_TRY(Value value, ToValue(item));
    list.Add(std::move(value));
  }
  return list;
}

Result<Value> ToObject(const simdjson::dom::object& fields) {
  if (fields.size() > kMostJsonFields) {
    return Fail(Error::Kind::kLimit,
                fmt::format("an object has more than {} fields", kMostJsonFields));
  }
  Value object = Value::Object();
  for (const auto& [name, field] : fields) {
    ORRERY_TRY(Value value, ToValue(field));
    object.Set(name, std::move(value));
  }
  return object;
}

// Types of elements are known, so that none of the conversions fails.
Result<Value> ToValue(const simdjson::dom::element& element) {
  switch (element.type()) {
    case element_type::ARRAY:
      return ToList(element.get_array().value_unsafe());
    case element_type::OBJECT:
      return ToObject(element.get_object().value_unsafe());
    case element_type::INT64:
      return Value(std::int64_t{element.get_int64().value_unsafe()});
    case element_type::UINT64:
    case element_type::DOUBLE:
      return Value(element.get_double().value_unsafe());
    case element_type::STRING:
      return Value(std::string_view(element.get_string().value_unsafe()));
    case element_type::BOOL:
      return Value(element.get_bool().value_unsafe());
    case element_type::NULL_VALUE:
      break;
  }
  return Value();
}

}  // namespace

Result<Value> ParseJson(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  // The sentences of the library differ between its versions.
  if (parser.allocate(text.size(), kDeepestJson) ||
      parser.parse(text.data(), text.size()).get(element)) {
    return Invalid("not JSON, or nested more than {} deep", kDeepestJson);
  }
  return ToValue(element);
}

}  // namespace orrery
