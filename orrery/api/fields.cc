#include "orrery/api/fields.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"
#include "orrery/base/text/nearest_word.h"

namespace orrery::api::internal {
namespace {

// A number as JSON has it: 8 and 8.0 are the same.
std::optional<double> NumberIn(const Value& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return static_cast<double>(*integer);
  }
  const auto* const number = std::get_if<double>(&value.variant());
  return number != nullptr ? std::optional(*number) : std::nullopt;
}

std::optional<std::int64_t> IntegerIn(const Value& value) {
  if (const auto* const integer = std::get_if<std::int64_t>(&value.variant())) {
    return *integer;
  }
  const auto* const number = std::get_if<double>(&value.variant());
  constexpr double kExact = 9007199254740992;  // 2^53
  return number != nullptr && std::trunc(*number) == *number && std::abs(*number) <= kExact
             ? std::optional(static_cast<std::int64_t>(*number))
             : std::nullopt;
}

template <typename T>
Status SetInteger(T& target, const Value& value) {
  const std::optional<std::int64_t> integer = IntegerIn(value);
  if (!integer) {
    return Invalid("an integer is expected");
  }
  if (!std::in_range<T>(*integer)) {
    return Invalid("{} is out of range", *integer);
  }
  target = static_cast<T>(*integer);
  return {};
}

Status SetText(std::string& target, const Value& value) {
  const auto* const text = std::get_if<std::string>(&value.variant());
  if (text == nullptr) {
    return Invalid("a string is expected");
  }
  target = *text;
  return {};
}

Status SetTexts(std::vector<std::string>& target, const Value& value) {
  if (!value.IsList()) {
    return SetText(target.emplace_back(), value);
  }
  for (const Value& item : value.items()) {
    ORRERY_TRY_STATUS(SetText(target.emplace_back(), item));
  }
  return {};
}

Value WithLimits(Value schema, std::span<const std::string_view> choices,
                 const std::optional<FieldRange>& range) {
  if (!choices.empty()) {
    schema.Set("enum", Value::ListOf(choices));
  }
  if (range) {
    schema.Set("minimum", range->least);
    if (std::isfinite(range->most)) {
      schema.Set("maximum", range->most);
    }
  }
  return schema;
}

struct SetMember {
  const Value& value;

  Status operator()(std::monostate /*none*/) const { return Invalid("it cannot be set"); }

  Status operator()(bool* target) const {
    const auto* const flag = std::get_if<bool>(&value.variant());
    if (flag == nullptr) {
      return Invalid("true or false is expected");
    }
    *target = *flag;
    return {};
  }

  Status operator()(double* target) const {
    const std::optional<double> number = NumberIn(value);
    if (!number || !std::isfinite(*number)) {
      return Invalid("a number is expected");
    }
    *target = *number;
    return {};
  }

  Status operator()(std::string* target) const { return SetText(*target, value); }

  Status operator()(std::vector<std::string>* target) const {
    target->clear();
    return SetTexts(*target, value);
  }

  Status operator()(std::vector<int>* target) const {
    target->clear();
    if (!value.IsList()) {
      return SetInteger(target->emplace_back(), value);
    }
    for (const Value& item : value.items()) {
      ORRERY_TRY_STATUS(SetInteger(target->emplace_back(), item));
    }
    return {};
  }

  Status operator()(std::vector<double>* target) const {
    target->clear();
    const Value list = value.IsList() ? value : Value::List().Add(value);
    for (const Value& item : list.items()) {
      ORRERY_TRY_STATUS(SetMember{item}(&target->emplace_back()));
    }
    return {};
  }

  template <typename T>
  Status operator()(std::optional<T>* target) const {
    if (value.IsNull()) {
      target->reset();
      return {};
    }
    return (*this)(&target->emplace());
  }

  template <typename T>
  Status operator()(T* target) const {
    return SetInteger(*target, value);
  }
};

}  // namespace

bool IsPresent(const Value& value, Presence presence) {
  const bool is_empty = (value.IsList() && value.items().empty()) || value == Value(std::string());
  return presence == Presence::kAlways ||
         (!value.IsNull() && (presence == Presence::kIfKnown || !is_empty));
}

Value TypeSchema(std::string_view name) {
  return Value::Object().Set("type", name);
}

Value ListSchema(Value items) {
  return TypeSchema("array").Set("items", std::move(items));
}

Value KeyedSchema(Value items) {
  return TypeSchema("object").Set("additionalProperties", std::move(items));
}

Value OrNull(Value schema) {
  const Value* const type = schema.Find("type");
  if (type == nullptr) {
    return schema;
  }
  Value either = Value::List();
  either.Add(*type).Add("null");
  return schema.Set("type", std::move(either));
}

Value WithDetails(Value schema, std::string_view doc, std::string_view unit,
                  std::span<const std::string_view> choices,
                  const std::optional<FieldRange>& range) {
  schema.Set("description", unit.empty() ? std::string(doc) : fmt::format("{} ({})", doc, unit));
  // Of a list they are about its items.
  const Value* const items = schema.Find("items");
  return items == nullptr ? WithLimits(std::move(schema), choices, range)
                          : Value(schema).Set("items", WithLimits(*items, choices, range));
}

Status SetTarget(const FieldTarget& target, const Value& value) {
  return std::visit(SetMember{value}, target);
}

Status CheckObject(const Value& value) {
  return value.IsObject() ? Status() : Invalid("a JSON object is expected");
}

Status CheckRange(std::string_view name, const Value& value, const std::optional<FieldRange>& range,
                  std::span<const std::string_view> choices) {
  if (value.IsList()) {
    for (const Value& item : value.items()) {
      ORRERY_TRY_STATUS(CheckRange(name, item, range, choices));
    }
    return {};
  }
  const std::optional<double> number = NumberIn(value);
  if (range && number && !(*number >= range->least && *number <= range->most)) {
    return std::isfinite(range->most)
               ? Invalid("{}: {:g} is not between {:g} and {:g}", name, *number, range->least,
                         range->most)
               : Invalid("{}: {:g} is below {:g}", name, *number, range->least);
  }
  const auto* const text = std::get_if<std::string>(&value.variant());
  if (!choices.empty() && text != nullptr && !text->empty() &&
      std::ranges::find(choices, *text) == choices.end()) {
    return Invalid("{} must be {}, not '{}'", name, fmt::join(choices, ", "), *text);
  }
  return {};
}

tl::unexpected<Error> UnknownProperty(std::string_view name,
                                      const std::vector<std::string_view>& known) {
  return Invalid("there is no property '{}'{}", name, DidYouMean(name, known));
}

}  // namespace orrery::api::internal
