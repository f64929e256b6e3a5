#include "orrery/base/document/value.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace orrery {

Value& Value::Set(std::string_view name, Value value) {
  auto& fields = std::get<Fields>(value_);
  const auto found = std::ranges::find(fields, name, &Fields::value_type::first);
  if (found != fields.end()) {
    found->second = std::move(value);
  } else {
    fields.emplace_back(std::string(name), std::move(value));
  }
  return *this;
}

Value& Value::Add(Value value) {
  std::get<Items>(value_).push_back(std::move(value));
  return *this;
}

const Value* Value::Find(std::string_view name) const {
  const auto* const fields = std::get_if<Fields>(&value_);
  if (fields == nullptr) {
    return nullptr;
  }
  const auto found = std::ranges::find(*fields, name, &Fields::value_type::first);
  return found == fields->end() ? nullptr : &found->second;
}

}  // namespace orrery
